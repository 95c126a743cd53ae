#!/usr/bin/python3
"""What a newcomer sees of ./run: everything in one go, Ctrl-C, and a second run that finds it all again."""

import glob
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from world import ROOT, Origin, binary, end, environment, jupyter_pids, make_plane, processes, remove

RUN_SECONDS = 240
LINK = re.compile(r"http://notebook--demo\.localhost:\d+/\S+")


class Shown:
    """A first run with all that it prints, by stream."""

    def __init__(self, plane, **more):
        self.lines = {"out": [], "err": []}
        self.news = queue.Queue()
        command = [sys.executable, ROOT / "tools/first_run.py", "--binary", binary(), "--environment", environment(), "--service-user", "cubeplane",
                   "--data", plane.data, "--port", str(plane.port)]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True, env={**os.environ, "LC_ALL": "C.UTF-8", **more})
        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()

    def _read(self, name, stream):
        with stream:
            for line in stream:
                self.lines[name].append(line)
                self.news.put(line)

    def text(self, name):
        return "".join(self.lines[name])

    def wait_for(self, pattern):
        """The first line that matches, on either stream."""
        deadline = time.monotonic() + RUN_SECONDS
        while True:
            try:
                line = self.news.get(timeout=max(0.1, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{pattern} was not shown:\n{self.text('err')}\n{self.text('out')}") from None
            if found := re.search(pattern, line):
                return found.group(0)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


def listening_beyond_loopback(marks):
    """Listening TCP sockets of this installation's processes that are reachable from outside."""
    inodes = {}
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            address = words[1].split(":")[0]
            loopback = address.endswith("7F") or address == "00000000000000000000000001000000"
            if words[3] == "0A" and not loopback:
                inodes[words[9]] = words[1]
    found = []
    for mark in marks:
        for pid in processes(contains=mark):
            for link in glob.glob(f"/proc/{pid}/fd/*"):
                try:
                    target = os.readlink(link)
                except OSError:
                    continue
                if target.startswith("socket:[") and target[8:-1] in inodes:
                    found.append((pid, inodes[target[8:-1]]))
    return found


def kinds_by_root(mark):
    """Names of this installation's processes, in two lists: those of root, and the others."""
    kinds = ([], [])
    for pid in processes(contains=mark):
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            kinds[os.stat(f"/proc/{pid}").st_uid != 0].append(name)
        except OSError:
            continue
    return kinds


class FirstRun(unittest.TestCase):
    def test_it_shows_everything_stays_until_ctrl_c_and_finds_it_again(self):
        plane = make_plane()
        self.addCleanup(lambda: pathlib.Path(plane.data).exists() and end(plane))
        first = Shown(plane)
        self.addCleanup(first.process.kill)
        link = first.wait_for(LINK)
        first.wait_for("Ctrl-C stops")
        self.assertRegex(first.text("out"), rf"ssh -L {plane.port}:localhost:{plane.port} {re.escape(socket.gethostname())}")
        self.assertRegex(first.text("err"), r"(?m)^  \| .*epoch", "the job's log is streamed")
        accuracy, model = re.search(r"Accuracy ([\d.]+) after [\d.]+ s\..* (/\S+) on this machine", first.text("err")).groups()
        self.assertGreater(float(accuracy), 0.9)
        self.assertTrue(pathlib.Path(model).is_file(), model)
        self.assertEqual(1, len(re.findall("admin password", first.text("err"))), "the password is shown once")
        self.assertEqual([], listening_beyond_loopback(plane.marks()))
        of_root, others = kinds_by_root(plane.data)
        # The parent that only waits, the node process and its supervisors.
        self.assertEqual(1, of_root.count("cubeplane"), of_root)
        self.assertFalse(set(of_root) & {"haproxy", "jupyter-lab"}, of_root)
        self.assertTrue({"cubeplane", "haproxy"} <= set(others), others)
        browser = Origin(link)
        self.assertEqual(303, browser.redeem(link)[1].status)
        self.assertEqual(200, browser.navigate("/lab").status)
        before = jupyter_pids(plane)

        self.assertEqual(0, first.interrupt())
        self.assertIn("The control plane has stopped. The notebook goes on", first.text("err"))
        self.assertIn("./run down ends everything", first.text("err"))
        self.assertEqual(before, jupyter_pids(plane))
        self.assertEqual(200, browser.navigate("/lab").status)

        second = Shown(plane, LC_ALL="zh_CN.UTF-8")
        self.addCleanup(second.process.kill)
        again = second.wait_for(LINK)
        second.wait_for("Ctrl-C 只停止控制面")
        self.assertNotEqual(link, again)
        self.assertIn("训练任务 digits-2", second.text("err"))
        self.assertNotIn("admin password", second.text("err"))
        self.assertEqual(before, jupyter_pids(plane), "the notebook is the same")
        self.assertEqual("succeeded", plane.get("job", "digits")["status"]["phase"])
        self.assertEqual(0, second.interrupt())
        remove(plane)


if __name__ == "__main__":
    unittest.main()
