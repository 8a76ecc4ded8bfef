#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fingerprints of every model that quarkq writes: taken before a change to the code, compared after it.

    written_bytes.py record FILE  [--quarkq BIN] [--only REGEX] [--sample N] [--jobs N]
    written_bytes.py compare FILE [--quarkq BIN] [--only REGEX] [--sample N] [--jobs N]

A line is "set model case mode" and, after a tab, the fingerprint: sha256 over all files of the result, or "exit N" when nothing was
written. The sets are those of written_bytes_cases.py. `record` adds what FILE does not have yet, so it may be stopped. The result
depends on the machine's instruction set, so FILE belongs beside the build, not into the repository. --only selects by "set model case
mode"; --sample takes N cases of each set, always the same. `compare` prints what changed, set by set, and ends with status 1 when
something did.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from golden_case import ROOT
from written_bytes_cases import all_cases

TIMEOUT_SECONDS = 1200


def fingerprint(folder):
    """One hash over names and contents of everything in `folder`."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        digest.update(name.encode() + b"\0")
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def run_case(quarkq, case):
    with tempfile.TemporaryDirectory() as folder:
        config, out = os.path.join(folder, "config.json"), os.path.join(folder, "out")
        os.mkdir(out)
        with open(config, "w") as file:
            json.dump(case.config, file)
        settings = [word for setting in case.settings for word in ("--set", setting)]
        command = [quarkq, "quantize", case.float_model, "--config", config, "--calib", case.samples, "-o", os.path.join(out, "out.onnx"),
                   "--no-verify", "--no-resume", "--quiet", "--threads", "1", "--isa", "native", *settings]
        command += ["--compat", "quark-0.13"] if case.compat else ["--target", "none"]
        # Options such as SaveTensorHistFig write below the working directory.
        try:
            run = subprocess.run(command, capture_output=True, cwd=folder, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return "timeout"
        return fingerprint(out) if run.returncode == 0 else f"exit {run.returncode}"


def chosen_cases(options, known):
    """In an order that mixes the sets, so that a recording that is still going on is a sample of all of them. --sample takes the
    first of each set, which are the same every time."""
    by_set = {}
    for case in sorted(all_cases(), key=lambda case: hashlib.sha256(case.name.encode()).digest()):
        by_set.setdefault(case.set, []).append(case)
    ranked = [(rank / len(members), case) for members in by_set.values() for rank, case in enumerate(members[:options.sample or len(members)])]
    return [case for _, case in sorted(ranked, key=lambda pair: (pair[0], pair[1].name)) if re.search(options.only, case.name) and known(case)]


def run_cases(options, known):
    """(case, its fingerprint) in order; `known` says which cases are wanted."""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        cases = chosen_cases(options, known)
        yield from zip(cases, pool.map(lambda case: run_case(options.quarkq, case), cases))


def read_record(path):
    with open(path) as file:
        return dict(line.rstrip("\n").rsplit("\t", 1) for line in file)


def record(options):
    """Adds what FILE does not have yet."""
    before, count = read_record(options.file) if os.path.exists(options.file) else {}, 0
    with open(options.file, "a") as file:
        for case, found in run_cases(options, lambda case: case.name not in before):
            file.write(f"{case.name}\t{found}\n")
            file.flush()
            count += 1
    print(f"{count} recorded, {len(before)} were there")
    return 0


def compare(options):
    before = read_record(options.file)
    equal, changed = {}, {}
    for case, found in run_cases(options, lambda case: case.name in before):
        if before[case.name] == found:
            equal[case.set] = equal.get(case.set, 0) + 1
        else:
            changed.setdefault(case.set, []).append(f"{case.name}: {before[case.name][:16]} -> {found[:16]}")
    for name in sorted({*equal, *changed}):
        print(f"{name}: {equal.get(name, 0)} equal, {len(changed.get(name, []))} changed")
        print("".join(f"  {line}\n" for line in changed.get(name, [])), end="")
    count = sum(map(len, changed.values()))
    print(f"{sum(equal.values())} equal, {count} changed")
    return 1 if count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file")
    parser.add_argument("--quarkq", default=os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq")))
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.quarkq = os.path.abspath(options.quarkq)
    options.file = os.path.abspath(options.file)
    start = time.monotonic()
    status = record(options) if options.action == "record" else compare(options)
    print(f"{time.monotonic() - start:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
