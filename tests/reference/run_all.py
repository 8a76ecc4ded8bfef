#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quantizes every recorded case in compat mode and compares with what the reference made of it.

    run_all.py [--set networks|small|own] [--only REGEX] [--rtol R] [--details N] [--write FILE] [--check FILE]

Prints "model case matched/total state" for each case and the sums. state: equal; differs; failed (quarkq wrote nothing); valid,
invalid, refused (the reference failed; is ours, in the default mode, a
model that runs, or refused with a message?). With --check one line says whether a case is worse than in the file.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import onnx

import compare_nodes
import describe
from golden_case import ROOT, cases

QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
# Ranges from histograms carry the executor's rounding further than ranges from extremes.
HISTOGRAM_METHODS = ("Percentile", "Entropy", "Distribution")
HISTOGRAM_RTOL, FLOAT_RTOL = 1e-2, 1e-4


class Outcome:
    def __init__(self, case, state, matched=0, total=0, lines=()):
        self.name = f"{case.model} {case.case}"
        self.state, self.matched, self.total, self.lines = state, matched, total, list(lines)

    def text(self):
        return f"{self.name} {self.matched}/{self.total} {self.state}"


def quantize(case, folder):
    """Returns the path of the result and the last line of what was printed."""
    config, out = os.path.join(folder, "config.json"), os.path.join(folder, "out.onnx")
    with open(config, "w") as file:
        json.dump(case.config, file)
    command = [QUARKQ, "quantize", case.float_model, "--config", config, "--calib", case.samples, "-o", out, "--no-verify", "--quiet",
               "--threads", "1"] + (["--target", "none"] if case.reference_failed else ["--compat", "quark-0.13"])
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = (run.stderr + run.stdout).strip().splitlines()
    return (out if run.returncode == 0 else None), (said[-1] if said else f"exit code {run.returncode}")


def why_invalid(path, case):
    """None when the model can be used: by ONNX Runtime, or by quarkq when it has operators that only quarkq brings."""
    if any(node.domain == "com.amd.quark" for node in onnx.load(path).graph.node):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([QUARKQ, "run", path, "--inputs", case.samples, "--outputs", folder, "--limit", "1", "--quiet"], capture_output=True, text=True)
        return run.stderr.strip() if run.returncode else None
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises plain exceptions of many classes
        return str(error).splitlines()[0][:300]
    return None


def takes_histograms(config):
    text = str(config)
    if "preset" in config and "calibrate_method" not in text:
        with open(os.path.join(ROOT, "configs", "presets", config["preset"].lower() + ".yaml")) as file:
            text += file.read()
    return any(name in text for name in HISTOGRAM_METHODS)


def run_case(case, rtol):
    with tempfile.TemporaryDirectory() as folder:
        out, said = quantize(case, folder)
        if case.reference_failed:
            if out is None:
                return Outcome(case, "refused", lines=[said])
            invalid = why_invalid(out, case)
            return Outcome(case, "invalid" if invalid else "valid", lines=[invalid] if invalid else [])
        if out is None:
            return Outcome(case, "failed", 0, len(case.expected["tensors"]), [said])
        model = onnx.load(out)
        rtol = rtol or (HISTOGRAM_RTOL if takes_histograms(case.config) else FLOAT_RTOL)
        found = describe.describe_all(model) if case.is_small else describe.describe(model)
        lines, matched, ops_equal = describe.compare(found, case.expected, rtol)
        if case.is_small:
            lines += compare_nodes.differences(found, case, rtol)
        total = len(case.expected["tensors"])
        return Outcome(case, "equal" if not lines and ops_equal else "differs", matched, total, lines)


def has_avx512():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return "avx512f" in file.read()


def read_outcomes(path):
    """{case: (whether it is as good as can be, matched tensors)} of a file."""
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return {f"{model} {case}": (state in ("equal", "valid"), int(score.split("/")[0])) for model, case, score, state in rows}


def worse_than(baseline, outcomes):
    """Names of cases that were better in the file `baseline`. Roundings of the executor decide a few zero points at ties: NAME.avx2.txt has the
    cases that are others on processors without AVX-512."""
    before = read_outcomes(baseline)
    without_avx512 = baseline.replace(".txt", ".avx2.txt")
    if os.path.exists(without_avx512) and not has_avx512():
        before |= read_outcomes(without_avx512)
    return [outcome.name for outcome in outcomes
            if outcome.name in before and (outcome.state in ("equal", "valid"), outcome.matched) < before[outcome.name]]


def summary(outcomes):
    states = {}
    for outcome in outcomes:
        states[outcome.state] = states.get(outcome.state, 0) + 1
    cases_text = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f"tensors {sum(o.matched for o in outcomes)}/{sum(o.total for o in outcomes)}, cases: {cases_text}"


def run_cases(options):
    """Outcomes in order; each is printed unless they are only checked."""
    chosen = [case for case in cases(options.set) if re.search(options.only, f"{case.model} {case.case}")]
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda case: run_case(case, options.rtol), chosen):
            outcomes.append(outcome)
            if options.check:
                continue
            print(outcome.text())
            for line in outcome.lines[:options.details]:
                print("   ", line[:400])
    return outcomes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", choices=["networks", "small", "own"], default="networks",
                        help="the networks or the small models of ../shared, or those of own/")
    parser.add_argument("--only", default="")
    parser.add_argument("--rtol", type=float)
    parser.add_argument("--details", type=int, default=0, help="differences shown of each case")
    parser.add_argument("--write", metavar="FILE", help="keep the outcomes")
    parser.add_argument("--check", metavar="FILE", help="fail when a case is worse than there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    outcomes = run_cases(options)
    if options.write:
        with open(options.write, "w") as file:
            file.writelines(outcome.text() + "\n" for outcome in outcomes)
    if not options.check:
        print(summary(outcomes))
        return 0
    name = "reference." + options.set
    worse = worse_than(options.check, outcomes)
    for case in worse:
        print(f"FAIL {name}: {case} is worse than recorded")
    if not worse:
        print(f"ok {name}: {summary(outcomes)}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
