# SPDX-License-Identifier: MIT
"""quarkq convert on random models: float types beside ONNX Runtime's results of the model as given, and conversions of quantized models
beside those of the quantized model. A conversion that claims equal outputs has to keep them exactly."""
import json
import os

import numpy as np
import onnx

import random_graphs
from harness import expect, quarkq, temp_folder, test
from reference import session

FLOAT_SEEDS = [(str(seed), seed) for seed in range(300, 308)]
QUANTIZED_SEEDS = [(f"{seed} {preset}", seed, preset) for seed in range(400, 404) for preset in ("S8S8_AAWS", "A8W8")]
OPSET = 17


def results(path, feeds):
    with open(path, "rb") as file:
        runner = session(file.read(), optimize=False)
    return runner.run(None, feeds)


def random_feeds(model, seed):
    random = np.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        dims = [dim.dim_value or 2 for dim in value.type.tensor_type.shape.dim]
        feeds[value.name] = random.uniform(-1, 1, dims).astype(np.float32)
    return feeds


def converted(folder, path, name, *passes):
    out = os.path.join(folder, name + ".onnx")
    report = json.loads(quarkq("convert", path, out, "--json", *(part for one in passes for part in ("--pass", one))).stdout)
    onnx.checker.check_model(out, full_check=True)
    return out, report["passes"]


def largest(found, wanted):
    """Largest difference of a finite output of floats, relative to the largest value of that output."""
    worst = 0.0
    for a, b in zip(found, wanted):
        if b.dtype.kind != "f" or not np.isfinite(b).all() or b.size == 0:
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        worst = max(worst, float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-6)))
    return worst


def written(folder, seed):
    model, _ = random_graphs.random_model(seed, opset=OPSET)
    path = os.path.join(folder, "float.onnx")
    onnx.save(model, path)
    return path, random_feeds(model, seed)


@test(cases=FLOAT_SEEDS)
def float_types(case):
    seed = case[1]
    with temp_folder() as folder:
        path, feeds = written(folder, seed)
        wanted = results(path, feeds)
        notes = []
        for conversion, bound in (("fp32-to-fp16", 0.05), ("fp32-to-fp16:weights_only=true", 0.05), ("fp32-to-bf16:weights_only=true", 0.2)):
            out, _ = converted(folder, path, "narrow", conversion)
            difference = largest(results(out, feeds), wanted)
            notes.append(f"{difference:.1e}")
            expect(difference <= bound, f"{conversion}: outputs differ by {difference}, allowed is {bound}")
        back, steps = converted(folder, path, "back", "fp32-to-fp16", "fp16-to-fp32")
        expect(largest(results(back, feeds), wanted) <= 0.05, "outputs differ after the way there and back")
        expect(steps[1]["changes"] > 0, "the way back changed nothing")
        return ", ".join(notes)


@test(cases=QUANTIZED_SEEDS)
def quantized_models(case):
    _, seed, preset = case
    with temp_folder() as folder:
        path, feeds = written(folder, seed)
        quantized = os.path.join(folder, "quantized.onnx")
        quarkq("quantize", path, "--config", preset, "--set", "UseRandomData=true", "-o", quantized, "--quiet")
        wanted = results(quantized, feeds)
        for conversion in ("s8s8-to-u8s8", "u8s8-to-s8s8", "dedicate-dq-node", "copy-shared-init"):
            out, _ = converted(folder, quantized, "equal", conversion)
            expect(largest(results(out, feeds), wanted) == 0, f"{conversion}: outputs differ")
        out, steps = converted(folder, quantized, "integers", "qdq-to-qoperator")
        # Steps of single operators meet; a wrong operand would be far beyond.
        integers = largest(results(out, feeds), wanted)
        expect(integers <= 0.1, f"qdq-to-qoperator: outputs differ by {integers}, left {steps[0]['left'][:3]}")
        out, _ = converted(folder, quantized, "float", "dequantize")
        ops = {node.op_type for node in onnx.load(out).graph.node}
        expect(not any("Linear" in op for op in ops), f"quantizing operators are left: {sorted(ops)}")
        results(out, feeds)
        return f"{steps[0]['changes']} on integers, {integers:.1e}"
