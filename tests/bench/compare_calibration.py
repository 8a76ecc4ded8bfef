#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The calibration phase of `quarkq quantize` against plain ONNX Runtime inference of the same 128 photos, in one run, and its memory.

    compare_calibration.py [--quarkq BIN] [--rounds 5] [--output FILE.json]

efficientnet_lite0_224 and squeezenet1_1, batch 1, same threads, samples read from .npy files by both (ONNX Runtime's are loaded before
the clock starts); medians of interleaved rounds. Targets: MinMax <= 1.25 x inference, every other method <= 1.6 x (stretch 1.25 x);
peak memory with 128 samples within 5 % of that with 16; efficientnet_lite0_224 at most 1/4 of the reference's 1,005 MB.
Needs: numpy, onnxruntime, pillow, the shared models and photos beside the repository. Run it on an idle machine.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime

from compare_ort import ROOT, SHARED, machine, write_report
from photos import make_samples

MODELS = ["efficientnet_lite0_224", "squeezenet1_1"]
METHODS = {"MinMax": "CalibrationMethod.MinMax", "NonOverflow": "PowerOfTwoMethod.NonOverflow", "MinMSE": "PowerOfTwoMethod.MinMSE",
           "Percentile": "CalibrationMethod.Percentile", "LayerWisePercentile": "LayerWiseMethod.LayerWisePercentile",
           "Entropy": "CalibrationMethod.Entropy", "Distribution": "CalibrationMethod.Distribution"}
REFERENCE_MB = 1005  # of the reference, efficientnet_lite0_224


class Inference:
    def __init__(self, model, folder, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(os.path.join(SHARED, "models", model + ".onnx"), options, providers=["CPUExecutionProvider"])
        self.name = self.session.get_inputs()[0].name
        self.samples = [np.load(path) for path in sorted(glob.glob(folder + "/*.npy"))]

    def seconds(self):
        self.session.run(None, {self.name: self.samples[0]})
        start = time.perf_counter()
        for sample in self.samples:
            self.session.run(None, {self.name: sample})
        return time.perf_counter() - start


def calibrate(binary, model, method, folder, threads, work, extra=()):
    """Seconds of the calibration phase, and the peak memory of the whole run in MB."""
    report = os.path.join(work, "report.json")
    command = [binary, "quantize", os.path.join(SHARED, "models", model + ".onnx"), "--config", "S8S8_AAWS", "--set",
               f"calibrate_method={METHODS[method]}", "--calib", folder, "-o", os.path.join(work, "out.onnx"), "--quiet", "--no-verify",
               "--threads", str(threads), "--report", report, *extra]
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} failed")
    with open(report, encoding="utf-8") as file:
        phases = json.load(file)["phases"]
    return next(p["seconds"] for p in phases if p["name"] == "calibrate-activations"), usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--compat", action="store_true", help="also time the reference's histograms (--compat quark-0.13)")
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "threads": args.threads, "samples": 128, "models": {}}
    modes = {"": [], **({"-quark": ["--compat", "quark-0.13"]} if args.compat else {})}
    for model in MODELS:
        with tempfile.TemporaryDirectory() as work:
            folder, few = os.path.join(work, "all"), os.path.join(work, "few")
            os.mkdir(folder)
            os.mkdir(few)
            make_samples(model, folder)
            for path in sorted(glob.glob(folder + "/*.npy"))[:16]:
                shutil.copy(path, few)
            inference = Inference(model, folder, args.threads)
            plain, ours, memory = [], {}, {}
            for _ in range(args.rounds):
                plain.append(inference.seconds())
                for method in METHODS:
                    for suffix, extra in modes.items():
                        seconds, peak = calibrate(args.quarkq, model, method, folder, args.threads, work, extra)
                        ours.setdefault(method + suffix, []).append(seconds)
                        memory.setdefault(method + suffix, []).append(peak)
            base = statistics.median(plain)
            result = {"inference_seconds": base, "methods": {}}
            print(f"{model}: ONNX Runtime inference of 128 samples {base:.3f} s")
            for method, times in ours.items():
                seconds, peak = statistics.median(times), max(memory[method])
                plain_method, extra = (method[:-6], modes["-quark"]) if method.endswith("-quark") else (method, [])
                peak_few = max(calibrate(args.quarkq, model, plain_method, few, args.threads, work, extra)[1] for _ in range(3))
                result["methods"][method] = {"seconds": seconds, "ratio": seconds / base, "peak_mb": peak, "peak_mb_16_samples": peak_few}
                target = 1.25 if plain_method in ("MinMax", "NonOverflow") else 1.6
                print(f"  {method:20} {seconds:.3f} s, {seconds / base:.2f} x inference (target <= {target}); peak {peak:.0f} MB, "
                      f"{peak_few:.0f} MB with 16 samples ({100 * (peak / peak_few - 1):+.1f} %)")
            report["models"][model] = result
    peak = max(m["peak_mb"] for m in report["models"][MODELS[0]]["methods"].values())
    report["load_after"] = os.getloadavg()
    print(f"{MODELS[0]}: peak {peak:.0f} MB, {peak / REFERENCE_MB:.2f} of the reference's {REFERENCE_MB} MB (target <= 0.25)")
    print(f"load {report['machine']['load'][0]:.2f} before, {report['load_after'][0]:.2f} after")
    write_report(args.output, report)


if __name__ == "__main__":
    main()
