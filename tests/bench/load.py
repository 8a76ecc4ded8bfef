#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manners on a busy machine: load.py [--models A,B] [--busy 0,2,4,8] [--threads 1,2,auto] [--seconds S] [--rounds N] [--quota] [--out FILE.json]

Wall time of `quarkq quantize --config xint8` beside busy processes (endless loops of the same priority), and of ONNX Runtime over the
same samples in the same run: medians over rounds in which the settings take turns. fair: the time that one thread takes alone, divided
by the share of a core that the scheduler owes one thread beside the busy processes; more threads may be quicker than that. worst: the
slower one of several threads and auto beside the quickest setting, 1.3 is wanted at most (one thread alone may always be slower). --quota: also in a control group that grants one processor (cgroup v1 or v2, needs root).
Each model gets as many samples as one thread alone needs about --seconds for: a run as short as the scheduler's slices measures these.
Other processes of the machine change every figure; the load before the run is printed.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from compare_ort import ROOT, SHARED

QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
MODELS = ["mobilenetv1_025_vww_96", "resnet8_cifar10", "squeezenet1_1", "efficientnet_lite0_224"]
TIMEOUT_SECONDS = 600
ORT = """
import sys, time, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
samples = [numpy.load(path) for path in sys.argv[3:]]
name = session.get_inputs()[0].name
start = time.perf_counter()
for sample in samples:
    session.run(None, {name: sample})
print(time.perf_counter() - start)
"""


@contextlib.contextmanager
def busy(count):
    """`count` processes that never wait."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    time.sleep(0.3 if loops else 0)
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def make_samples(model, folder, count):
    """Noise in the shape of the model's input: only time is looked at."""
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    dims = next(value for value in graph.input if value.name not in stored).type.tensor_type.shape.dim
    shape = [dim.dim_value if dim.dim_value > 0 else 1 for dim in dims]
    rng = np.random.default_rng(1)
    paths = [os.path.join(folder, f"{i:03}.npy") for i in range(count)]
    for path in paths:
        np.save(path, rng.normal(0, 1, shape).astype(np.float32))
    return paths


def quantize_seconds(model, folder, threads, prefix=()):
    command = [*prefix, QUARKQ, "quantize", "--config", "xint8", "--calib", folder, "--threads", threads, "--no-verify", "--quiet",
               "-o", os.path.join(folder, "out", "q.onnx"), model]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_SECONDS)
    return time.perf_counter() - start


def ort_seconds(model, samples, threads):
    command = [sys.executable, "-c", ORT, model, threads, *samples]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_SECONDS).stdout)


@contextlib.contextmanager
def quota():
    """A command prefix that runs what follows in a group with one processor; None when groups cannot be made here."""
    for mount, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}),
                         ("/sys/fs/cgroup", {"cpu.max": "100000 100000"})):
        folder = os.path.join(mount, "quarkq-load-bench")
        try:
            os.makedirs(folder, exist_ok=True)
            for name, value in files.items():
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write(value)
        except OSError:
            continue
        try:
            yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs; exec "$@"', "sh"]
        finally:
            os.rmdir(folder)
        return
    yield None


def fair_seconds(alone, count):
    """What one thread takes when `count` loops share the cores with it."""
    cores = len(os.sched_getaffinity(0))
    return alone / min(1.0, cores / (count + 1))


def medians(arguments, settings, measured):
    """Setting -> median seconds."""
    rounds = [{setting: measured(setting) for setting in settings} for _ in range(arguments.rounds)]
    return {setting: statistics.median(one[setting] for one in rounds) for setting in settings}


def samples_for(seconds, path):
    """How many samples one thread alone quantizes in about `seconds`; few samples take little more than the start of the program."""
    count, taken = 32, 0.0
    while taken < 0.8 * seconds:
        count = round(count * min(seconds / taken, 8)) if taken else count
        with tempfile.TemporaryDirectory() as folder:
            make_samples(path, folder, count)
            os.mkdir(os.path.join(folder, "out"))
            taken = quantize_seconds(path, folder, "1")
    return count


def worst(times):
    return max(seconds for threads, seconds in times.items() if threads != "1") / min(times.values())


def measure(model, arguments, rows):
    path = os.path.join(SHARED, "models", model + ".onnx")
    with tempfile.TemporaryDirectory() as folder:
        samples = make_samples(path, folder, samples_for(arguments.seconds, path))
        os.mkdir(os.path.join(folder, "out"))
        alone = min(quantize_seconds(path, folder, "1") for _ in range(2))
        for count in arguments.busy:
            with busy(count):
                times = medians(arguments, arguments.threads, lambda threads: quantize_seconds(path, folder, threads))
                ort = medians(arguments, ("1", "2"), lambda threads: ort_seconds(path, samples, threads))
            rows.append({"model": model, "samples": len(samples), "busy": count, "seconds": times, "ort_seconds": ort, "fair": fair_seconds(alone, count),
                         "worst": worst(times)})
            print_row(rows[-1])
        with quota() if arguments.quota else contextlib.nullcontext() as prefix:
            if prefix:
                times = medians(arguments, arguments.threads, lambda threads: quantize_seconds(path, folder, threads, prefix))
                rows.append({"model": model, "samples": len(samples), "busy": "quota 1", "seconds": times, "ort_seconds": {}, "fair": alone,
                             "worst": worst(times)})
                print_row(rows[-1])


def print_row(row):
    def text(times):
        return "  ".join(f"{threads}: {seconds:6.2f} s" for threads, seconds in times.items())
    print(f"{row['model']:26} busy {row['busy']!s:8} {text(row['seconds'])}  fair {row['fair']:6.2f} s  worst {row['worst']:4.2f}  "
          f"ort {text(row['ort_seconds'])}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=lambda text: text.split(","), default=MODELS)
    parser.add_argument("--busy", type=lambda text: [int(part) for part in text.split(",")], default=[0, 2, 4, 8])
    parser.add_argument("--threads", type=lambda text: text.split(","), default=["1", "2", "auto"])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quota", action="store_true")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if not shutil.which(QUARKQ) and not os.access(QUARKQ, os.X_OK):
        sys.exit(f"{QUARKQ} is not there; build it first")
    print(f"{len(os.sched_getaffinity(0))} cores, load before the run {os.getloadavg()[0]:.1f}")
    rows = []
    for model in arguments.models:
        measure(model, arguments, rows)
    late = [row for row in rows if row["worst"] > 1.3]
    print(f"{len(rows) - len(late)} of {len(rows)} cases within 1.3 x the best setting")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({"cores": os.cpu_count(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
