#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clang-tidy over the project's sources: every finding is an error (.clang-tidy).

    tidy.py [--build build/tidy] [--jobs N] [--all] [--since COMMIT] [--share K/N] [--most N]

--all takes the whole tree (40 minutes on two cores); --since the sources that differ from COMMIT; --share K/N the K-th of N
parts of the tree, which together are all of it, with K `today` another one every day. They add up; --most takes N of what they say.
Needs a build configured without groups of sources (cmake --preset tidy; nothing is compiled). Prints "ok" or "FAIL" lines as test suites do.
"""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWN = ("src/", "tools/", "tests/")
# The build is GCC's: options that only GCC knows (cmake/Warnings.cmake) are no finding.
GCC_ONLY = ("--extra-arg=-Wno-unknown-warning-option",)


def sources(build):
    """Files of the project that the build compiles, relative to the root."""
    with open(os.path.join(ROOT, build, "compile_commands.json")) as file:
        paths = {os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT) for entry in json.load(file)}
    return sorted(path for path in paths if path.startswith(OWN))


def changed_since(commit):
    listed = subprocess.run(["git", "diff", "--name-only", commit], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


def part_of(path, parts):
    return int(hashlib.sha256(path.encode()).hexdigest(), 16) % parts


def chosen(options):
    found, all_sources = set(), sources(options.build)
    if options.all:
        found |= set(all_sources)
    if options.since:
        found |= changed_since(options.since)
    if options.share:
        which, parts = options.share
        found |= {path for path in all_sources if part_of(path, parts) == which % parts}
    mixed = sorted((path for path in all_sources if path in found), key=lambda path: hashlib.sha256(path.encode()).digest())
    return mixed[:options.most]


def findings_in(path, build):
    """Lines of errors, and what clang-tidy said of them."""
    run = subprocess.run(["clang-tidy", "-p", os.path.join(ROOT, build), "--quiet", *GCC_ONLY, path], cwd=ROOT, capture_output=True, text=True)
    errors = re.findall(r"^\S+: error: .*$", run.stdout, re.MULTILINE)
    return run.stdout if errors or run.returncode else ""


def share(text):
    match = re.fullmatch(r"(\d+|today)/([1-9]\d*)", text)
    if not match:
        raise argparse.ArgumentTypeError("expected K/N or today/N")
    which = datetime.date.today().toordinal() if match.group(1) == "today" else int(match.group(1))
    return which, int(match.group(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--share", type=share, metavar="K/N", help="K: a number, or `today`")
    parser.add_argument("--most", type=int, metavar="N")
    options = parser.parse_args()
    if not shutil.which("clang-tidy"):
        print("skip tidy: clang-tidy is not there")
        return 0
    paths, bad = chosen(options), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, said in zip(paths, pool.map(lambda path: findings_in(path, options.build), paths)):
            if said:
                bad += 1
                print(f"{said}\nFAIL tidy.{path}: findings above", flush=True)
    if not bad:
        print(f"ok tidy: {len(paths)} files")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
