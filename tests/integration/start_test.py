#!/usr/bin/python3
"""Starting on a bad day: each fault is one clear sentence and an exit code. And starting again: everything is found."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import unittest

from world import (EXAMPLES, NOTEBOOK, PROJECT, InstallationTest, Trouble, end, free_port, make_plane, manifest_job, remove, sign_in,
                   temporary_data, wait)


class Refusals(unittest.TestCase):
    def make(self, **more):
        plane = make_plane(**more)
        self.addCleanup(end, plane)
        return plane

    def refused(self, plane, *words):
        with self.assertRaises(Trouble) as caught:
            plane.start()
        said = [line for line in plane.errors if line.startswith("cubeplane: ")]
        self.assertTrue(said, plane.errors)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertNotEqual(0, plane.process.returncode)

    def test_the_port_is_taken(self):
        port = free_port()
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            taken.listen()
            plane = self.make(port=port)
            self.refused(plane, str(port))
        remove(plane)

    def test_the_data_folder_holds_other_things(self):
        data = temporary_data(False)
        pathlib.Path(data, "holiday.jpg").write_text("x")
        self.refused(self.make(data=data), data)
        self.assertEqual(["holiday.jpg"], os.listdir(data))
        shutil.rmtree(data)

    def test_the_data_folder_is_in_use(self):
        first = self.make()
        first.start()
        self.refused(self.make(data=first.data), first.data)
        self.assertEqual(0, first.cli("status")[0])
        remove(first)

    def test_an_unknown_option(self):
        plane = self.make(extra=["--nonsense", "1"])
        self.refused(plane, "--nonsense")
        shutil.rmtree(plane.data)

    def test_a_newer_database(self):
        plane = self.make()
        plane.start()
        plane.stop()
        subprocess.run(["sqlite3", f"{plane.data}/ledger.db", "PRAGMA user_version=1000"], check=True)
        self.refused(plane, "ledger.db")
        remove(plane)


class FullDisk(unittest.TestCase):
    def test_nothing_is_answered_with_success_and_work_goes_on(self):
        data = temporary_data(False)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m,mode=0755", "tmpfs", data], check=True)
        plane = make_plane(data=data)
        filler = pathlib.Path(data, "filler")
        try:
            plane.start()
            plane.cli("apply", "-f", str(PROJECT))
            with open(filler, "wb") as file:
                try:
                    while True:
                        file.write(b"\0" * (1 << 20))
                except OSError:
                    pass

            def refused():
                code, _, said = plane.cli("submit", "-f", "-", stdin=manifest_job("full", "pass" + " " * 20000), check=False)
                return said if code == 11 else None
            said = wait(refused, 20, "submissions are still taken on a full disk")
            self.assertIn("disk", said.lower())
            self.assertEqual(0, plane.cli("get", "jobs", "-p", "demo")[0])
            filler.unlink()
            wait(lambda: plane.cli("submit", "-f", "-", stdin=manifest_job("after", "print(1)"), check=False)[0] == 0, 30,
                 "nothing is taken once there is room again")
            plane.wait_phase("job", "after", ["succeeded"], 60)
        finally:
            plane.down()
            subprocess.run(["umount", "-l", data], check=True)
            shutil.rmtree(data)


class EnvironmentWithoutJupyter(unittest.TestCase):
    def test_the_notebook_says_so(self):
        bare = temporary_data(False)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{bare}/env"], check=True)
        os.chmod(bare, 0o755)
        plane = make_plane(environment=f"{bare}/env")
        try:
            plane.start()
            plane.cli("apply", "-f", str(PROJECT))
            plane.cli("apply", "-f", str(NOTEBOOK), check=False)
            wait(lambda: "jupyter" in plane.why("notebook", "notebook"), 60, lambda: plane.why("notebook", "notebook"))
        finally:
            remove(plane)
            shutil.rmtree(bare)


class StartedAgain(InstallationTest):
    notebook = True

    def test_project_history_and_files_are_found_and_work_stays(self):
        browser = sign_in(self.plane)
        kernel = browser.start_kernel()
        browser.execute(kernel, "open('kept.txt', 'w').write('here')")
        self.plane.cli("submit", "-f", "-", stdin=manifest_job("past", "print('done')"))
        self.plane.wait_phase("job", "past", ["succeeded"], 60)
        port = self.plane.port
        self.plane.stop()
        # Stopped in order: the notebook goes on, and the platform says why it does not answer.
        self.assertEqual(200, browser.navigate("/lab").status)
        self.plane.port = None
        self.plane.start()
        self.assertEqual(port, self.plane.port)
        self.assertEqual("succeeded", self.plane.get("job", "past")["status"]["phase"])
        self.assertEqual("done\n", self.plane.cli("logs", "job/past", "-p", "demo")[1])
        self.assertIsNotNone(self.plane.get("notebook", "notebook"))
        self.assertEqual("here", browser.execute(kernel, "print(open('kept.txt').read())").strip())

    def test_a_stopped_notebook_comes_back_with_its_files(self):
        browser = sign_in(self.plane)
        kernel = browser.start_kernel()
        browser.execute(kernel, "open('stop.txt', 'w').write('here')")
        self.plane.cli("stop", "notebook/notebook", "-p", "demo")
        self.plane.wait_phase("notebook", "notebook", ["stopped"], 60)
        self.plane.cli("start", "notebook/notebook", "-p", "demo")
        self.plane.wait_phase("notebook", "notebook", ["running"], 60)
        browser = sign_in(self.plane)
        kernel = browser.start_kernel()
        self.assertEqual("here", browser.execute(kernel, "print(open('stop.txt').read())").strip())


class SideBySide(unittest.TestCase):
    def test_two_installations_do_not_touch_each_other(self):
        first, second = make_plane(), make_plane()
        try:
            first.start()
            second.start()
            for plane in (first, second):
                plane.cli("apply", "-f", str(PROJECT))
                plane.cli("submit", "-f", "-", stdin=manifest_job("same", "print(1)"))
            for plane in (first, second):
                plane.wait_phase("job", "same", ["succeeded"], 60)
            self.assertFalse(first.project_uids() & second.project_uids())
            remove(first)
            first = None
            self.assertEqual(0, second.cli("status")[0])
        finally:
            for plane in (first, second):
                if plane:
                    remove(plane)


class Registries(unittest.TestCase):
    """A registry that does not answer: one sentence, nothing half done, another run goes on."""

    def test_python_registry(self):
        cache = temporary_data(False)
        environment = {**os.environ, "CUBEPLANE_CACHE": cache, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null"}
        done = subprocess.run([f"{EXAMPLES.parent}/tools/build_env"], env=environment, capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("the Python package registry does not answer", done.stderr)
        self.assertEqual("", done.stdout)
        shutil.rmtree(cache)

    def test_debian_registry(self):
        copy = temporary_data(False)
        for name in ("setup", "common.sh"):
            pathlib.Path(copy, "tools").mkdir(exist_ok=True)
            shutil.copy(EXAMPLES.parent / "tools" / name, f"{copy}/tools/{name}")
        pathlib.Path(copy, "tools/packages.txt").write_text("cowsay  a package that this machine does not have\n")
        pathlib.Path(copy, "apt.conf").write_text(f'Acquire::http::Proxy "http://127.0.0.1:9"; Acquire::https::Proxy "http://127.0.0.1:9"; '
                                                  f'Acquire::Retries "0"; Dir::State::lists "{copy}/lists";')
        pathlib.Path(copy, "lists/partial").mkdir(parents=True)
        environment = {**os.environ, "CUBEPLANE_CACHE": f"{copy}/cache", "APT_CONFIG": f"{copy}/apt.conf"}
        done = subprocess.run([f"{copy}/tools/setup"], env=environment, capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn("the Debian package registry does not answer", done.stderr)
        shutil.rmtree(copy)


if __name__ == "__main__":
    unittest.main()
