#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inference of quarkq against ONNX Runtime with its default optimizations, in one run: time and memory.

    compare_ort.py [--quarkq BIN] [--threads N] [--isa NAME] [--rounds N] [--output FILE.json] [--models NAME...]

Batch 1, same threads, interleaved rounds; the figure of a model is the median over all runs of all rounds. Prints the ratio
(ONNX Runtime's time / quarkq's: above 1 quarkq is faster) per model and the geometric mean, with the machine's load.
Memory is the peak resident size of a process of its own that runs the model: `quarkq run`, and a Python that imports numpy
and onnxruntime; of the latter also the part that came after the imports.
--isa limits quarkq only: ONNX Runtime always uses the best set of the machine, so the ratio is a lower bound of that on a machine
without the sets above NAME.
Needs: numpy, onnxruntime, the shared models and inputs beside the repository. Run it on an idle machine.
"""
import argparse
import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
MODELS = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(SHARED, "models/*.onnx")))


def first_sample(session, folder):
    """Name -> array of the first sample: FOLDER/*.npy of a model with one input, FOLDER/<input>/*.npy of one with more."""
    names = [entry.name for entry in session.get_inputs()]
    if len(names) == 1:
        return {names[0]: np.load(sorted(glob.glob(folder + "/*.npy"))[0])}
    return {name: np.load(sorted(glob.glob(os.path.join(folder, name, "*.npy")))[0]) for name in names}


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


MEMORY_SCRIPT = """
import sys, glob, os, resource
import numpy as np, onnxruntime
sys.path.insert(0, sys.argv[1])
import compare_ort
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 1024
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[3], options, providers=["CPUExecutionProvider"])
feed = compare_ort.first_sample(session, sys.argv[4])
for _ in range(5):
    session.run(None, feed)
# Not ru_maxrss: a child inherits that of the process it was forked from.
after = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(after, after - before)
"""


def reference_memory(model, folder, threads):
    """Peak resident MB of a process with ONNX Runtime, and the part that came after its imports."""
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, "-c", MEMORY_SCRIPT, here, str(threads), model, folder], check=True,
                          capture_output=True, text=True)
    return [int(word) / 1024 for word in done.stdout.split()]


def quarkq_memory(binary, model, folder, threads, out):
    """Peak resident MB of `quarkq run`."""
    command = [binary, "run", model, "--inputs", folder, "--outputs", out, "--limit", "1", "--repeat", "5", "--quiet",
               "--threads", str(threads)]
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); " \
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", script] + command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def quarkq_median(binary, model, folder, threads, runs, out, isa="native"):
    command = [binary, "run", model, "--inputs", folder, "--outputs", out, "--limit", "1", "--repeat", str(runs), "--json",
               "--threads", str(threads), "--isa", isa]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["median_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--isa", default="native", help="instruction set of quarkq: sse41, avx2, avx512 or native")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40, help="runs per round")
    parser.add_argument("--output")
    parser.add_argument("--models", nargs="*", default=MODELS)
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.log_severity_level = 3
    report = {"machine": machine(), "threads": args.threads, "isa": args.isa, "models": {}}
    ratios = []
    for name in args.models:
        model = os.path.join(SHARED, "models", name + ".onnx")
        folder = os.path.join(SHARED, "golden/inputs", name, "eval")
        ours, theirs = [], []
        with tempfile.TemporaryDirectory() as out:
            for _ in range(args.rounds):
                # A session per round: its idle threads spin and would disturb the other side.
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                feed = first_sample(session, folder)
                reference_times(session, feed, 5)
                theirs += reference_times(session, feed, args.runs)
                del session
                ours.append(quarkq_median(args.quarkq, model, folder, args.threads, args.runs, out, args.isa))
            my_memory = quarkq_memory(args.quarkq, model, folder, args.threads, out)
        their_memory, their_growth = reference_memory(model, folder, args.threads)
        mine, reference = statistics.median(ours), statistics.median(theirs)
        ratios.append(reference / mine)
        report["models"][name] = {"quarkq_ms": mine, "onnxruntime_ms": reference, "ratio": reference / mine,
                                  "quarkq_peak_mb": my_memory, "onnxruntime_peak_mb": their_memory,
                                  "onnxruntime_growth_mb": their_growth}
        print(f"{name:26s} quarkq {mine:8.3f} ms  onnxruntime {reference:8.3f} ms  ratio {reference / mine:.2f}   "
              f"memory {my_memory:6.1f} MB, onnxruntime {their_memory:6.1f} MB ({their_growth:.1f} after its imports)", flush=True)
    report["geometric_mean"] = float(np.exp(np.mean(np.log(ratios))))
    report["load_after"] = os.getloadavg()
    memory = max(entry["quarkq_peak_mb"] / entry["onnxruntime_peak_mb"] for entry in report["models"].values())
    print(f"memory: at most {memory:.2f} of ONNX Runtime's process (target <= 1.0)")
    print(f"geometric mean {report['geometric_mean']:.3f} (target >= 1.0, none below 0.7: the lowest is {min(ratios):.2f}); load {report['machine']['load'][0]:.2f} before, "
          f"{report['load_after'][0]:.2f} after")
    write_report(args.output, report)


if __name__ == "__main__":
    main()
