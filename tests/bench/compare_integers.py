#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quantized models compared with float ones, in quarkq and in ONNX Runtime with its default optimizations (its own integer kernels).

    compare_integers.py [--quarkq BIN] [--threads N] [--isa NAME] [--rounds N] [--output FILE.json] [--models NAME...]

Networks: picture networks of ../shared/models and the trunks of a ResNet-50 and a ViT-B with random weights, each as it is and in A8W8. Batch 1,
interleaved rounds, medians. Prints float time / quantized time in quarkq (goal 1.8 of ResNet-50 and ViT-B), and ONNX Runtime's quantized time / that of
quarkq (goal 1). On a processor without VNNI, quarkq computes quantized models in float32.
Needs: numpy, onnx, onnxruntime, the shared models and inputs next to the repository. Run it on an idle machine.
"""
import argparse
import os
import statistics
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from compare_ort import ROOT, SHARED, first_sample, machine, quarkq_median, reference_times, write_report
from time_optimize import Net, resnet50

MODELS = ["efficientnet_lite0_224", "squeezenet1_1", "resnet8_cifar10", "style_candy_256", "superres_x3", "tbefn_240x320", "nanodet_m_416", "ppocrv3_det", "vit_digits"]
GENERATED = ["resnet50", "vit_b"]
TOKENS, WIDTH, HEADS, LAYERS = 197, 768, 12, 12


def attention(net, x):
    """Self-attention over [1, TOKENS, WIDTH]."""
    parts = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        y = net.add("Add", [net.add("MatMul", [x, net.constant((WIDTH, WIDTH))]), net.constant((WIDTH,))])
        parts.append(net.add("Transpose", [net.add("Reshape", [y, "heads"])], perm=perm))
    scores = net.add("Softmax", [net.add("Mul", [net.add("MatMul", parts[:2]), "factor"])], axis=-1)
    mixed = net.add("Transpose", [net.add("MatMul", [scores, parts[2]])], perm=[0, 2, 1, 3])
    return net.add("Add", [net.add("MatMul", [net.add("Reshape", [mixed, "rows"]), net.constant((WIDTH, WIDTH))]), net.constant((WIDTH,))])


def normalized(net, x):
    return net.add("LayerNormalization", [x, net.constant((WIDTH,), 0.9, 1.1), net.constant((WIDTH,))], axis=-1)


def vit_b(path):
    """The trunk of a ViT-B/16: 12 layers of 197 tokens of 768 numbers."""
    net, x = Net(), "x"
    for name, values in (("heads", [1, TOKENS, HEADS, WIDTH // HEADS]), ("rows", [1, TOKENS, WIDTH])):
        net.weights.append(onnx.numpy_helper.from_array(np.array(values), name))
    net.weights.append(onnx.numpy_helper.from_array(np.float32(0.125), "factor"))
    for _ in range(LAYERS):
        x = net.add("Add", [x, attention(net, normalized(net, x))])
        y = net.add("Add", [net.add("MatMul", [normalized(net, x), net.constant((WIDTH, 4 * WIDTH))]), net.constant((4 * WIDTH,))])
        y = net.add("Gelu", [y])
        y = net.add("Add", [net.add("MatMul", [y, net.constant((4 * WIDTH, WIDTH))]), net.constant((WIDTH,))])
        x = net.add("Add", [x, y])
    graph = helper.make_graph(net.nodes, "vit_b", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, TOKENS, WIDTH])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, TOKENS, WIDTH])], net.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def float_model(name, folder):
    """Path of the model and folder of its samples."""
    if name not in GENERATED:
        return os.path.join(SHARED, "models", name + ".onnx"), os.path.join(SHARED, "golden", "inputs", name, "eval")
    path, samples = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + "-samples")
    {"resnet50": resnet50, "vit_b": vit_b}[name](path)
    os.mkdir(samples)
    shape = (1, 3, 224, 224) if name == "resnet50" else (1, TOKENS, WIDTH)
    for i in range(2):
        np.save(os.path.join(samples, f"{i}.npy"), np.random.default_rng(i).standard_normal(shape).astype(np.float32))
    return path, samples


def measure(name, args, options, folder):
    """Medians in milliseconds."""
    model, samples = float_model(name, folder)
    quantized, out = os.path.join(folder, name + "-a8w8.onnx"), os.path.join(folder, "out")
    subprocess.run([args.quarkq, "quantize", model, "-o", quantized, "--config", "A8W8", "--target", "ort-cpu", "--calib", samples, "--no-verify", "--quiet"], check=True)
    ours, theirs = {model: [], quantized: []}, {model: [], quantized: []}
    for _ in range(args.rounds):
        for path in (model, quantized):
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            feed = first_sample(session, samples)
            reference_times(session, feed, 3)
            theirs[path].append(statistics.median(reference_times(session, feed, args.runs)))
            del session
            ours[path].append(quarkq_median(args.quarkq, path, samples, args.threads, args.runs, out, args.isa))
    median = {key: statistics.median(times[path]) for key, times, path in
              (("float", ours, model), ("quantized", ours, quantized), ("ort_float", theirs, model), ("ort_quantized", theirs, quantized))}
    return {key: round(value, 3) for key, value in median.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", default="native", help="instruction set of quarkq: sse41, avx2, avx512, avx512-vnni or native")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=10, help="runs per round")
    parser.add_argument("--output")
    parser.add_argument("--models", nargs="*", default=MODELS + GENERATED)
    args = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = args.threads, 3
    report = {"machine": machine(), "threads": args.threads, "isa": args.isa, "models": {}}
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            row = report["models"][name] = measure(name, args, options, folder)
        gain, ratio = row["float"] / row["quantized"], row["ort_quantized"] / row["quantized"]
        print(f"{name:24} float {row['float']:8.2f} ms, quantized {row['quantized']:8.2f} ms ({gain:.2f} x); ONNX Runtime {row['ort_float']:8.2f}, "
              f"{row['ort_quantized']:8.2f} ms ({ratio:.2f} x)", flush=True)
    write_report(args.output, report)


if __name__ == "__main__":
    main()
