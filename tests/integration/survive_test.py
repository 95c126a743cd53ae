#!/usr/bin/python3
"""What is killed while people work: the control plane, a supervisor, HAProxy, all of `up`. Work goes on and runs once."""

import json
import os
import pathlib
import signal
import unittest

from world import InstallationTest, control_plane_pid, jupyter_pids, processes, sign_in, supervisor_of, wait

# Writes a line per start into a file of the project, so that a second start of the same attempt would show.
SLOW = """
import os, time
open('/data/starts-' + os.environ.get('CUBEPLANE_WORKLOAD', 'x'), 'a').write(os.environ.get('CUBEPLANE_ATTEMPT', '?') + '\\n')
for i in range({steps}):
    print('step', i, flush=True)
    time.sleep(0.5)
"""


class ControlPlaneKilled(InstallationTest):
    notebook = True

    def starts(self, name):
        files = list(pathlib.Path(self.plane.data, "projects").glob(f"*/starts-{name}"))
        return files[0].read_text().split() if files else []

    def test_job_and_notebook_go_on_and_are_found_again(self):
        browser = sign_in(self.plane)
        kernel = browser.start_kernel()
        self.assertEqual("1", browser.execute(kernel, "x = 1\nprint(x)").strip())
        before = jupyter_pids(self.plane)
        self.assertEqual(1, len(before))
        self.submit("slow", SLOW.format(steps=16))
        self.plane.wait_phase("job", "slow", ["running"], 60)

        os.kill(control_plane_pid(self.plane), signal.SIGKILL)
        # The kernel still has its variables: the notebook never stopped.
        self.assertEqual("2", browser.execute(kernel, "print(x + 1)").strip())
        wait(lambda: self.plane.cli("status", check=False)[0] == 0, 30, "the control plane does not come back")
        self.assertEqual(before, jupyter_pids(self.plane))
        found = self.plane.wait_phase("job", "slow", ["succeeded"], 60)
        self.assertEqual(1, len(found["status"]["attempts"]))
        self.assertEqual(["1"], self.starts("slow"))
        _, log, _ = self.plane.cli("logs", "job/slow", "-p", "demo")
        self.assertEqual([f"step {i}" for i in range(16)], log.split("\n")[:16])

    def test_followed_log_goes_on_over_a_kill(self):
        import subprocess
        self.submit("followed", SLOW.format(steps=14))
        self.plane.wait_phase("job", "followed", ["running"], 60)
        follow = subprocess.Popen([self.plane.binary, "logs", "-f", "job/followed", "-p", "demo", "--data", self.plane.data],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual("step 0\n", follow.stdout.readline())
        os.kill(control_plane_pid(self.plane), signal.SIGKILL)
        rest, said = follow.communicate(timeout=90)
        self.assertEqual([f"step {i}" for i in range(1, 14)], rest.split("\n")[:-1], said)
        self.assertEqual(0, follow.returncode, said)


class AllOfUpKilled(InstallationTest):
    notebook = True

    def test_work_goes_on_and_the_next_up_finds_it(self):
        browser = sign_in(self.plane)
        before = jupyter_pids(self.plane)
        children = control_plane_pid(self.plane)
        self.plane.process.kill()
        self.plane.process.wait()
        wait(lambda: not pathlib.Path(f"/proc/{children}").exists(), 20, "the control plane outlives its parent")
        # With cubeplane gone, a person who is signed in opens a new page.
        self.assertEqual(200, browser.navigate("/lab").status)
        self.assertEqual(503, browser.request("GET", "/.cubeplane/signout").status)
        self.plane.start()
        self.assertEqual(before, jupyter_pids(self.plane))
        self.plane.wait_phase("notebook", "notebook", ["running"], 30)
        self.assertEqual(200, browser.navigate("/lab").status)


class SupervisorKilled(InstallationTest):
    notebook = True

    def test_the_tree_is_gone_and_the_notebook_comes_back_with_its_files(self):
        browser = sign_in(self.plane)
        kernel = browser.start_kernel()
        browser.execute(kernel, "open('kept.txt', 'w').write('here')")
        old = jupyter_pids(self.plane)
        tree = processes(uids=self.plane.project_uids())
        os.kill(supervisor_of(old[0]), signal.SIGKILL)
        wait(lambda: not set(tree) & set(processes(uids=self.plane.project_uids())), 10, "processes outlive their supervisor")
        new = wait(lambda: jupyter_pids(self.plane), 60, "the notebook does not come back")
        self.assertEqual(1, len(new))
        self.plane.wait_phase("notebook", "notebook", ["running"], 60)
        browser = sign_in(self.plane)
        wait(lambda: browser.navigate("/lab").status == 200, 30, "the notebook's page does not come back")
        kernel = browser.start_kernel()
        self.assertEqual("here", browser.execute(kernel, "print(open('kept.txt').read())").strip())

    def test_a_job_fails_with_the_reason_and_is_tried_again(self):
        self.submit("twice", SLOW.format(steps=8), retries=1)
        self.plane.wait_phase("job", "twice", ["running"], 60)
        payload = wait(lambda: [pid for pid, line in processes(uids=self.plane.project_uids()).items() if "starts-" in line and line.startswith("python")],
                       20, "the job has no process")
        os.kill(supervisor_of(payload[0]), signal.SIGKILL)
        found = self.plane.wait_phase("job", "twice", ["succeeded"], 90)
        attempts = found["status"]["attempts"]
        self.assertEqual([1, 2], [attempt["number"] for attempt in attempts])
        self.assertTrue(attempts[0]["proof"], attempts)
        starts = next(pathlib.Path(self.plane.data, "projects").glob("*/starts-twice")).read_text().split()
        self.assertEqual(["1", "2"], starts)


class GatewayKilled(InstallationTest):
    notebook = True

    def test_haproxy_is_started_again_and_sessions_still_open(self):
        browser = sign_in(self.plane)
        proxies = processes(contains="haproxy")
        mine = [pid for pid, line in proxies.items() if any(mark in line for mark in self.plane.marks())]
        self.assertTrue(mine, proxies)
        for pid in mine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass   # a worker that went with its master

        def opens():
            try:
                return browser.navigate("/lab").status == 200
            except OSError:
                return False
        wait(opens, 20, "the gateway does not come back")
        status = json.loads(self.plane.cli("status", "-o", "json")[1])
        self.assertIn("control", status)


if __name__ == "__main__":
    unittest.main()
