#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Float inference of quarkq against ONNX Runtime with its default optimizations, in one run.

    compare_ort.py [--quarkq BIN] [--threads N] [--rounds N] [--output FILE.json] [--models NAME...]

Batch 1, same threads, interleaved rounds; the figure of a model is the median over all runs of all rounds. Prints the ratio
(ONNX Runtime's time / quarkq's: above 1 quarkq is faster) per model and the geometric mean, with the machine's load.
Needs: numpy, onnxruntime, the shared models and inputs beside the repository. Run it on an idle machine.
"""
import argparse
import glob
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
MODELS = ["squeezenet1_1", "mobilenetv1_025_vww_96", "resnet8_cifar10", "superres_x3", "efficientnet_lite0_224",
          "ultraface_rfb_320", "nanodet_m_416"]


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(), "load": os.getloadavg(),
            "onnxruntime": onnxruntime.__version__}


def write_report(path, report):
    if path:
        with open(path, "w") as file:
            json.dump(report, file, indent=1)


def reference_times(session, feed, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, feed)
        times.append(1e3 * (time.perf_counter() - start))
    return times


def quarkq_median(binary, model, folder, threads, runs, out):
    command = [binary, "run", model, "--inputs", folder, "--outputs", out, "--limit", "1", "--repeat", str(runs), "--json",
               "--threads", str(threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40, help="runs per round")
    parser.add_argument("--output")
    parser.add_argument("--models", nargs="*", default=MODELS)
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.log_severity_level = 3
    report = {"machine": machine(), "threads": args.threads, "models": {}}
    ratios = []
    for name in args.models:
        model = os.path.join(SHARED, "models", name + ".onnx")
        folder = os.path.join(SHARED, "golden/inputs", name, "eval")
        sample = sorted(glob.glob(folder + "/*.npy"))[0]
        ours, theirs = [], []
        with tempfile.TemporaryDirectory() as out:
            for _ in range(args.rounds):
                # A session per round: its idle threads spin and would disturb the other side.
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                feed = {session.get_inputs()[0].name: np.load(sample)}
                reference_times(session, feed, 5)
                theirs += reference_times(session, feed, args.runs)
                del session
                ours.append(quarkq_median(args.quarkq, model, folder, args.threads, args.runs, out))
        mine, reference = statistics.median(ours), statistics.median(theirs)
        ratios.append(reference / mine)
        report["models"][name] = {"quarkq_ms": mine, "onnxruntime_ms": reference, "ratio": reference / mine}
        print(f"{name:28s} quarkq {mine:8.3f} ms   onnxruntime {reference:8.3f} ms   ratio {reference / mine:.2f}", flush=True)
    report["geometric_mean"] = float(np.exp(np.mean(np.log(ratios))))
    report["load_after"] = os.getloadavg()
    print(f"geometric mean {report['geometric_mean']:.3f} (target >= 0.9); load {report['machine']['load'][0]:.2f} before, "
          f"{report['load_after'][0]:.2f} after")
    write_report(args.output, report)


if __name__ == "__main__":
    main()
