#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether running several samples as one batch would be faster than running them one by one.

    time_batches.py [--quarkq BIN] [--threads N] [--rounds N] [--output FILE.json]

Milliseconds per sample of `quarkq run` at batch 1, 2, 4 and 8, batches in turn within each round, medians over the rounds; a gain is time per
sample at batch 1 / that at batch N. Shared models whose batch is free, and two in which it is made so. Needs numpy, onnx and onnxruntime.
"""
import argparse
import math
import os
import statistics
import tempfile

import numpy as np
import onnx

from compare_ort import ROOT, SHARED, machine, quarkq_median, write_report

FREE = ["efficientnet_lite0_224", "mobilenetv1_025_vww_96", "mobilenetv3_digits", "superres_x3", "vit_cifar10_ibp_3_3_8", "char_gpt"]
FIXED = ["squeezenet1_1", "style_candy_256"]
BATCHES = [1, 2, 4, 8]
SECONDS = 0.8  # of each measurement, approximately


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
    """Milliseconds per sample by batch."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        with_free_batch(name, model)
        samples_of(name, folder)

        def time(batch, runs):
            return quarkq_median(args.quarkq, model, os.path.join(folder, str(batch)), args.threads, runs, os.path.join(folder, "out")) / batch

        once = time(1, 5)
        found = {batch: [] for batch in BATCHES}
        for _ in range(args.rounds):
            for batch in BATCHES:
                found[batch].append(time(batch, max(3, int(1000 * SECONDS / (once * batch)))))
    return {batch: statistics.median(times) for batch, times in found.items()}


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
        times = times_of(name, args)
        report["ms_per_sample"][name] = {str(batch): round(ms, 4) for batch, ms in times.items()}
        print(f"{name:26}", "  ".join(f"batch {batch}: {ms:8.3f} ms ({times[1] / ms:.2f})" for batch, ms in times.items()), flush=True)
    for batch in BATCHES[1:]:
        logs = [math.log(times["1"] / times[str(batch)]) for times in report["ms_per_sample"].values()]
        report["gain"][str(batch)] = round(math.exp(sum(logs) / len(logs)), 3)
        print(f"batch {batch}: gain {report['gain'][str(batch)]:.3f}, geometric mean")
    report["load_after"] = os.getloadavg()
    write_report(args.output, report)


if __name__ == "__main__":
    main()
