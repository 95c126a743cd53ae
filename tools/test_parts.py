"""Runs the parts of ./test and tells what came of them. See ./test --help."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from lib import parts

DEFAULT_SECONDS = 300
SHOWN_LINES = 30


class Run:
    """What parts report to: checks with their time, output kept in a file each."""

    def __init__(self, long, environment, cache):
        self.long, self.environment, self.cache = long, environment, pathlib.Path(cache)
        self.logs = parts.ROOT / "build" / "test-logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.part, self.results, self.notes = None, [], []

    def note(self, text):
        self.notes.append(text)
        print(f"        {text}", flush=True)

    def fail(self, name, why):
        self._result(name, 0, 1, 0.0, why)

    def _result(self, name, passed, failed, seconds, why=""):
        self.results.append({"part": self.part, "name": name, "passed": passed, "failed": failed, "seconds": round(seconds, 1), "why": why})
        count = f"{passed} passed" if failed == 0 else f"{failed} FAILED"
        print(f"{'ok  ' if failed == 0 else 'FAIL'} {seconds:7.1f} s  {self.part:9} {name:34} {count}", flush=True)
        if failed:
            for line in why.splitlines()[-SHOWN_LINES:]:
                print(f"        {line}", flush=True)

    def _execute(self, name, command, environment=None, seconds=DEFAULT_SECONDS, stdin=None):
        """(exit code, output, seconds); 124 when it ran too long, 127 when it could not be started."""
        log = self.logs / (re.sub(r"\W+", "_", name) + ".log")
        began = time.monotonic()
        try:
            with open(log, "w+", encoding="utf-8", errors="replace") as out:
                done = subprocess.run([str(word) for word in command], cwd=parts.ROOT, env={**os.environ, **(environment or {})},
                                      stdout=out, stderr=subprocess.STDOUT, input=None if stdin is None else stdin.encode(),
                                      stdin=subprocess.DEVNULL if stdin is None else None, timeout=seconds, check=False)
                code = done.returncode
        except subprocess.TimeoutExpired:
            code = 124
        except OSError as error:
            log.write_text(str(error))
            code = 127
        output = log.read_text(encoding="utf-8", errors="replace")
        if code == 124:
            output += f"\nran longer than {seconds} s"
        return code, output, time.monotonic() - began

    def check(self, name, command, environment=None, seconds=DEFAULT_SECONDS, stdin=None):
        code, output, took = self._execute(name, command, environment, seconds, stdin)
        self._result(name, int(code == 0), int(code != 0), took, output)
        return code == 0

    def build(self, preset, *targets):
        return self.check(f"build_{preset}", [parts.ROOT / "tools/build", preset, *(targets or ["all"])], seconds=5400)

    def gtest(self, name, command, environment=None, seconds=DEFAULT_SECONDS):
        """Each case counts; a skipped one is a failed one."""
        report = self.logs / (re.sub(r"\W+", "_", name) + ".json")
        report.unlink(missing_ok=True)
        code, output, took = self._execute(name, [*command, f"--gtest_output=json:{report}"], environment, seconds)
        if not report.exists():
            self._result(name, 0, 1, took, output or f"ended with code {code} and without a report")
            return
        cases = [case for suite in json.loads(report.read_text())["testsuites"] for case in suite["testsuite"]]
        bad = [case for case in cases if case.get("failures") or case.get("result") != "COMPLETED"]
        if not cases or (code != 0 and not bad):
            self._result(name, len(cases), 1, took, output)
            return
        why = "\n".join(f"{case['classname']}.{case['name']}: {case.get('failures', [{'failure': case.get('result')}])[0]['failure']}" for case in bad)
        self._result(name, len(cases) - len(bad), len(bad), took, why)

    def unittest(self, name, path, environment, seconds):
        site = f"{self.environment}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
        # After the test's own folder and what it asked for.
        environment = {**environment, "PYTHONPATH": ":".join(filter(None, [environment.get("PYTHONPATH"), site]))}
        code, output, took = self._execute(name, [sys.executable, path, "-v"], environment, seconds)
        # The last verdict is its own: a test may print those of others.
        ran = re.findall(r"^Ran (\d+) tests?", output, re.M)
        verdict = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?$", output, re.M)
        count = int(ran[-1]) if ran and verdict else 0
        bad = sum(int(number) for number in re.findall(r"(?:failures|errors|skipped|unexpected successes)=(\d+)", verdict[-1] if verdict else ""))
        if code != 0 or count == 0:
            bad = max(bad, 1)
        self._result(name, max(count - bad, 0), bad, took, output)


def choose(names, long):
    """Parts by name; a folder of src/ means its unit tests."""
    if not names:
        return {**parts.MERGE, **(parts.LONG if long else {})}
    chosen = {}
    everything = {**parts.MERGE, **parts.LONG}
    for name in names:
        if name in everything:
            if name in ("unit", "quantity", "gateway", "once", "days", "tidy", "loops"):
                chosen.setdefault("build", parts.part_build)
            chosen[name] = everything[name]
        elif (parts.ROOT / "src" / name).is_dir():
            chosen.setdefault("build", parts.part_build)
            chosen[name] = lambda run, folder=name: parts.run_unit(run, "release", folder)
        else:
            sys.exit(f"cubeplane: no part {name}; there are {', '.join(everything)} and the folders of src/")
    return chosen


def summary(run, began, report):
    print()
    print(f"{'part':10}{'seconds':>9}{'passed':>8}{'failed':>8}")
    for part in dict.fromkeys(result["part"] for result in run.results):
        own = [result for result in run.results if result["part"] == part]
        print(f"{part:10}{sum(r['seconds'] for r in own):9.1f}{sum(r['passed'] for r in own):8}{sum(r['failed'] for r in own):8}")
    passed = sum(result["passed"] for result in run.results)
    failed = sum(result["failed"] for result in run.results)
    for result in run.results:
        if result["failed"]:
            print(f"failed: {result['part']} {result['name']}  (log in {run.logs.relative_to(parts.ROOT)})")
    seconds = round(time.monotonic() - began, 1)
    print(f"{seconds:.0f} s")
    if report:
        pathlib.Path(report).write_text(json.dumps({"passed": passed, "failed": failed, "seconds": seconds, "checks": run.results,
                                                    "notes": run.notes}, indent=2))
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--environment", required=True)
    parser.add_argument("--cache", required=True)
    arguments = parser.parse_args()
    began = time.monotonic()
    run = Run(arguments.all, arguments.environment, arguments.cache)
    for name, part in choose(arguments.names, arguments.all).items():
        run.part = name
        try:
            part(run)
        except Exception as error:  # pylint: disable=broad-except
            run.fail(name, f"{type(error).__name__}: {error}")
        if name == "build" and run.results[-1]["failed"]:
            break   # everything after it needs what was built
    return summary(run, began, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
