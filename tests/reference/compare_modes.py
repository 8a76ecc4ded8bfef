#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Default mode beside compat mode: mean cosine of float and quantized outputs over the evaluation samples, model by model.

    compare_modes.py [--only REGEX] [--write FILE.md] [--check]

Both models run in quarkq's executor, which also has the operators of com.amd.quark. Exit status 1 when the default mode is lower by
more than 0.002 (0.02 where compat mode is below 0.95). With --check one "ok" or "FAIL" line a model and case.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from golden_case import GOLDEN, cases
from run_all import QUARKQ, has_avx512

CASES = ("XINT8", "VINT8", "A8W8", "A16W8", "BF16", "BFP16")
# The float outputs are almost zero on the samples, so that roundings decide: compat mode has 0.2267 without AVX-512, 0.0012 with it, the reference 0.0000.
LOWER_WITHOUT_AVX512 = {("ppocrv3_det", "A8W8")}


def run(arguments):
    return subprocess.run([QUARKQ, *arguments, "--quiet", "--threads", "1"], capture_output=True, text=True)


def outputs(model, samples, folder):
    """{relative path: array} of the model over `samples`; None when it does not run."""
    if run(["run", model, "--inputs", samples, "--outputs", folder]).returncode:
        return None
    files = [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): np.load(path) for path in files}


def cosine(a, b):
    a, b = a.astype(np.float64).reshape(-1), b.astype(np.float64).reshape(-1)
    if a.shape != b.shape or not np.isfinite(b).all():
        return 0.0
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    return 1.0 if np.array_equal(a, b) else float(a @ b / norm) if norm else 0.0


def mean_cosine(float_outputs, quantized):
    floats = [name for name, array in float_outputs.items() if array.dtype.kind == "f"]
    return float(np.mean([cosine(float_outputs[name], quantized[name]) for name in floats])) if quantized else None


def mode_cosine(case, compat, float_outputs, samples, folder):
    config, out = os.path.join(folder, "config.json"), os.path.join(folder, f"out{compat}.onnx")
    with open(config, "w") as file:
        json.dump(case.config, file)
    extra = ["--compat", "quark-0.13", "--no-verify"] if compat else []  # the default as users get it, with its rescue
    if run(["quantize", case.float_model, "--config", config, "--calib", case.samples, "-o", out, *extra]).returncode:
        return None
    return mean_cosine(float_outputs, outputs(out, samples, os.path.join(folder, f"results{compat}")))


def compare(case):
    samples = os.path.join(GOLDEN, "inputs", case.model, "eval")
    with tempfile.TemporaryDirectory() as folder:
        float_outputs = outputs(case.float_model, samples, os.path.join(folder, "float"))
        found = [mode_cosine(case, compat, float_outputs, samples, folder) for compat in (True, False)]
    recorded = [entry["cosine"] for entry in case.expected.get("eval", {}).values() if isinstance(entry, dict) and "cosine" in entry]
    return float(np.mean(recorded)) if recorded else None, *found


def is_lower(compat, default):
    if default is None:
        return True
    return compat is not None and default < compat - (0.002 if compat >= 0.95 else 0.02)


def cell(value):
    return "-" if value is None else f"{value:.4f}"


def row(case, values):
    mark = " **lower**" if is_lower(*values[1:]) else ""
    return f"| {case.model} | {case.case} | {' | '.join(map(cell, values))}{mark} |"


def is_finding(case, values):
    return is_lower(*values[1:]) and ((case.model, case.case) not in LOWER_WITHOUT_AVX512 or has_avx512())


def check_line(case, values):
    state = "FAIL" if is_finding(case, values) else "ok"
    return f"{state} modes.{case.model}.{case.case}: compat {cell(values[1])}, default {cell(values[2])}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--write")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    chosen = [case for case in cases("networks") if case.case in CASES and re.search(options.only, f"{case.model} {case.case}")]
    lines, lower = ["| model | case | reference | compat | default |", "|---|---|---|---|---|"], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, values in zip(chosen, pool.map(compare, chosen)):
            lines.append(row(case, values))
            print(check_line(case, values) if options.check else lines[-1], flush=True)
            lower += [f"{case.model} {case.case}"] if is_finding(case, values) else []
    if options.write:
        with open(options.write, "w") as file:
            file.write("\n".join(lines) + "\n")
    print(f"{len(chosen)} compared, {len(lower)} lower in the default mode: {', '.join(lower)}")
    return 1 if lower else 0


if __name__ == "__main__":
    sys.exit(main())
