#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Single operators of quarkq against ONNX Runtime with its default optimizations, in one run.

    compare_ops.py [--quarkq BIN] [--threads N...] [--rounds N] [--only WORD...] [--output FILE.json]

Batch 1, sizes as networks have them, same threads, interleaved rounds; the figure of a case is the median over all rounds.
Prints microseconds and the ratio (ONNX Runtime's time / quarkq's: above 1 quarkq is faster) per case and the geometric mean.
"conv> X >conv": the operator between two 1x1 convolutions (3 channels in, 1 out) in both programs, because an image operator
that stands alone pays for the change of memory layout, which it does not in a network. The convolutions are part of the time.
Cases of a few microseconds hold mostly what a call costs, which in ONNX Runtime's case is Python's part of it.
Needs: numpy, onnx, onnxruntime. Run it on an idle machine.
"""
import argparse
import os
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from compare_ops_cases import CASES
from compare_ort import ROOT, machine, quarkq_median, reference_times, write_report

SECONDS_PER_ROUND = 0.06


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def save(path, nodes, feeds, constants, outputs):
    inferred = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "case", [value_info(*item) for item in feeds.items()], inferred,
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=imports, ir_version=10))
    onnx.save(model, path)
    return model


def build(case, path):
    """Writes the model of a case; the feeds of one run."""
    feeds, constants = dict(case.feeds), dict(case.constants)
    if not case.image:
        save(path, case.nodes, feeds, constants, case.outputs)
        return feeds
    model = save(path, case.nodes, feeds, constants, case.outputs)
    # An output without a shape is one of an operator that ONNX defines as a function: those here keep the shape.
    shape = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim] or feeds["x"].shape
    random = np.random.default_rng(1)
    image = feeds.pop("x")
    feeds["image"] = random.standard_normal((1, 3) + image.shape[2:]).astype(np.float32)
    ones = (1,) * (image.ndim - 2)
    constants["first"] = random.standard_normal((image.shape[1], 3) + ones).astype(np.float32)
    constants["last"] = random.standard_normal((1, shape[1]) + ones).astype(np.float32)
    nodes = [helper.make_node("Conv", ["image", "first"], ["x"])] + list(case.nodes)
    nodes.append(helper.make_node("Conv", [case.outputs[0], "last"], ["result"]))
    save(path, nodes, feeds, constants, ["result"])
    return feeds


def save_feeds(folder, feeds):
    for name, array in feeds.items():
        place = os.path.join(folder, name) if len(feeds) > 1 else folder
        os.makedirs(place, exist_ok=True)
        np.save(os.path.join(place, "0.npy"), array)


def measure(binary, case, threads, rounds):
    """Median microseconds of both."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = os.path.join(folder, "case.onnx"), os.path.join(folder, "in")
        feeds = build(case, model)
        save_feeds(inputs, feeds)
        for _ in range(rounds):
            # A session per round: its idle threads spin and would disturb the other side.
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            once = statistics.median(reference_times(session, feeds, 5))
            runs = int(min(max(1e3 * SECONDS_PER_ROUND / once, 10), 2000))
            theirs += reference_times(session, feeds, runs)
            del session
            ours.append(quarkq_median(binary, model, inputs, threads, runs, os.path.join(folder, "out")))
    return 1e3 * statistics.median(ours), 1e3 * statistics.median(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name contains one of these words")
    parser.add_argument("--output")
    args = parser.parse_args()
    report = {"machine": machine(), "threads": {}}
    start, failed = time.monotonic(), 0
    for threads in args.threads:
        results = {}
        for case in CASES:
            if args.only and not any(word in case.name for word in args.only):
                continue
            try:
                mine, reference = measure(args.quarkq, case, threads, args.rounds)
            except Exception as error:  # a case that one side refuses must not hide the others
                failed += 1
                print(f"{case.name:44s} failed: {getattr(error, 'stderr', None) or error}", flush=True)
                continue
            results[case.name] = {"quarkq_us": mine, "onnxruntime_us": reference, "ratio": reference / mine}
            print(f"{case.name:44s} quarkq {mine:9.1f} us  onnxruntime {reference:9.1f} us  ratio {reference / mine:5.2f}"
                  f"{'  <<<' if reference / mine < 0.7 else ''}", flush=True)
        ratios = [result["ratio"] for result in results.values()]
        mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else 0.0
        report["threads"][threads] = {"cases": results, "geometric_mean": mean}
        print(f"{threads} threads: geometric mean {mean:.3f} of {len(ratios)} cases, {sum(r < 0.7 for r in ratios)} below 0.7")
    report["load_after"] = os.getloadavg()
    print(f"{time.monotonic() - start:.0f} s; load {report['machine']['load'][0]:.2f} before, {report['load_after'][0]:.2f} after")
    write_report(args.output, report)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
