#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quarkq against ONNX Runtime on the networks of export_large.py: compare_large.py DIR [--only REGEX] [--record FILE] [--rounds N].

Ratios for each network, time of ONNX Runtime / time of quarkq (above 1 quarkq is faster), same threads, rounds that alternate:
inference  batch 1 of the float model: medians over all runs, as tests/bench/compare_ort.py takes them
calibrate  MinMax of 8 samples: `quarkq calibrate` against onnxruntime.quantization's MinMax calibrator
quantize   A8W8 of 8 samples: `quarkq quantize --no-verify` against quantize_static (Q/DQ, symmetric int8 activations and weights, MinMax)
compared   the same, with quarkq's comparison of the result with the float model on all samples, which quantize_static has none of
The last three are seconds of a whole run that begins with the file: of quarkq's process; of Python's from after its imports on.

A row is recorded when its network is done. Run it on an idle machine.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
from compare_ort import first_sample, machine, quarkq_median, reference_times  # noqa: E402

QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
KINDS = ("inference", "calibrate", "quantize", "compared")
VERBS = {"calibrate": ["calibrate"], "quantize": ["quantize", "--no-verify"], "compared": ["quantize", "--on-collapse", "warn"]}  # random networks collapse
RUN_SECONDS = 2.5  # of each side in a round of inference
LOWEST, MEAN = 0.9, 1.2

# In a process of its own: prints the seconds after the imports.
RUNTIME = """
import glob, logging, sys, time
import numpy, onnx, onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization import calibrate
kind, model, folder, out = sys.argv[1:]
logging.disable(logging.WARNING)
class Samples(quantization.CalibrationDataReader):
    def __init__(self):
        self.feeds = iter([{"input": numpy.load(path)} for path in sorted(glob.glob(folder + "/*.npy"))])
    def get_next(self):
        return next(self.feeds, None)
large = sum(map(__import__("os").path.getsize, glob.glob(model + "*"))) > 1.9e9
start = time.perf_counter()
if kind == "calibrate":
    calibrator = calibrate.create_calibrator(model, augmented_model_path=out, calibrate_method=quantization.CalibrationMethod.MinMax,
                                             use_external_data_format=large, extra_options={"symmetric": True})
    calibrator.collect_data(Samples())
    calibrator.compute_data()
else:
    quantization.quantize_static(model, out, Samples(), quant_format=quantization.QuantFormat.QDQ, activation_type=quantization.QuantType.QInt8,
                                 weight_type=quantization.QuantType.QInt8, calibrate_method=quantization.CalibrationMethod.MinMax,
                                 use_external_data_format=large, extra_options={"ActivationSymmetric": True})
print(time.perf_counter() - start)
"""


def runtime_session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def inference(model, inputs, options):
    """Medians in ms of quarkq and ONNX Runtime."""
    ours, theirs, runs = [], [], None
    with tempfile.TemporaryDirectory() as out:
        for _ in range(options.rounds):
            # A session per round: its idle threads spin and would disturb the other side.
            session = runtime_session(model, options.threads)
            feed = first_sample(session, inputs)
            warm = reference_times(session, feed, 3)
            runs = runs or max(3, min(40, int(RUN_SECONDS * 1000 / warm[-1])))
            theirs += reference_times(session, feed, runs)
            del session
            ours.append(quarkq_median(QUARKQ, model, inputs, options.threads, runs, out))
    return statistics.median(ours), statistics.median(theirs)


def seconds_of(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return time.perf_counter() - start, done.stdout


def whole_run(kind, model, inputs, options):
    """Medians in seconds of quarkq and ONNX Runtime."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for _ in range(options.whole_rounds):
            ours.append(seconds_of([QUARKQ, *VERBS[kind], model, "--config", "a8w8", "--calib", inputs, "-o", os.path.join(folder, "out.onnx"),
                                    "--quiet", "--threads", str(options.threads)])[0])
            theirs.append(float(seconds_of([sys.executable, "-c", RUNTIME, kind, model, inputs, os.path.join(folder, "theirs.onnx")])[1].split()[-1]))
    return statistics.median(ours), statistics.median(theirs)


def bytes_of(model):
    return sum(os.path.getsize(path) for path in (model, model + ".data") if os.path.exists(path))


def measure(kind, name, options):
    model, inputs = os.path.join(options.folder, name + ".onnx"), os.path.join(options.folder, "inputs", name)
    ours, theirs = inference(model, inputs, options) if kind == "inference" else whole_run(kind, model, inputs, options)
    unit = "ms" if kind == "inference" else "s"
    print(f"{name:22} {kind:10} quarkq {ours:9.2f} {unit}  ONNX Runtime {theirs:9.2f} {unit}  ratio {theirs / ours:.2f}", flush=True)
    return {"quarkq_" + unit: round(ours, 3), "onnxruntime_" + unit: round(theirs, 3), "ratio": round(theirs / ours, 3),
            "load": round(os.getloadavg()[0], 2)}


def summary(networks):
    found = {}
    for kind in KINDS:
        ratios = [row[kind]["ratio"] for row in networks.values() if kind in row]
        if ratios:
            found[kind] = {"geometric_mean": round(float(np.exp(np.mean(np.log(ratios)))), 3), "lowest": min(ratios)}
            print(f"{kind:10} geometric mean {found[kind]['geometric_mean']:.2f} (target >= {MEAN}), lowest {min(ratios):.2f} (target >= {LOWEST})")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3, help="of inference")
    parser.add_argument("--whole-rounds", type=int, default=1, help="of the others")
    parser.add_argument("--record", help="a JSON file in which the rows measured are replaced")
    options = parser.parse_args()
    networks = {}
    if options.record and os.path.exists(options.record):
        with open(options.record, encoding="utf-8") as file:
            networks = json.load(file)["networks"]
    names = sorted(file[:-5] for file in os.listdir(options.folder) if file.endswith(".onnx") and re.search(options.only, file[:-5]))
    for name in names:
        row = networks.setdefault(name, {})
        row["bytes"] = bytes_of(os.path.join(options.folder, name + ".onnx"))
        for kind in options.kinds:
            row[kind] = measure(kind, name, options)
            if options.record:
                with open(options.record, "w", encoding="utf-8") as file:
                    json.dump({"machine": machine(), "threads": options.threads, "networks": networks}, file, indent=1)
                    file.write("\n")
    found = summary(networks)
    if options.record:
        with open(options.record, "w", encoding="utf-8") as file:
            json.dump({"machine": machine(), "threads": options.threads, "summary": found, "networks": networks}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
