#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether running several samples as one batch would be faster than calibration's way, which runs one sample on each thread at the same time.

    time_batches.py [--quarkq BIN] [--threads N] [--rounds N] [--output FILE.json]

Milliseconds per sample of `quarkq run` at batch 1, 2, 4 and 8: `apart`, N processes at the same time with one thread each, and `together`, one
process with N threads; all of them in turn within each round, medians over the rounds. A gain is time per sample of batch 1 apart, which is
what calibration does, / that of the batch. Shared models whose batch is free, and two in which it is made so. Needs numpy, onnx and onnxruntime.
"""
import argparse
import concurrent.futures
import math
import os
import statistics
import tempfile

import numpy as np
import onnx

from compare_ort import ROOT, SHARED, machine, quarkq_median, write_report

FREE = ["efficientnet_lite0_224", "mobilenetv1_025_vww_96", "mobilenetv3_digits", "superres_x3", "vit_cifar10_ibp_3_3_8", "char_gpt"]
FIXED = ["style_candy_256", "ultraface_rfb_320"]
BATCHES = [1, 2, 4, 8]
WAYS = ["apart", "together"]
SECONDS = 0.4  # of each measurement, approximately


def with_free_batch(name, path):
    model = onnx.load(os.path.join(SHARED, "models", name + ".onnx"))
    for value in [model.graph.input[0], *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    onnx.save(model, path)


def samples_of(name, folder):
    """Folders of one batch each, of the model's first evaluation sample again and again."""
    inputs = os.path.join(SHARED, "golden/inputs", name, "eval")
    sample = np.load(os.path.join(inputs, sorted(os.listdir(inputs))[0]))[:1]
    for batch in BATCHES:
        os.makedirs(os.path.join(folder, str(batch)))
        np.save(os.path.join(folder, str(batch), "0.npy"), np.concatenate([sample] * batch))


def times_of(name, args):
    """Milliseconds per sample by way and batch."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        with_free_batch(name, model)
        samples_of(name, folder)

        def command_times(batch, threads, runs, out):
            inputs = os.path.join(folder, str(batch))
            return quarkq_median(args.quarkq, model, inputs, threads, runs, os.path.join(folder, out)) / batch

        def apart(batch, runs):
            with concurrent.futures.ThreadPoolExecutor() as pool:
                times = pool.map(lambda i: command_times(batch, 1, runs, f"out{i}"), range(args.threads))
                return statistics.mean(times) / args.threads

        once = command_times(1, 1, 5, "out")
        found = {way: {batch: [] for batch in BATCHES} for way in WAYS}
        for _ in range(args.rounds):
            for batch in BATCHES:
                runs = max(3, int(1000 * SECONDS / (once * batch)))
                found["apart"][batch].append(apart(batch, runs))
                found["together"][batch].append(command_times(batch, args.threads, runs, "out"))
    return {way: {str(batch): round(statistics.median(times), 4) for batch, times in by_batch.items()} for way, by_batch in found.items()}


def geometric_mean(values):
    return round(math.exp(statistics.mean(map(math.log, values))), 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="*", default=FREE + FIXED)
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "threads": args.threads, "ms_per_sample": {}, "gain": {}}
    for name in args.models:
        times = report["ms_per_sample"][name] = times_of(name, args)
        base = times["apart"]["1"]
        for way in WAYS:
            print(f"{name:24} {way:8}", "  ".join(f"batch {batch}: {ms:8.3f} ms ({base / ms:.2f})" for batch, ms in times[way].items()), flush=True)
    for way in WAYS:
        gains = {batch: geometric_mean(times["apart"]["1"] / times[way][batch] for times in report["ms_per_sample"].values())
                 for batch in map(str, BATCHES)}
        report["gain"][way] = gains
        print(f"{way}: gains, geometric means: {gains}")
    report["load_after"] = os.getloadavg()
    write_report(args.output, report)


if __name__ == "__main__":
    main()
