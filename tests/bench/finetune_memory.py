#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peak memory of a finetuning run against the budget it is given, and that no byte of the result depends on it.

    finetune_memory.py [--quarkq BIN] [--preset A8W8_ADAROUND] [--iterations 20] [--budgets 256 512 1024 0] [--output FILE.json]

efficientnet_lite0_224 with 128 photos. A budget is in MB (FastFinetune.MemoryBudgetMB); 0 is the default, a quarter of the machine's
memory. Ends with status 1 when a peak is above its budget or results differ. Needs: numpy, onnxruntime, pillow, ../shared.
"""
import argparse
import hashlib
import os
import subprocess
import sys
import tempfile

from compare_ort import ROOT, SHARED, machine, write_report
from photos import make_samples

MODEL = "efficientnet_lite0_224"


def quantize(args, budget, folder, out):
    """Peak resident bytes and seconds of the whole process, and the hash of the result."""
    command = [args.quarkq, "quantize", os.path.join(SHARED, "models", MODEL + ".onnx"), "--config", args.preset, "--calib", folder, "-o", out,
               "--quiet", "--no-resume", "--set", f"FastFinetune.NumIterations={args.iterations}", "--set",
               f"FastFinetune.MemoryBudgetMB={budget}"]
    # A child of its own: the peak that the system reports of a process is at least that of the one it was forked from.
    script = "import resource, subprocess, sys, time; start = time.monotonic(); subprocess.run(sys.argv[1:], check=True); " \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, time.monotonic() - start)"
    done = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
    kilobytes, seconds = done.stdout.split()
    with open(out, "rb") as file:
        return 1024 * int(kilobytes), float(seconds), hashlib.sha256(file.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--preset", default="A8W8_ADAROUND")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--budgets", type=int, nargs="*", default=[256, 512, 1024, 0])
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "model": MODEL, "preset": args.preset, "iterations": args.iterations, "runs": []}
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "calib")
        os.makedirs(folder)
        make_samples(MODEL, folder)
        for budget in args.budgets:
            peak, seconds, content = quantize(args, budget, folder, os.path.join(work, "out.onnx"))
            allowed = budget * 1e6 or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 4
            report["runs"].append({"budget_mb": budget, "allowed_mb": allowed / 1e6, "peak_mb": peak / 1e6, "seconds": seconds, "sha256": content})
            print(f"budget {budget or 'default':>7}: peak {peak / 1e6:6.0f} MB of {allowed / 1e6:.0f}, {seconds:.1f} s", flush=True)
    write_report(args.output, report)
    over = [run["budget_mb"] for run in report["runs"] if run["peak_mb"] > run["allowed_mb"]]
    same = len({run["sha256"] for run in report["runs"]}) == 1
    print(f"above their budget: {over or 'none'}; results {'are the same' if same else 'DIFFER'}")
    return 1 if over or not same else 0


if __name__ == "__main__":
    sys.exit(main())
