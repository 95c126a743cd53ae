"""The parts of ./test: what each runs, and in which tier.

A part is a function of the run; it calls `run.check` for each of its checks. A tool that is missing fails its part.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TIDY_AT_MOST = 30
FUZZ_SECONDS = 60
LOOPS = 3
SOURCES = ("*.cc", "*.h")


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.split()
    return [name for name in listed if (ROOT / name).exists()]


def part_layers(run):
    run.check("layers", [ROOT / "tools/check_layers"])
    python_tests(run, "house", {})


def part_format(run):
    files = [name for name in tracked("src", "tests", "bench") if name.endswith((".cc", ".h"))]
    run.check("format", ["clang-format-19", "--dry-run", "-Werror", *files])


def part_docs(run):
    run.check("docs", [ROOT / "tools/check_docs"])


def part_build(run):
    run.build("release")


def changed_sources():
    """Sources changed since this branch left main, or in the last commit and the working tree."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    head = git("rev-parse", "HEAD").stdout.strip()
    base = git("merge-base", "HEAD", "origin/main").stdout.strip()
    if not base or base == head:
        base = git("rev-parse", "--verify", "--quiet", "HEAD~1").stdout.strip()
    names = git("diff", "--name-only", base or head).stdout.split() if base else tracked(*SOURCES)
    names += git("ls-files", "--others", "--exclude-standard").stdout.split()
    return sorted({name for name in names if name.startswith("src/") and name.endswith(".cc") and (ROOT / name).exists()})


def part_tidy(run):
    files = changed_sources() if not run.long else [name for name in tracked("src") if name.endswith(".cc")]
    if not run.long and len(files) > TIDY_AT_MOST:
        files.sort(key=lambda name: -(ROOT / name).stat().st_mtime)
        run.note(f"tidy: the {TIDY_AT_MOST} latest of {len(files)} changed files; --all takes every file")
        files = files[:TIDY_AT_MOST]
    if not files:
        run.note("tidy: no source has changed")
        run.check("tidy", ["clang-tidy-19", "--version"])
        return
    program = "xargs -0 -n 2 -P \"$(nproc)\" clang-tidy-19 --quiet -p build/release"
    run.check("tidy", ["bash", "-c", program], stdin="\0".join(files), seconds=3600 if run.long else 900)


def ctests(preset):
    """Name -> command line of every test that CMake knows."""
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=ROOT / "build" / preset, capture_output=True, text=True, check=True).stdout
    return {test["name"]: test["command"] for test in json.loads(shown)["tests"] if test.get("command")}


def run_unit(run, preset, only=None):
    environment = {"ASAN_OPTIONS": "detect_stack_use_after_return=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    # CMake also knows the Python tests of the gateway: they are a part of their own.
    found = {name: command for name, command in ctests(preset).items() if name.startswith(("unit_", "link_"))}
    suffix = "" if preset == "release" else f" ({preset})"
    for name, command in found.items():
        folder = name.split("_", 1)[1]
        if only and folder != only and not folder.startswith(only + "_"):
            continue
        if name.startswith("unit_"):
            run.gtest(name + suffix, command, environment)
        elif preset == "release":
            run.check(name, command)
    if not found:
        run.fail("unit" + suffix, "CMake knows no tests")


def part_unit(run):
    run_unit(run, "release")


def part_quantity(run):
    """Fresh random quantities, by apimachinery itself."""
    out = run.logs / "quantity.tsv"
    seed = int.from_bytes(os.urandom(4))
    run.note(f"quantity: seed {seed}")
    made = run.check("quantity_vectors", ["bash", "-c", f"cd tests/quantity_vectors && ../../tools/go run . -seed {seed} > {out}"], seconds=600)
    if made:
        command = ctests("release").get("unit_base")
        run.gtest("quantity_live", [*command, "--gtest_filter=QuantityVectors.*"], {"CUBEPLANE_QUANTITY_VECTORS": str(out)})


def python_tests(run, folder, environment, long=False):
    names = sorted((ROOT / "tests" / folder).glob("*_long.py" if long else "*_test.py"))
    if not names:
        run.fail(folder, f"tests/{folder} holds no tests")
    for path in names:
        run.unittest(f"{folder}/{path.stem}", path, environment, seconds=3600 if long else 600)


def part_gateway(run):
    harness = ROOT / "build/release/tests/gateway/gateway_harness"
    python_tests(run, "gateway", {"CUBEPLANE_GATEWAY_HARNESS": str(harness)})


def integration_environment(run):
    return {"CUBEPLANE_BINARY": str(ROOT / "build/release/src/cmd/cubeplane"), "CUBEPLANE_ENVIRONMENT": run.environment}


# What the summary of `./run --once --json` must hold.
SUMMARY = """import json, sys
facts = json.load(sys.stdin)
print(json.dumps(facts, indent=1))
sys.exit(not (facts["ok"] and facts["steps"] and facts["seconds"] > 0 and facts["accuracy"] > 0.9 and facts["address"].startswith("http://localhost:")))
"""


def part_once(run):
    run.check("run_once", ["bash", "-o", "pipefail", "-c", f"./run --once --json | /usr/bin/python3 -c '{SUMMARY}'"], seconds=300)


def part_days(run):
    python_tests(run, "integration", integration_environment(run))


# ---- the long tier -------------------------------------------------------------------------------------------------


def part_asan(run):
    if run.build("asan"):
        run_unit(run, "asan")


def part_fuzz(run):
    targets = sorted(pathlib.Path(name).stem for name in tracked("src") if name.endswith("_fuzz.cc"))
    if not targets:
        run.fail("fuzz", "there are no fuzz targets")
        return
    if not run.build("fuzz", *targets):
        return
    for target in targets:
        program = next((ROOT / "build/fuzz").rglob(target))
        corpus = run.cache / "corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        run.check(f"fuzz_{target}", [program, f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=3000", "-timeout=10",
                                     f"-artifact_prefix={run.logs}/", corpus], seconds=FUZZ_SECONDS + 120)


def part_loops(run):
    """What must work more than once in a row: the whole first run, two of them side by side, the gateway's churn, more seeds."""
    for number in range(LOOPS):
        run.check(f"run_once_{number + 1}", [ROOT / "run", "--once", "--json"], seconds=300)
    run.check("run_once_twice", ["bash", "-c", "./run --once --json & first=$!; ./run --once --json; second=$?; wait $first && exit $second"],
              seconds=600)
    command = ctests("release").get("unit_sim")
    if command:
        run.gtest("sim_more_seeds", command, {"CUBEPLANE_SIM_SEEDS": "500"}, seconds=3600)


MERGE = {"build": part_build, "layers": part_layers, "format": part_format, "docs": part_docs, "unit": part_unit, "quantity": part_quantity,
         "gateway": part_gateway, "once": part_once, "days": part_days, "tidy": part_tidy}
LONG = {"asan": part_asan, "fuzz": part_fuzz, "loops": part_loops}
PART_NAMES = [*MERGE, *LONG]
