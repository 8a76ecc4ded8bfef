#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Perplexity and size of weight-only quantization: language.py [--record FILE] [--check]

Quantizes ../shared/models/char_gpt.onnx with each algorithm, width and block, and for target sizes. Samples for calibration and text for perplexity do not
overlap; ONNX Runtime runs every result. ONNX Runtime's k-quant (its own function, from the installed package) is stored in the same nodes. Its default
algorithm and HQQ are DEFAULT and HQQ of quarkq, which reproduce them (tests/unit/qdq/matmul_nbits_test.cpp). --check fails if a goal is missed.
"""
import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
MODEL = os.path.join(SHARED, "models", "char_gpt.onnx")
CALIBRATION = 128  # rows of text; the rest is for perplexity
BATCH = 64


def texts():
    folder = os.path.join(SHARED, "data", "tensors", "char_gpt")
    tokens, labels = (np.load(os.path.join(folder, name)).astype(np.int64) for name in ("inputs.npy", "labels.npy"))
    return tokens.reshape(len(tokens), -1), labels.reshape(len(labels), -1)


def perplexity(path, tokens, labels):
    """exp of the mean of -log p, and the half width of its 95 % interval over the rows of text."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    losses = []
    for first in range(0, len(tokens), BATCH):
        logits = session.run(None, {"tokens": tokens[first:first + BATCH]})[0].astype(np.float64)
        logits -= logits.max(-1, keepdims=True)
        chosen = np.take_along_axis(logits, labels[first:first + BATCH, :, None], -1)[..., 0]
        losses.append((np.log(np.exp(logits).sum(-1)) - chosen).mean(-1))
    losses = np.concatenate(losses)
    mean, half = losses.mean(), 1.96 * losses.std(ddof=1) / np.sqrt(len(losses))
    return float(np.exp(mean)), float(np.exp(mean) * half)


def stored_bytes(path):
    bits = {onnx.TensorProto.INT4: 4, onnx.TensorProto.UINT4: 4}
    return sum(int(np.prod(one.dims)) * bits.get(one.data_type, 8 * onnx.helper.tensor_dtype_to_np_dtype(one.data_type).itemsize) // 8
               for one in onnx.load(path).graph.initializer)


def quantize(out, calib, params, *more):
    command = [QUARKQ, "quantize", MODEL, "-o", out, "--config", "matmul_nbits", "--calib", calib, "--on-collapse", "warn", "--no-verify",
               "--set", "MatMulNBitsParams={" + params + "}", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def pack(codes, bits):
    """[rows, count] as bytes, the first code in the lowest bits."""
    per = 8 // bits
    padded = np.pad(codes.astype(np.uint8), [(0, 0), (0, -codes.shape[1] % per)]).reshape(len(codes), -1, per)
    return sum((padded[..., i].astype(np.uint16) << (bits * i)) for i in range(per)).astype(np.uint8)


def onnx_runtime_k_quant():
    """The function alone: its module imports packages that the tests do not have."""
    path = os.path.join(os.path.dirname(onnxruntime.__file__), "quantization", "neural_compressor", "weight_only.py")
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    names = {"np": np}
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "quant_tensor_k_quant_cpu"]
    exec(compile(ast.Module(found, []), path, "exec"), names)  # pylint: disable=exec-used
    return names["quant_tensor_k_quant_cpu"]


def store_k_quant(path):
    """Replaces the numbers of every MatMulNBits by those of ONNX Runtime's k-quant."""
    k_quant = onnx_runtime_k_quant()
    floats = {one.name: numpy_helper.to_array(one) for one in onnx.load(MODEL).graph.initializer}
    model = onnx.load(path)
    stored = {one.name: one for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "MatMulNBits":
            continue
        attributes = {one.name: one.i for one in node.attribute}
        bits, block, columns = attributes["bits"], attributes["block_size"], attributes["N"]
        weight = floats[node.input[1].rsplit("_Q", 1)[0]].T
        weight = np.pad(weight, [(0, 0), (0, -weight.shape[1] % block)])
        codes, scale, zero = k_quant(weight, bits, block)
        blocks = weight.shape[1] // block
        made = {1: pack(codes.reshape(-1, block), bits), 2: scale.astype(np.float32), 3: pack(zero.reshape(columns, blocks), bits)}
        for index, values in made.items():
            old = stored[node.input[index]]
            old.CopyFrom(numpy_helper.from_array(values.reshape(list(old.dims)), old.name))
    onnx.save(model, path)


def cases():
    """(row, parameters, further options, whether ONNX Runtime's k-quant replaces the numbers)"""
    for bits, block in ((8, 128), (4, 128), (4, 32), (3, 32), (2, 32)):
        common = f"Bits: {bits}, GroupSize: {block}, Symmetric: false"
        for algorithm in ("DEFAULT", "HQQ", "K_QUANT", "AWQ", "GPTQ", "AUTOROUND"):
            yield f"{bits} bits, block {block}, {algorithm}", f"Algorithm: {algorithm}, {common}", (), False
        if bits != 3:
            yield f"{bits} bits, block {block}, ONNX Runtime k-quant", f"Algorithm: DEFAULT, {common}", (), True
    for algorithm in ("GPTQ", "AUTOROUND"):
        for block in (16, 64, 128):
            yield f"2 bits, block {block}, {algorithm}", f"Algorithm: {algorithm}, Bits: 2, GroupSize: {block}, Symmetric: false", (), False
        for target in ("5.1", "4.5", "4", "3.5", "3"):
            yield f"--target-bits {target}, {algorithm}", f"Algorithm: {algorithm}, Symmetric: false", ("--target-bits", target), False


def check(rows):
    """Goals of weight-only quantization that are missed."""
    by_name = {row["name"]: row for row in rows}
    loss = lambda name: by_name[name]["perplexity"] / rows[0]["perplexity"] - 1
    found = []
    for algorithm in ("GPTQ", "AUTOROUND"):
        if loss(f"4 bits, block 128, {algorithm}") > 0.02:
            found.append(f"4 bits, block 128, {algorithm}: more than 2 % above float")
        if loss(f"8 bits, block 128, {algorithm}") > 0.001:
            found.append(f"8 bits, {algorithm}: more than 0.1 % above float")
    for block in (128, 32):
        best = min(loss(f"4 bits, block {block}, {name}") for name in ("HQQ", "ONNX Runtime k-quant"))
        for algorithm in ("K_QUANT", "AWQ", "GPTQ", "AUTOROUND"):
            if loss(f"4 bits, block {block}, {algorithm}") >= best:
                found.append(f"4 bits, block {block}, {algorithm}: not better than ONNX Runtime's algorithms")
        if loss(f"4 bits, block {block}, AWQ") > loss(f"4 bits, block {block}, K_QUANT"):
            found.append(f"4 bits, block {block}: AWQ is worse than K_QUANT")
    for algorithm in ("GPTQ", "AUTOROUND"):
        for target in ("3.5", "3"):
            chosen = by_name[f"--target-bits {target}, {algorithm}"]
            uniform = [row for row in rows if row["name"].endswith(algorithm) and "--" not in row["name"] and row["bytes"] <= chosen["bytes"]]
            if uniform and min(row["perplexity"] for row in uniform) <= chosen["perplexity"]:
                found.append(f"--target-bits {target}, {algorithm}: not better than uniform bits of that size")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(3)
    tokens, labels = texts()
    held_out = tokens[CALIBRATION:], labels[CALIBRATION:]
    value, half = perplexity(MODEL, *held_out)
    rows = [{"name": "float", "bytes": stored_bytes(MODEL), "perplexity": value, "half_interval": half}]
    print(f"{'float':44} {rows[0]['bytes']:>9} {value:.4f} +- {half:.4f}")
    with tempfile.TemporaryDirectory() as folder:
        calib, out = os.path.join(folder, "tokens.npy"), os.path.join(folder, "q.onnx")
        np.save(calib, tokens[:CALIBRATION])
        for name, params, more, is_k_quant in cases():
            quantize(out, calib, params, *more)
            if is_k_quant:
                store_k_quant(out)
            found, half = perplexity(out, *held_out)
            rows.append({"name": name, "bytes": stored_bytes(out), "perplexity": found, "half_interval": half})
            print(f"{name:44} {rows[-1]['bytes']:>9} {found:.4f} {100 * (found / value - 1):+8.2f} %", flush=True)
    if args.record:
        with open(args.record, "w", encoding="utf-8") as file:
            json.dump({"model": "char_gpt", "calibration_rows": CALIBRATION, "rows": rows}, file, indent=1)
            file.write("\n")
    missed = check(rows)
    print("\n".join(missed))
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
