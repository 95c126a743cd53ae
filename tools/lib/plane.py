"""A cubeplane as a program that starts it, asks its command line, ends it, and looks for what it left behind."""

import glob
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

START_SECONDS = 60
STOP_SECONDS = 40


class Trouble(Exception):
    """What went wrong, as one sentence for people."""


def free_port():
    """A port that is free on 127.0.0.1 and ::1 now."""
    for _ in range(50):
        with socket.socket(socket.AF_INET) as four:
            four.bind(("127.0.0.1", 0))
            port = four.getsockname()[1]
            with socket.socket(socket.AF_INET6) as six:
                try:
                    six.bind(("::1", port))
                except OSError:
                    continue
                return port
    raise Trouble("no port is free on both 127.0.0.1 and ::1")


def temporary_data(privileged):
    """A folder that other users of this machine may pass through, as the pods' users must."""
    if os.getuid() == 0:
        base = "/var/lib/cubeplane"
        os.makedirs(base, mode=0o755, exist_ok=True)
    elif privileged:
        return subprocess.run(["sudo", "-n", "sh", "-c", "mkdir -p /var/lib/cubeplane && mktemp -d /var/lib/cubeplane/once-XXXXXX"],
                              check=True, capture_output=True, text=True).stdout.strip()
    else:
        base = os.path.expanduser("~/.local/share/cubeplane")
        os.makedirs(base, exist_ok=True)
    return tempfile.mkdtemp(prefix="once-", dir=base)


class Plane:
    """One installation: a binary, a data folder, a port."""

    def __init__(self, binary, environment, data, port=None, sudo=False, service_user=None, quiet=False, extra=()):
        self.binary, self.data, self.port = str(binary), str(data), port
        self.environment, self.service_user, self.extra = environment, service_user, list(extra)
        self.prefix = ["sudo", "-n"] if sudo else []
        self.quiet = quiet
        self.process = None
        self.url = None
        self.errors = []   # what `up` said on stderr

    # ---- starting and stopping -----------------------------------------------------------------------------------

    def command(self):
        line = [self.binary, "up", "--data", self.data, "--operator-uid", str(os.getuid())]
        if self.environment:
            line += ["--env", f"default={self.environment}"]
        if self.port:
            line += ["--port", str(self.port)]
        if self.service_user:
            line += ["--service-user", self.service_user]
        return self.prefix + line + self.extra

    def start(self):
        """Starts `up` in a session of its own, so that Ctrl-C reaches us only, and waits until it is ready."""
        self.errors = []
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        threading.Thread(target=self._read_errors, args=(self.process.stderr,), daemon=True).start()
        ready = threading.Event()
        threading.Thread(target=self._read_output, args=(self.process.stdout, ready), daemon=True).start()
        deadline = time.monotonic() + START_SECONDS
        while not ready.wait(0.05):
            if self.process.poll() is not None:
                time.sleep(0.2)
                raise Trouble(self.last_error() or f"cubeplane up ended with code {self.process.returncode}")
            if time.monotonic() > deadline:
                self.stop()
                raise Trouble(f"cubeplane up was not ready within {START_SECONDS} s: {self.last_error()}")
        self.port = int(self.url.rsplit(":", 1)[1])
        return self.url

    def _read_output(self, stream, ready):
        with stream:
            for line in stream:
                if line.startswith("ready "):
                    self.url = line.split()[1].rstrip("/")
                    ready.set()

    def _read_errors(self, stream):
        with stream:
            for line in stream:
                self.errors.append(line.rstrip("\n"))
                if not self.quiet:
                    print(line, end="", file=os.sys.stderr, flush=True)

    def last_error(self):
        said = [line for line in self.errors if line.strip() and not any(word in line for word in ("assword", "密码"))]
        return said[-1].removeprefix("cubeplane: ") if said else ""

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.prefix:
            subprocess.run(self.prefix + ["kill", f"-{int(number)}", str(self.process.pid)], check=False)
        else:
            self.process.send_signal(number)

    def stop(self):
        """Stops the control plane only: pods and gateway go on."""
        if not self.running():
            return
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise Trouble(f"the control plane did not stop within {STOP_SECONDS} s") from None

    def down(self):
        """Ends everything of this installation."""
        done = subprocess.run(self.prefix + [self.binary, "down", "--data", self.data], capture_output=True, text=True,
                              timeout=120, check=False)
        if done.returncode != 0:
            raise Trouble(f"cubeplane down ended with code {done.returncode}: {done.stderr.strip()}")
        if self.process is not None:
            self.process.wait(STOP_SECONDS)

    # ---- the command line ------------------------------------------------------------------------------------------

    def cli(self, *args, stdin=None, check=True, timeout=120):
        """Runs a command and gives (code, stdout, stderr)."""
        done = subprocess.run([self.binary, *args, "--data", self.data], input=stdin, capture_output=True, text=True,
                              timeout=timeout, check=False)
        if check and done.returncode != 0:
            raise Trouble(f"cubeplane {' '.join(args)} ended with code {done.returncode}: {done.stderr.strip()}")
        return done.returncode, done.stdout, done.stderr

    def get(self, kind, name, project="demo"):
        """The object, or None when it is not there."""
        code, out, err = self.cli("get", kind, name, "-p", project, "-o", "json", check=False)
        if code == 3:
            return None
        if code != 0:
            raise Trouble(f"cubeplane get {kind} {name} ended with code {code}: {err.strip()}")
        return json.loads(out)

    def wait_phase(self, kind, name, phases, seconds, project="demo", on_change=None):
        """The object once its phase is one of `phases`."""
        deadline = time.monotonic() + seconds
        last = None
        while True:
            found = self.get(kind, name, project)
            phase = (found or {}).get("status", {}).get("phase")
            if phase in phases:
                return found
            if phase != last and on_change:
                on_change(phase)
            last = phase
            if phase in ("failed", "stopped", "succeeded"):
                raise Trouble(f"{kind} {name} is {phase}: {self.why(kind, name, project)}")
            if time.monotonic() > deadline:
                raise Trouble(f"{kind} {name} is {phase} after {seconds} s, not {' or '.join(phases)}: {self.why(kind, name, project)}")
            time.sleep(0.2)

    def why(self, kind, name, project="demo"):
        _, out, err = self.cli("explain", f"{kind}/{name}", "-p", project, check=False)
        return " ".join((out or err).split())

    # ---- what it leaves on the machine -----------------------------------------------------------------------------

    def instance(self):
        return json.loads(pathlib.Path(self.data, "instance.json").read_text())

    def marks(self):
        """Texts by which its processes, mounts and groups are known."""
        marks = [self.data]
        try:
            text = json.dumps(self.instance())
        except OSError:
            return marks
        for value in json.loads(text).values():
            if isinstance(value, str) and len(value) >= 32:
                marks += [value, "/" + value[-8:]]
        return marks

    def project_uids(self):
        return {os.stat(folder).st_uid for folder in glob.glob(f"{self.data}/projects/*")} - {0, os.getuid()}

    def leftovers(self, marks, uids):
        """What is still there of it: processes, mounts, control groups, a listening port. Taken after `down`."""
        left = []
        for folder in glob.glob("/proc/[0-9]*"):
            pid = int(folder[6:])
            try:
                line = pathlib.Path(folder, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                uid = os.stat(folder).st_uid
                state = pathlib.Path(folder, "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if pid == os.getpid() or pid == os.getppid() or state == "Z" or "first_run.py" in line or "tests/integration" in line:
                continue
            if uid in uids or any(mark in line for mark in marks):
                left.append(f"process {pid}: {line[:120]}")
        mounts = pathlib.Path("/proc/self/mounts").read_text()
        left += [f"mount {line.split()[1]}" for line in mounts.splitlines() if any(mark in line for mark in marks)]
        for root, folders, _ in os.walk("/sys/fs/cgroup"):
            left += [f"control group {root}/{name}" for name in folders if any(mark.lstrip("/") in name for mark in marks)]
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as probe:
                probe.settimeout(1)
                if self.port and probe.connect_ex((address, self.port)) == 0:
                    left.append(f"port {self.port} on {address}")
        return left
