#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a build costs: build_times.py [--tests] [--touch src/planning/calibrate/FILE.cpp] [--keep FOLDER]

Clones the committed state, builds `quarkq` (what quickstart.sh builds; --tests: everything) from nothing without ccache and prints wall
and CPU time, the slowest translation units, what each library costs, and the time of a build after one file has changed. The
onnx library is taken from build/deps. Other processes of the machine change the wall times, CPU times less.
"""
import argparse
import collections
import glob
import os
import resource
import shutil
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHOWN = 12
TIMER = """#!/bin/sh
exec /usr/bin/env python3 -c '
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "a") as log:
    log.write("%.2f %s\\n" % (used.ru_utime + used.ru_stime, next((sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "-o"), "?")))
sys.exit(code)' {log} "$@"
"""


def run(*command, folder, **options):
    """Wall and CPU seconds."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def clone(folder):
    run("git", "clone", "--quiet", ROOT, folder, folder=ROOT)
    deps = os.path.join(ROOT, "build", "deps")
    if os.path.isdir(deps):
        os.makedirs(os.path.join(folder, "build"))
        shutil.copytree(deps, os.path.join(folder, "build", "deps"), symlinks=True)


def configure(folder, with_tests, log):
    """A launcher in the place of ccache writes the CPU time of each compilation."""
    timer = os.path.join(folder, "build", "timer.sh")
    with open(timer, "w", encoding="utf-8") as file:
        file.write(TIMER.replace("{log}", log))
    os.chmod(timer, 0o755)
    return run("cmake", "--preset", "release", f"-DQUARKQ_BUILD_TESTS={'ON' if with_tests else 'OFF'}", f"-DQUARKQ_CCACHE={timer}", folder=folder)


def library_of(unit):
    return unit.split("/CMakeFiles/")[1].split(".dir/")[0] if "/CMakeFiles/" in unit else unit


def print_units(log):
    rows = []
    with open(log, encoding="utf-8") as file:
        for line in file:
            seconds, unit = line.split(maxsplit=1)
            rows.append((float(seconds), unit.strip()))
    print(f"compiling: {sum(row[0] for row in rows) / 60:.1f} CPU minutes in {len(rows)} units; the slowest:")
    for seconds, unit in sorted(rows, reverse=True)[:SHOWN]:
        print(f"  {seconds:6.1f} s  {unit}")
    libraries = collections.Counter()
    for seconds, unit in rows:
        libraries[library_of(unit)] += seconds
    print("by library:", ", ".join(f"{name} {seconds:.0f} s" for name, seconds in libraries.most_common()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="build everything, tests too")
    parser.add_argument("--touch", default="src/planning/round/*.cpp", help="the file (the first that fits) that changes for the second build")
    parser.add_argument("--keep", help="build here and keep it")
    arguments = parser.parse_args()
    folder = arguments.keep or tempfile.mkdtemp(prefix="quarkq-build-")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    try:
        clone(folder)
        log = os.path.join(folder, "build", "units.log")
        configured = configure(folder, arguments.tests, log)
        print(f"configure: {configured[0]:.0f} s, {configured[1]:.0f} s of CPU")
        target = "all" if arguments.tests else "quarkq"
        jobs = os.environ.get("QUARKQ_JOBS", str(os.cpu_count()))
        wall, cpu = run("ninja", "-C", "build/release", "-j", jobs, target, folder=folder)
        print(f"cold build of {target}: {wall / 60:.1f} min, {cpu / 60:.1f} CPU minutes")
        print_units(log)
        touched = sorted(glob.glob(os.path.join(folder, arguments.touch)))[0]
        with open(touched, "a", encoding="utf-8") as file:
            file.write("// changed\n")
        wall, cpu = run("ninja", "-C", "build/release", "-j", jobs, target, folder=folder)
        print(f"one change ({os.path.relpath(touched, folder)}): {wall:.0f} s, {cpu:.0f} s of CPU")
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
