#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`quarkq evaluate` on two folders of small files against a plain numpy loop that computes the same four metrics.

    time_evaluate.py [--quarkq BIN] [--files N] [--rounds N] [--output FILE.json]

Files are [1, 1000] float32, read from the page cache. Both sides run in interleaved rounds; the figure is the median. The
results must agree. Target: 10 times as fast. Also prints the peak memory for 100 files and for all of them.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from compare_ort import ROOT, machine, write_report

KERNEL = np.exp(-np.arange(-5, 6) ** 2 / 4.5)
KERNEL /= KERNEL.sum()


def blur(image):
    """Gaussian window of 11 x 11, one axis after the other; reflection at the ends."""
    for axis in (0, 1):
        pads = [(0, 0), (0, 0)]
        pads[axis] = (5, 5)
        wide = np.pad(image, pads, mode="reflect" if image.shape[axis] > 1 else "edge")
        size = image.shape[axis]
        image = sum(weight * (wide[i:i + size] if axis == 0 else wide[:, i:i + size]) for i, weight in enumerate(KERNEL))
    return image


def ssim(a, b):
    mean_a, mean_b = blur(a), blur(b)
    covariance = blur(a * b) - mean_a * mean_b
    variances = blur(a * a) + blur(b * b) - mean_a ** 2 - mean_b ** 2
    return float(((2 * mean_a * mean_b + 6.5025) * (2 * covariance + 58.5225)
                  / ((mean_a ** 2 + mean_b ** 2 + 6.5025) * (variances + 58.5225))).mean())


def numpy_loop(baseline, quantized):
    rows = []
    for name in sorted(os.listdir(baseline)):
        a = np.load(os.path.join(baseline, name)).astype(np.float64)
        b = np.load(os.path.join(quantized, name)).astype(np.float64)
        x, y = a.ravel(), b.ravel()
        error = max(((x - y) ** 2).mean(), 1e-10)
        rows.append((x @ y / (np.linalg.norm(x) * np.linalg.norm(y)), np.linalg.norm(x - y),
                     20 * np.log10(max(np.abs(x).max(), 1e-10)) - 10 * np.log10(error), ssim(a, b)))
    table = np.array(rows)
    return [table[:, 0].mean(), table[:, 0].min(), table[:, 1].mean(), table[:, 1].max(), table[:, 2].mean(), table[:, 2].min(),
            table[:, 3].mean(), table[:, 3].min()]


MEASURE = "import resource, subprocess, sys; print(subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout); " \
          "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def evaluate(binary, baseline, quantized, threads):
    """(the eight values, seconds, peak MB)."""
    command = [binary, "evaluate", baseline, quantized, "--threads", str(threads)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    lines = subprocess.run([sys.executable, "-c", MEASURE] + command, check=True, capture_output=True, text=True).stdout.split("\n")
    return [float(line.split(": ")[1]) for line in lines[:8]], seconds, int(lines[-2]) / 1024


def write_files(folder, count):
    random = np.random.default_rng(0)
    for side in ("baseline", "quantized"):
        os.makedirs(os.path.join(folder, side))
    for i in range(count):
        values = random.normal(size=(1, 1000)).astype(np.float32)
        np.save(os.path.join(folder, "baseline", f"{i:05}.npy"), values)
        np.save(os.path.join(folder, "quantized", f"{i:05}.npy"), np.round(values * 16) / 16)
    return os.path.join(folder, "baseline"), os.path.join(folder, "quantized")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "files": args.files, "shape": [1, 1000]}
    with tempfile.TemporaryDirectory() as folder:
        few, many = write_files(os.path.join(folder, "few"), 100), write_files(os.path.join(folder, "many"), args.files)
        times = {"numpy": [], "quarkq, 1 thread": [], f"quarkq, {os.cpu_count()} threads": []}
        memory = evaluate(args.quarkq, *few, os.cpu_count())[2]
        for _ in range(args.rounds):
            start = time.perf_counter()
            wanted = numpy_loop(*many)
            times["numpy"].append(time.perf_counter() - start)
            for name in list(times)[1:]:
                found, seconds, peak = evaluate(args.quarkq, *many, int(name.split()[1]))
                times[name].append(seconds)
                np.testing.assert_allclose(found, wanted, rtol=1e-9)
    report["seconds"] = {name: statistics.median(values) for name, values in times.items()}
    report["ratio"] = {name: report["seconds"]["numpy"] / seconds for name, seconds in report["seconds"].items()}
    report["peak_mb"] = {"100 files": memory, f"{args.files} files": peak}
    report["load_after"] = os.getloadavg()
    for name, seconds in report["seconds"].items():
        print(f"{name}: {seconds:.3f} s, {1e6 * seconds / args.files:.1f} us a pair, {report['ratio'][name]:.1f} x numpy's speed")
    print(f"peak memory: {memory:.1f} MB for 100 files, {peak:.1f} MB for {args.files} (target ratio 10)")
    write_report(args.output, report)


if __name__ == "__main__":
    main()
