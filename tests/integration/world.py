"""Real installations for the tests of bad days: each with a data folder and a port of its own, ended and looked for afterwards.

Needs root (a user per project, real mounts) and, from ./test, CUBEPLANE_BINARY and CUBEPLANE_ENVIRONMENT.
"""

import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from lib.origin import Origin
from lib.plane import Plane, Trouble, free_port, temporary_data

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
PROJECT = EXAMPLES / "demo" / "project.yaml"
NOTEBOOK = EXAMPLES / "demo" / "notebook.yaml"


def binary():
    return os.environ["CUBEPLANE_BINARY"]


def environment():
    return os.environ["CUBEPLANE_ENVIRONMENT"]


def make_plane(data=None, port=None, **more):
    if os.getuid() != 0:
        raise Trouble("these tests need root")
    more.setdefault("environment", environment())
    return Plane(binary(), data=data or temporary_data(False), port=port or free_port(), service_user="cubeplane", quiet=True, **more)


def remove(plane):
    """Ends it and says what it left behind."""
    marks, uids = plane.marks(), plane.project_uids()
    if pathlib.Path(plane.data, "instance.json").exists():
        plane.down()
    wait(lambda: not plane.leftovers(marks, uids), 10, lambda: f"left behind: {plane.leftovers(marks, uids)}")
    shutil.rmtree(plane.data)


def end(plane):
    """For cleaning up after a failed test: ends what may still run; its data stays for a look."""
    if pathlib.Path(plane.data, "instance.json").exists():
        plane.down()


def wait(condition, seconds, otherwise):
    """The first true value of `condition`, or a Trouble that says `otherwise` (text or function)."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Trouble(otherwise() if callable(otherwise) else otherwise)
        time.sleep(0.1)


def processes(uids=None, contains=None):
    """pid -> command line of living processes of these users, or whose command line contains the text."""
    found = {}
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            line = pathlib.Path(folder, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = pathlib.Path(folder, "stat").read_text().rsplit(")", 1)[1].split()[0]
            uid = os.stat(folder).st_uid
        except OSError:
            continue
        if state != "Z" and line and (uids is None or uid in uids) and (contains is None or contains in line):
            found[int(folder[6:])] = line.strip()
    return found


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def control_plane_pid(plane):
    """The control plane's process: the child of `up` that is not the node process."""
    def find():
        return next((pid for pid in children_of(plane.process.pid) if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "cubeplane"), None)
    return wait(find, 10, "up has no control plane")


def supervisor_of(pid):
    """The supervisor above a pod's process."""
    while pid > 1:
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if len(line) > 1 and line[1] == b"supervisor":
            return pid
        pid = parent_of(pid)
    raise Trouble("no supervisor above the process")


def jupyter_pids(plane):
    return [pid for pid, line in processes(uids=plane.project_uids()).items() if "jupyter-lab" in line and line.split()[0].endswith(("python", "python3"))]


def manifest_job(name, code, retries=0):
    return json.dumps({"apiVersion": "cubeplane.io/v1", "kind": "TrainingJob", "metadata": {"name": name, "project": "demo"},
                       "spec": {"command": ["python", "-u", "-c", code], "resources": {"cpu": "500m", "memory": "512Mi"}, "retries": retries}})


def sign_in(plane, name="notebook"):
    _, link, _ = plane.cli("open", f"notebook/{name}", "-p", "demo")
    browser = Origin(link.strip())
    _, pressed = browser.redeem(link.strip())
    if pressed.status != 303:
        raise Trouble(f"the link signs nobody in: {pressed}")
    return browser


class InstallationTest(unittest.TestCase):
    """One installation per class, started with project demo."""

    notebook = False

    @classmethod
    def setUpClass(cls):
        cls.plane = make_plane()
        try:
            cls.plane.start()
            cls.plane.cli("apply", "-f", str(PROJECT))
            if cls.notebook:
                cls.plane.cli("apply", "-f", str(NOTEBOOK))
                cls.plane.wait_phase("notebook", "notebook", ["running"], 60)
        except BaseException:
            remove(cls.plane)
            raise

    @classmethod
    def tearDownClass(cls):
        remove(cls.plane)

    def submit(self, name, code, retries=0):
        self.plane.cli("submit", "-f", "-", stdin=manifest_job(name, code, retries))
