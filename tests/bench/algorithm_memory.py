#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peak memory and time of the algorithms that compute with a quantized model: analyze, AdaRound, mixed precision, bias correction, GPTQ.

    algorithm_memory.py [--quarkq BIN] [--threads 2] [--compare FILE.json] [--output FILE.json] [--only REGEX]

Each run is a process of its own. Samples are made up (only their number and shape matter here). With --compare the figures of another
build stand beside these. Needs: numpy, ../shared. Times mean something on an idle machine only.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(os.path.dirname(ROOT), "shared", "models")
# Name -> verb, model, shape of a sample, samples, arguments.
RUNS = {
    "analyze XINT8": ("analyze", "mobilenetv1_025_vww_96", (1, 3, 96, 96), 8, ["--config", "XINT8", "--samples", "8"]),
    "analyze A8W8": ("analyze", "efficientnet_lite0_224", (1, 3, 224, 224), 4, ["--config", "A8W8"]),
    "AdaRound XINT8": ("quantize", "efficientnet_lite0_224", (1, 3, 224, 224), 32,
                       ["--config", "XINT8_ADAROUND", "--set", "FastFinetune.NumIterations=5", "--no-resume", "--no-verify"]),
    "AdaQuant A8W8": ("quantize", "efficientnet_lite0_224", (1, 3, 224, 224), 32,
                      ["--config", "A8W8_ADAQUANT", "--set", "FastFinetune.NumIterations=5", "--no-resume", "--no-verify"]),
    "bias correction A8W8": ("quantize", "efficientnet_lite0_224", (1, 3, 224, 224), 8, ["--config", "A8W8", "--set", "BiasCorrection=true", "--no-verify"]),
    "mixed precision A8W8": ("quantize", "mobilenetv1_025_vww_96", (1, 3, 96, 96), 8,
                             ["--config", "A8W8", "--set", "include_auto_mp=true", "--set",
                              "AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: Int16Spec}, weight: {spec: Int16Spec}}}", "--no-verify"]),
}
# A child of its own: the peak that the system reports of a process is at least that of the one it was forked from.
MEASURE = "import resource, subprocess, sys, time; start = time.monotonic(); subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
          "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, time.monotonic() - start)"


def measure(options, run, folder):
    """{peak_mb, seconds} of one process."""
    verb, model, shape, samples, arguments = run
    calib, generator = os.path.join(folder, "calib"), np.random.default_rng(7)
    os.makedirs(calib)
    for i in range(samples):
        np.save(os.path.join(calib, f"{i:03}.npy"), generator.standard_normal(shape).astype(np.float32))
    command = [options.quarkq, verb, os.path.join(MODELS, model + ".onnx"), "--calib", calib, "--quiet", "--threads", str(options.threads), *arguments]
    command += ["-o", os.path.join(folder, "out.onnx")] if verb == "quantize" else []
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True)
    kilobytes, seconds = done.stdout.split()
    return {"peak_mb": round(int(kilobytes) / 1024, 1), "seconds": round(float(seconds), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compare")
    parser.add_argument("--output")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    before, found = {}, {}
    if options.compare:
        with open(options.compare) as file:
            before = json.load(file)
    for name, run in RUNS.items():
        if not re.search(options.only, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[name] = measure(options, run, folder)
        earlier = f" (before: {before[name]['peak_mb']:.1f} MB, {before[name]['seconds']:.2f} s)" if name in before else ""
        print(f"{name:22} {found[name]['peak_mb']:8.1f} MB {found[name]['seconds']:8.2f} s{earlier}", flush=True)
    if options.output:
        with open(options.output, "w") as file:
            json.dump(found, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
