"""What ./run shows once everything is built: a project, a training job, a notebook. See ./run --help."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lib import proof
from lib.plane import Plane, Trouble, free_port, temporary_data
from lib.words import say

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
JOB_SECONDS = 300
NOTEBOOK_SECONDS = 120


class Steps:
    """Numbered steps with their time, told as they go."""

    def __init__(self):
        self.done = []
        self.began = time.monotonic()
        self.name, self.since = None, None

    def start(self, name, /, **params):
        self.name, self.since = name, time.monotonic()
        print(f"→ {say(name, **params)}", file=sys.stderr, flush=True)

    def end(self, detail=""):
        seconds = round(time.monotonic() - self.since, 2)
        self.done.append({"name": self.name, "seconds": seconds})
        print(f"  {say('done', seconds=f'{seconds:.1f}')}{'  ' + detail if detail else ''}", file=sys.stderr, flush=True)
        self.name = None
        return seconds


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--environment", required=True)
    parser.add_argument("--sudo", action="store_true")
    parser.add_argument("--service-user")
    parser.add_argument("--data")
    parser.add_argument("--port", type=int)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class FirstRun:
    def __init__(self, plane, steps, facts):
        self.plane, self.steps, self.facts = plane, steps, facts

    def start(self):
        self.steps.start("start")
        url = self.plane.start()
        self.facts["address"] = url
        self.facts["up_seconds"] = self.steps.end(url)

    def project(self):
        self.steps.start("project")
        _, out, _ = self.plane.cli("apply", "-f", str(EXAMPLES / "demo" / "project.yaml"))
        self.steps.end(out.strip())

    def job(self):
        """A new digits run; its log goes to stderr as it comes."""
        name = self.next_job_name()
        self.steps.start("job", name=name)
        began = time.monotonic()
        self.plane.cli("submit", str(EXAMPLES / "digits"), "-p", "demo", "--name", name)
        follow = subprocess.Popen([self.plane.binary, "logs", "-f", f"job/{name}", "-p", "demo", "--data", self.plane.data],
                                  stdout=subprocess.PIPE, text=True)
        try:
            for line in follow.stdout:
                self.facts.setdefault("first_log_seconds", round(time.monotonic() - began, 2))
                print(f"  | {line}", end="", file=sys.stderr, flush=True)
            code = follow.wait(JOB_SECONDS)
        finally:
            follow.kill()
        found = self.plane.wait_phase("job", name, ["succeeded"], JOB_SECONDS)
        if code != 0:
            raise Trouble(f"cubeplane logs -f ended with code {code}")
        self.note_result(found)
        self.steps.end()
        print("  " + say("result", accuracy=self.facts["accuracy"], seconds=self.facts["job_seconds"], model=self.facts["model"],
                         place=self.facts.get("model_on_machine", "-")), file=sys.stderr, flush=True)

    def next_job_name(self):
        _, out, _ = self.plane.cli("get", "jobs", "-p", "demo", "-o", "name")
        names = {line.split("/")[1] for line in out.split()}
        number = 1
        while (name := "digits" if number == 1 else f"digits-{number}") in names:
            number += 1
        return name

    def note_result(self, found):
        result = found["status"].get("result")
        if not result:
            raise Trouble("the job has succeeded but left no result")
        result = json.loads(result) if isinstance(result, str) else result
        self.facts.update(job=found["metadata"]["name"], accuracy=result["accuracy"], job_seconds=result["seconds"], model=result["model"])
        relative = result["model"].removeprefix("/data/")
        places = [str(place) for place in pathlib.Path(self.plane.data, "projects").glob(f"*/{relative}")] if os.access(
            f"{self.plane.data}/projects", os.R_OK) else []
        if places:
            self.facts["model_on_machine"] = places[0]

    def notebook(self, name="notebook"):
        self.steps.start("notebook", name=name)
        found = self.plane.get("notebook", name)
        if found is None:
            manifest = (EXAMPLES / "demo" / "notebook.yaml").read_text().replace("name: notebook", f"name: {name}")
            self.plane.cli("apply", "-f", "-", stdin=manifest)
        elif found["status"]["phase"] == "stopped":
            self.plane.cli("start", f"notebook/{name}", "-p", "demo")
        found = self.plane.wait_phase("notebook", name, ["running"], NOTEBOOK_SECONDS,
                                      on_change=lambda phase: print(f"  {phase}", file=sys.stderr, flush=True))
        self.steps.end(found["status"].get("address", ""))
        return found

    def link(self, name="notebook"):
        _, out, _ = self.plane.cli("open", f"notebook/{name}", "-p", "demo")
        return out.strip()


def stay(run, plane, link):
    """Until Ctrl-C, TERM or a closed terminal; gives the exit code."""
    def stop(number, frame):
        raise KeyboardInterrupt
    # INT too: a shell in the background starts programs with it ignored.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    print(say("open", link=link, port=plane.port, host=socket.gethostname(), url=plane.url))
    sys.stdout.flush()
    try:
        code = plane.process.wait()
        print(say("ended", why=plane.last_error()), file=sys.stderr)
        return code or 1
    except KeyboardInterrupt:
        # A second Ctrl-C must not leave the control plane half stopped.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(f"\n{say('stopping')}", file=sys.stderr, flush=True)
        plane.stop()
        print(say("goes_on", address=run.facts.get("notebook_address", "")), file=sys.stderr)
        return 0


def show(arguments, plane, steps, facts):
    run = FirstRun(plane, steps, facts)
    try:
        run.start()
        run.project()
        run.job()
        facts["notebook_address"] = run.notebook()["status"].get("address", "")
        return stay(run, plane, run.link())
    except KeyboardInterrupt:
        plane.stop()
        print(say("goes_on", address=facts.get("notebook_address", "")), file=sys.stderr)
        return 130


def prove(arguments, plane, steps, facts):
    """The same as `show`, each step proved, then everything ended and looked for."""
    run = FirstRun(plane, steps, facts)
    problem = None
    try:
        run.start()
        run.project()
        run.job()
        run.notebook()
        browser = proof.notebook_works(plane, steps, run.link(), facts)
        run.notebook("other")
        proof.strangers_are_refused(steps, browser, run.link("other"))
    except (Exception, KeyboardInterrupt) as error:  # pylint: disable=broad-except
        problem = f"{say(steps.name) + ': ' if steps.name else ''}{error}" if not isinstance(error, KeyboardInterrupt) else "Ctrl-C"
    try:
        proof.everything_ends(plane, steps)
    except Exception as error:  # pylint: disable=broad-except
        problem = (problem + "; " if problem else "") + f"{error}"
    return problem


def summary(arguments, plane, steps, facts, problem):
    facts.update(ok=problem is None, seconds=round(time.monotonic() - steps.began, 1), steps=steps.done)
    if problem:
        facts["problem"] = problem
        facts["data"] = plane.data
        facts["said"] = [line for line in plane.errors if not any(word in line for word in ("assword", "密码"))][-20:]
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    for step in steps.done:
        print(f"{step['seconds']:7.1f} s  {say(step['name'], name='')}")
    if problem is None:
        print(say("summary", seconds=facts["seconds"], accuracy=facts["accuracy"], address=facts["address"]))
    else:
        print(say("failed", why=problem, data=plane.data))
        print("\n".join(facts["said"]), file=sys.stderr)


def main():
    arguments = read_arguments()
    own_data = arguments.once and not arguments.data
    data = arguments.data or temporary_data(arguments.sudo)
    port = arguments.port or (free_port() if arguments.once else None)
    plane = Plane(arguments.binary, arguments.environment, data, port, sudo=arguments.sudo, service_user=arguments.service_user,
                  quiet=arguments.once)
    steps, facts = Steps(), {}
    if not arguments.once:
        try:
            return show(arguments, plane, steps, facts)
        except Trouble as trouble:
            print(f"cubeplane: {trouble}", file=sys.stderr)
            if plane.running():
                plane.stop()
            return 1
    if arguments.data and pathlib.Path(data, "endpoint.json").exists():
        print(f"cubeplane: {say('live_data', data=data)}", file=sys.stderr)
        return 2
    proof.prepare(arguments.environment)
    problem = prove(arguments, plane, steps, facts)
    if own_data and problem is None:
        remove(data, arguments.sudo)
    summary(arguments, plane, steps, facts, problem)
    return 0 if problem is None else 1


def remove(data, sudo):
    if sudo:
        subprocess.run(["sudo", "-n", "rm", "-rf", "--one-file-system", data], check=False)
    else:
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
