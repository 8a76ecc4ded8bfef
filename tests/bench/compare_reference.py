#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Wall time and peak memory of `quarkq quantize` and of the reference on the same samples; compare_reference.sh prepares it.

    compare_reference.py [--samples 128] [--configs XINT8 ...] [--models NAME ...] [--output FILE.json]

Each is a fresh process, timed as a whole. The reference's time in quantize_model() alone, without its imports, is reported beside it.
Targets: XINT8, VINT8 20 x; A8W8, A16W8, BF16, BFP16 10 x (the last two without verification); peak memory 1/4.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from compare_ort import SHARED, machine, write_report
from photos import make_samples
from reference_samples import READER

TARGETS = {"XINT8": 20, "VINT8": 20, "A8W8": 10, "A16W8": 10, "BF16": 10, "BFP16": 10}
UNVERIFIED = ("BF16", "BFP16")

REFERENCE = READER + """
model, folder, preset, out = sys.argv[1:5]
samples = Samples(model, folder)
config = Config(global_quant_config=get_default_config(preset))
start = time.perf_counter()
ModelQuantizer(config).quantize_model(model, out, samples)
seconds = time.perf_counter() - start
print("RESULT", seconds)
"""


def timed(command):
    """Seconds and peak memory (MB) of a process, and what it printed."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=tempfile.gettempdir())  # the reference leaves files where it runs
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    if status:
        sys.exit(f"{' '.join(command[:4])} failed:\n{text[-2000:]}")
    return seconds, usage.ru_maxrss / 1024, text


def reference(python, model, folder, preset, out):
    if os.path.exists(out):
        os.remove(out)
    seconds, memory, text = timed([python, "-c", REFERENCE, model, folder, preset, out])
    if not os.path.exists(out):  # it logs its errors and continues
        sys.exit(f"the reference wrote no model:\n{text[-2000:]}")
    return seconds, float(text.split("RESULT")[-1].split()[0]), memory


def ours(binary, model, folder, preset, out, verify):
    # The reference repairs nothing, so the same work is timed: tests/accuracy/run.py has the times with the rescue.
    command = [binary, "quantize", model, "--config", preset, "--calib", folder, "-o", out, "--on-collapse", "warn", "--quiet"]
    seconds, memory, _ = timed(command + ([] if verify else ["--no-verify"]))
    return [seconds, memory]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--quarkq", required=True, type=os.path.abspath)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--configs", nargs="*", default=list(TARGETS))
    parser.add_argument("--models", nargs="*", default=["efficientnet_lite0_224", "squeezenet1_1"])
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "samples": args.samples, "runs": []}
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            make_samples(name, folder)
            for extra in sorted(os.listdir(folder))[args.samples:]:
                os.remove(os.path.join(folder, extra))
            for preset in args.configs:
                model, out = os.path.join(SHARED, "models", name + ".onnx"), os.path.join(tempfile.gettempdir(), "quantized.onnx")
                own = ours(args.quarkq, model, folder, preset, out, preset not in UNVERIFIED)
                verified = ours(args.quarkq, model, folder, preset, out, True) if preset in UNVERIFIED else own
                seconds, call_seconds, memory = reference(args.python, model, folder, preset, out)
                run = {"model": name, "preset": preset, "seconds": own[0], "seconds_verified": verified[0], "reference_seconds": seconds,
                       "reference_call_seconds": call_seconds, "faster": seconds / own[0], "faster_than_call": call_seconds / own[0],
                       "target": TARGETS[preset], "mb": own[1], "reference_mb": memory, "memory": own[1] / memory}
                report["runs"].append(run)
                print(f"{name} {preset}: {own[0]:.2f} s ({verified[0]:.2f} verified) against {seconds:.1f} s ({call_seconds:.1f} without imports): "
                      f"{run['faster']:.1f} x ({run['faster_than_call']:.1f} x; target {run['target']}); "
                      f"{own[1]:.0f} of {memory:.0f} MB = {run['memory']:.2f} (target 0.25)", flush=True)
    report["load_after"] = os.getloadavg()
    write_report(args.output, report)


if __name__ == "__main__":
    main()
