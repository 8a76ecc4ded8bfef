#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the block formats round: BFP and MX nodes in `quarkq run`, per format, layout and instruction set.

    time_blocks.py [--quarkq BIN] [--before BIN] [--rounds N] [--output FILE.json]

Nanoseconds per element and core: the median time of a model of NODES block nodes in a row over 2^16 elements, less that of a
model with one node, divided by the nodes between; one thread. Layouts: blocks along the last axis ("within"), along axis 1 of
an image ("across": elements of a block lie apart), along a last axis that leaves a short last block ("short"), and along
axis 1 of 3x3 weights ("weights"). Then whole quantized models with one thread and with all, and quantizing one with its
verification, in milliseconds. The lowest of the rounds counts: what else runs only adds. With --before the same for an
older binary, in interleaved rounds (its nodes with the best instruction set only). Targets: below 1 ns with avx512, 2 with avx2.
Needs the shared models for the last part.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

from compare_ort import ROOT, SHARED, machine, write_report

NODES = 9
MICRO = {"bfp_method": "to_bfp_prime", "block_size": 16, "sub_block_size": 2, "sub_block_shift_bits": 1, "rounding_mode": 2}
FORMATS = {"BFP16": ("BFPQuantizeDequantize", {"bit_width": 16, "block_size": 8, "rounding_mode": 2}),
           "BFP16 half away": ("BFPQuantizeDequantize", {"bit_width": 16, "block_size": 8, "rounding_mode": 0})}
FORMATS.update({name: ("BFPQuantizeDequantize", {"bit_width": width, **MICRO}) for name, width in (("MX4", 11), ("MX6", 13), ("MX9", 16))})
FORMATS.update({"MX " + element: ("MXQuantizeDequantize", {"element_dtype": element, "block_size": 32, "rounding_mode": 2})
                for element in ("fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8")})
LAYOUTS = {"within": ([1, 32, 32, 64], 3), "across": ([1, 64, 32, 32], 1), "short": ([1, 32, 36, 60], 3), "weights": ([72, 96, 3, 3], 1)}
ISAS = ("avx512", "avx2", "sse41")
MODELS = [(model, preset) for model in ("resnet8_cifar10", "superres_x3") for preset in ("bfp16", "mx9", "mxfp8e4m3")]
QUANTIZED = ("efficientnet_lite0_224", "bfp16")


def write_model(path, operator, attributes, shape, nodes):
    chain = [helper.make_node(operator, [f"x{i}"], [f"x{i + 1}"], domain="com.amd.quark", **attributes) for i in range(nodes)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x0", f"x{nodes}")]
    graph = helper.make_graph(chain, "blocks", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.amd.quark", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def run_median(binary, model, inputs, folder, isa, threads, repeat):
    command = [binary, "run", model, "--inputs", inputs, "--outputs", os.path.join(folder, "out"), "--limit", "1", "--json",
               "--repeat", str(repeat), "--threads", str(threads), "--isa", isa]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["median_ms"]


def time_nodes(binaries, isas, rounds, folder):
    """{"format, layout": {"binary isa": ns per element}}."""
    table = {}
    for layout, (shape, axis) in LAYOUTS.items():
        inputs = os.path.join(folder, layout)
        os.makedirs(inputs)
        np.save(os.path.join(inputs, "x.npy"), np.random.default_rng(0).normal(size=shape).astype(np.float32))
        for name, (operator, attributes) in FORMATS.items():
            paths = {count: os.path.join(folder, f"{count}.onnx") for count in (1, NODES)}
            for count, path in paths.items():
                write_model(path, operator, {**attributes, "axis": axis}, shape, count)
            times = {}
            for _ in range(rounds):
                for label, binary in binaries.items():
                    for isa in isas if label == "now" else isas[:1]:
                        one, many = (run_median(binary, paths[count], inputs, folder, isa, 1, 40) for count in (1, NODES))
                        times.setdefault(f"{label} {isa}", []).append(1e6 * (many - one) / (NODES - 1) / np.prod(shape))
            table[f"{name}, {layout}"] = {key: round(min(values), 3) for key, values in times.items()}
            print(f"{name}, {layout}: " + "  ".join(f"{key} {value:.3f}" for key, value in table[f'{name}, {layout}'].items()), flush=True)
    return table


def time_models(binaries, rounds, folder):
    """{"model preset": {"binary, threads": ms of a run}}."""
    table = {}
    for model, preset in MODELS:
        path = os.path.join(folder, f"{model}_{preset}.onnx")
        samples = os.path.join(SHARED, "golden/inputs", model)
        subprocess.run([list(binaries.values())[-1], "quantize", os.path.join(SHARED, "models", model + ".onnx"), "--config", preset, "-o", path,
                        "--calib", samples + "/calib", "--no-verify", "--quiet"], check=True)
        times = {}
        for _ in range(rounds):
            for threads in sorted({1, os.cpu_count()}):
                for label, binary in binaries.items():
                    times.setdefault(f"{label}, threads: {threads}", []).append(
                        run_median(binary, path, samples + "/eval", folder, "native", threads, 20))
        table[f"{model} {preset}"] = {label: min(values) for label, values in times.items()}
        print(f"{model} {preset}: " + "  ".join(f"{label} {value:.2f} ms" for label, value in table[f"{model} {preset}"].items()), flush=True)
    return table


def time_quantize(binaries, rounds, folder):
    """{"binary": ms of quantizing one model, with verification}."""
    model, preset = QUANTIZED
    times = {label: [] for label in binaries}
    for _ in range(rounds):
        for label, binary in binaries.items():
            command = [binary, "quantize", os.path.join(SHARED, "models", model + ".onnx"), "--config", preset, "--quiet",
                       "-o", os.path.join(folder, "quantized.onnx"), "--calib", os.path.join(SHARED, "golden/inputs", model, "calib")]
            start = time.perf_counter()
            subprocess.run(command, check=True)
            times[label].append(1e3 * (time.perf_counter() - start))
    result = {label: min(values) for label, values in times.items()}
    print(f"quantize {model} {preset}: " + "  ".join(f"{label} {value:.0f} ms" for label, value in result.items()), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    parser.add_argument("--before", help="an older binary to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output")
    args = parser.parse_args()
    binaries = {"before": args.before, "now": args.quarkq} if args.before else {"now": args.quarkq}
    flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    isas = [isa for isa in ISAS if {"avx512": "avx512bw", "avx2": "avx2", "sse41": "sse4_1"}[isa] in flags]
    report = {"machine": machine(), "rounds": args.rounds}
    with tempfile.TemporaryDirectory() as folder:
        report["ns_per_element"] = time_nodes(binaries, isas, args.rounds, folder)
        if os.path.isdir(SHARED):
            report["model_ms"] = time_models(binaries, args.rounds, folder)
            report["quantize_ms"] = {" ".join(QUANTIZED): time_quantize(binaries, args.rounds, folder)}
    report["load_after"] = os.getloadavg()
    for isa, target in (("avx512", 1), ("avx2", 2)):
        worst = max(((row.get(f"now {isa}", 0), name) for name, row in report["ns_per_element"].items()))
        print(f"{isa}: at most {worst[0]:.3f} ns per element ({worst[1]}), target below {target}")
    write_report(args.output, report)


if __name__ == "__main__":
    main()
