#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rounded-up scales of MXFP blocks bring: mx_scales.py [--networks A,B] [--record FILE | --recorded FILE] [--check]

Quantizes the networks of ../shared/models in the MXFP formats twice: with scales as OCP computes them (round_scale_up: 0), and doubled where the largest
value of a block would be saturated. Prints the signal to noise ratio of all weights and of the first output. A ratio below 0 dB counts as 0: noise
above the signal says that the output is lost, whatever its size. --check fails if the weights of a network become worse in any format, or the
outputs on average. --recorded: the numbers of this file, without a run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
ELEMENTS = {"MXFP4E2M1": "fp4_e2m1", "MXFP6E2M3": "fp6_e2m3", "MXFP6E3M2": "fp6_e3m2", "MXFP8E4M3": "fp8_e4m3", "MXFP8E5M2": "fp8_e5m2"}
INPUTS = os.path.join(SHARED, "golden", "inputs")


def networks():
    return sorted(name for name in os.listdir(INPUTS) if os.path.exists(os.path.join(SHARED, "models", name + ".onnx")))


def quantized(network, preset, up, form, folder):
    """Path and report."""
    out, report = os.path.join(folder, f"{form}.onnx"), os.path.join(folder, "report.json")
    attributes = f"MXAttributes={{element_dtype: {ELEMENTS[preset]}, axis: 1, block_size: 32, rounding_mode: 2, round_scale_up: {up}}}"
    subprocess.run([QUARKQ, "quantize", os.path.join(SHARED, "models", network + ".onnx"), "-o", out, "--config", preset, "--calib",
                    os.path.join(INPUTS, network, "calib"), "--eval", os.path.join(INPUTS, network, "eval"), "--on-collapse", "warn", "--report", report,
                    "--set", attributes, "--set", f"quarkq.mx_form={form}", "--set", "quarkq.guards=false", "--quiet"], check=True)
    with open(report) as file:
        return onnx.load(out), json.load(file)


def weight_errors(custom, standard):
    """Sums of squares of all stored weights and of their errors."""
    floats = {one.name: one for one in custom.graph.initializer}
    stored = {one.name: one for one in standard.graph.initializer}
    signal = noise = 0.0
    for node in standard.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in stored:
            continue
        codes, scales = (numpy_helper.to_array(stored[name]).astype(np.float64) for name in node.input[:2])
        axis, block = (next(one.i for one in node.attribute if one.name == name) for name in ("axis", "block_size"))
        spread = np.repeat(scales, block, axis).take(range(codes.shape[axis]), axis)
        wanted = numpy_helper.to_array(floats[node.input[0].removesuffix("_quantized")]).astype(np.float64)
        signal += (wanted ** 2).sum()
        noise += ((codes * spread - wanted) ** 2).sum()
    return signal, noise


def measured(network, preset):
    """[floor, up] of {"weights": dB, "output": dB}."""
    rows = []
    for up in (0, 1):
        with tempfile.TemporaryDirectory() as folder:
            custom, report = quantized(network, preset, up, "custom", folder)
            signal, noise = weight_errors(custom, quantized(network, preset, up, "standard", folder)[0])
        output = report["outputs"][0]["sqnr_db"]
        rows.append({"weights": round(10 * float(np.log10(signal / noise)), 3) if noise else None, "output": None if output is None else round(output, 2)})
    return rows


def gains(rows, kind):
    """What doubled scales add to the ratios of the networks."""
    pairs = [(floor[kind], up[kind]) for floor, up in rows.values() if floor[kind] is not None and up[kind] is not None]
    return [max(up, 0) - max(floor, 0) for floor, up in pairs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", help="instead of all")
    parser.add_argument("--record", help="write the numbers here")
    parser.add_argument("--recorded", help="read the numbers from here")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    record, failures = {}, []
    if arguments.recorded:
        with open(arguments.recorded, encoding="utf-8") as file:
            record = json.load(file)
    for preset in ELEMENTS:
        if not arguments.recorded:
            record[preset] = {name: measured(name, preset) for name in (arguments.networks.split(",") if arguments.networks else networks())}
        weights, output = (gains(record[preset], kind) for kind in ("weights", "output"))
        print(f"{preset}, {len(record[preset])} networks: weights {np.mean(weights):+.3f} dB on average, {min(weights):+.3f} at least; first output "
              f"{np.mean(output):+.2f} dB on average, better in {sum(gain > 0 for gain in output)}, worse in {sum(gain < 0 for gain in output)}", flush=True)
        if min(weights) < 0:
            failures.append(f"{preset}: weights of a network are worse by {-min(weights):.3f} dB")
        if np.mean(output) <= 0:
            failures.append(f"{preset}: outputs are worse by {-np.mean(output):.2f} dB on average")
    if arguments.record:
        with open(arguments.record, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    if arguments.check and failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
