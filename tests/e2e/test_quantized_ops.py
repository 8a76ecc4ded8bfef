# SPDX-License-Identifier: MIT
"""Every operator on stored integers, alone in a model, against ONNX Runtime: types, zero points, scales per tensor and per channel, axes,
blocks, and numbers that saturate or lie halfway between two steps."""
import itertools
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quarkq, temp_folder, test
from reference import adds_products_exactly, session

MICROSOFT = "com.microsoft"
ONNX_TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16, "uint16": TensorProto.UINT16, "int32": TensorProto.INT32,
              "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535), "int32": (-2**31, 2**31 - 1)}


def whole_range(rng, kind, shape):
    low, high = LIMITS[kind]
    values = rng.integers(low, high, shape, endpoint=True)
    values.ravel()[:2] = [low, high]
    return values.astype(kind)


def weights_for(rng, x, kind, shape):
    """Of the whole range, or of seven bits where ONNX Runtime may add a pair of products with `x` in 16 bits (reference.py)."""
    weights = whole_range(rng, kind, shape)
    return weights // 2 if (x.dtype, kind) == (np.uint8, "int8") and not adds_products_exactly() else weights


def spread_floats(rng, shape, scale, zero, kind):
    """Numbers over and beyond the range, a part of them halfway between two steps, some not finite."""
    low, high = LIMITS[kind]
    values = rng.uniform((low - zero - 20) * scale, (high - zero + 20) * scale, shape).astype(np.float32)
    flat = values.ravel()
    steps = rng.integers(max(low, -1000), min(high, 1000), flat[::3].size)
    flat[::3] = ((steps + 0.5) * np.float32(scale)).astype(np.float32)
    flat[:4] = [np.inf, -np.inf, 3e38, -3e38]
    return values


class Checker:
    """Runs one node in both programs. The first array is the model's input, the others are initializers."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def results(self, op, arrays, outputs=1, out_types=None, domain="", opset=17, **attributes):
        self.count += 1
        place = os.path.join(self.folder, str(self.count))
        os.makedirs(os.path.join(place, "in"))
        names = [f"i{i}" if array is not None else "" for i, array in enumerate(arrays)]
        node = helper.make_node(op, names, [f"o{i}" for i in range(outputs)], name="only", domain=domain, **attributes)
        first = arrays[0]
        info = helper.make_tensor_value_info("i0", helper.np_dtype_to_tensor_dtype(first.dtype), first.shape)
        types = out_types or [TensorProto.FLOAT] * outputs
        infos = [helper.make_tensor_value_info(f"o{i}", kind, None) for i, kind in enumerate(types)]
        constants = [numpy_helper.from_array(array, name) for name, array in zip(names[1:], arrays[1:]) if array is not None]
        graph = helper.make_graph([node], "g", [info], infos, constants)
        imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        model = helper.make_model(graph, opset_imports=imports)
        model.ir_version = 8 if opset < 21 else 10
        path = os.path.join(place, "m.onnx")
        onnx.save(model, path)
        np.save(os.path.join(place, "in", "0.npy"), first)
        wanted = session(path, optimize=False).run(None, {"i0": first})
        quarkq("run", path, "--inputs", os.path.join(place, "in"), "--outputs", os.path.join(place, "out"), "--quiet")
        found = [np.load(os.path.join(place, "out", *([f"o{i}"] if outputs > 1 else []), "0.npy")) for i in range(outputs)]
        return found, wanted

    def expect_equal(self, op, arrays, tolerance=0, what="", **more):
        found, wanted = self.results(op, arrays, **more)
        for index, (mine, theirs) in enumerate(zip(found, wanted)):
            expect_equal((mine.shape, mine.dtype), (theirs.shape, theirs.dtype), f"{op} {what}: shape and type of output {index}")
            a, b = mine.astype(np.float64), theirs.astype(np.float64)
            off = np.abs(a - b)[~((a == b) | (np.isnan(a) & np.isnan(b)))]
            expect(off.size == 0 or (tolerance > 0 and off.max() <= tolerance * max(1, np.abs(b[np.isfinite(b)]).max(initial=0))),
                   f"{op} {what}: {off.size} of {a.size} numbers differ, by up to {off.max(initial=0)}")


@test(cases=[(f"{kind} {domain or 'ai.onnx'}", kind, domain) for kind, domain in
             (("int8", ""), ("uint8", ""), ("int8", MICROSOFT), ("uint8", MICROSOFT), ("int16", MICROSOFT), ("uint16", MICROSOFT))])
def quantize_rounds_and_saturates(case):
    _, kind, domain = case
    rng = np.random.default_rng(1)
    with temp_folder() as folder:
        check = Checker(folder)
        for scale, zero in itertools.product((0.1, 0.03125, 7.0, 1e-4), (0, 5, LIMITS[kind][0], LIMITS[kind][1])):
            x = spread_floats(rng, [3, 40], scale, zero, kind)
            x = x[:, 4:] if scale == 1e-4 else x
            x = np.where(np.isfinite(x), x, 0).astype(np.float32)
            parameters = [np.float32(scale), np.array(zero, kind)]
            check.expect_equal("QuantizeLinear", [x, *parameters], out_types=[ONNX_TYPES[kind]], domain=domain, what=f"{scale} {zero}")


@test(cases=[(f"{kind} {domain or 'ai.onnx'}", kind, domain) for kind, domain in
             (("int8", ""), ("uint8", ""), ("int32", ""), ("int8", MICROSOFT), ("uint8", MICROSOFT), ("int16", MICROSOFT), ("uint16", MICROSOFT))])
def dequantize_is_exact(case):
    _, kind, domain = case
    rng = np.random.default_rng(2)
    with temp_folder() as folder:
        check = Checker(folder)
        for scale, zero in itertools.product((0.1, 0.03125, 7.0, 1e-30), (0,) if kind == "int32" else (0, 5, LIMITS[kind][0], LIMITS[kind][1])):
            codes = whole_range(rng, kind, [4, 50])
            check.expect_equal("DequantizeLinear", [codes, np.float32(scale), np.array(zero, kind)], domain=domain, what=f"{scale} {zero}", tolerance=1e-7)
        check.expect_equal("DequantizeLinear", [whole_range(rng, kind, [7]), np.float32(0.5), None], domain=domain, what="without a zero point")


@test(cases=["int8", "uint8"])
def channels_have_their_own_parameters(kind):
    rng = np.random.default_rng(3)
    with temp_folder() as folder:
        check = Checker(folder)
        shape = [3, 4, 5]
        for axis in (-3, -2, -1, 0, 1, 2):
            length = shape[axis]
            scale = rng.uniform(0.01, 2, length).astype(np.float32)
            zero = rng.integers(*LIMITS[kind], length).astype(kind)
            x = rng.uniform(-50, 50, shape).astype(np.float32)
            check.expect_equal("QuantizeLinear", [x, scale, zero], out_types=[ONNX_TYPES[kind]], axis=axis, what=f"axis {axis}")
            check.expect_equal("DequantizeLinear", [whole_range(rng, kind, shape), scale, zero], axis=axis, what=f"axis {axis}", tolerance=1e-7)


@test(cases=["normal", "positive", "negative", "zero", "one", "far"])
def dynamic_quantization_finds_the_range(kind):
    rng = np.random.default_rng(4)
    x = {"normal": lambda: rng.standard_normal((5, 60)), "positive": lambda: rng.random((5, 60)), "negative": lambda: -rng.random((5, 60)) - 1,
         "zero": lambda: np.zeros((5, 60)), "one": lambda: np.full((1, 1), 3.5), "far": lambda: rng.standard_normal((5, 60)) * 1e6}[kind]()
    with temp_folder() as folder:
        found, wanted = Checker(folder).results("DynamicQuantizeLinear", [x.astype(np.float32)], outputs=3,
                                                out_types=[TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8])
        expect(np.allclose(found[1], wanted[1], rtol=1e-6, atol=0), f"scale {found[1]}, expected {wanted[1]}")
        expect_equal(int(found[2]), int(wanted[2]), "zero point")
        off = np.abs(found[0].astype(int) - wanted[0].astype(int))
        expect(off.max(initial=0) <= 1 and np.count_nonzero(off) <= 2, f"{np.count_nonzero(off)} integers differ")


PAIRS = [(a, b) for a in ("int8", "uint8") for b in ("int8", "uint8")]


@test(cases=[(f"{a} times {b}", a, b) for a, b in PAIRS])
def integer_products_are_exact(case):
    _, a, b = case
    rng = np.random.default_rng(5)
    with temp_folder() as folder:
        check = Checker(folder)
        for left, right in (([4, 32], [32, 6]), ([1, 70], [70, 1]), ([2, 3, 16], [16, 5]), ([2, 3, 16], [2, 16, 5])):
            x = whole_range(rng, a, left)
            w = weights_for(rng, x, b, right)
            for zero_x, zero_w in ((None, None), (np.array(3, a), np.array(7, b)), (np.array(LIMITS[a][1], a), None)):
                check.expect_equal("MatMulInteger", [x, w, zero_x, zero_w], out_types=[TensorProto.INT32], what=f"{left} {right} {zero_x} {zero_w}")
        if b == "uint8" and a == "uint8":
            for pads, strides, group in (([0] * 4, [1, 1], 1), ([1] * 4, [2, 1], 1), ([1, 0, 1, 0], [1, 1], 2)):
                x = whole_range(rng, a, [2, 4, 7, 6])
                w = weights_for(rng, x, b, [6, 4 // group, 3, 3])
                check.expect_equal("ConvInteger", [x, w, np.array(9, a), np.array(4, b)], out_types=[TensorProto.INT32], pads=pads, strides=strides,
                                   group=group, what=f"{pads} {strides} {group}")


def few_off_by_one(found, wanted, what):
    off = np.abs(found.astype(np.int64) - wanted.astype(np.int64))
    expect(off.max(initial=0) <= 1 and np.count_nonzero(off) <= max(1, off.size // 100), f"{what}: {np.count_nonzero(off)} of {off.size} differ, by up to {off.max(initial=0)}")


@test(cases=[(f"{a} times {b}", a, b) for a, b in (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))])
def scaled_products_round_once(case):
    _, a, b = case
    rng = np.random.default_rng(6)
    with temp_folder() as folder:
        check = Checker(folder)
        for channels in (False, True):
            x = whole_range(rng, a, [5, 24])
            w = weights_for(rng, x, b, [24, 8])
            scale = rng.uniform(0.01, 0.03, 8).astype(np.float32) if channels else np.float32(0.02)
            zero = np.zeros(8, b) if channels else np.array(3, b)
            inputs = [x, np.float32(0.05), np.array(7, a), w, scale, zero, np.float32(3.0), np.array(11, a)]
            found, wanted = check.results("QLinearMatMul", inputs, out_types=[ONNX_TYPES[a]])
            few_off_by_one(found[0], wanted[0], f"QLinearMatMul, channels {channels}")
        for channels, group in itertools.product((False, True), (1, 2)):
            x = whole_range(rng, a, [1, 4, 6, 6])
            w = weights_for(rng, x, b, [6, 4 // group, 3, 3])
            scale = rng.uniform(0.01, 0.03, 6).astype(np.float32) if channels else np.float32(0.02)
            zero = np.zeros(6, b) if channels else np.array(0 if b == "int8" else 9, b)
            bias = rng.integers(-5000, 5000, 6).astype(np.int32)
            inputs = [x, np.float32(0.05), np.array(7, a), w, scale, zero, np.float32(4.0), np.array(11, a), bias]
            found, wanted = check.results("QLinearConv", inputs, out_types=[ONNX_TYPES[a]], pads=[1] * 4, group=group)
            few_off_by_one(found[0], wanted[0], f"QLinearConv, channels {channels}, group {group}")


@test(cases=[(f"{op} {kind}", op, kind) for op in ("QLinearAdd", "QLinearMul") for kind in ("int8", "uint8")])
def scaled_sums_broadcast(case):
    _, op, kind = case
    rng = np.random.default_rng(7)
    with temp_folder() as folder:
        check = Checker(folder)
        for left, right in (([3, 8], [3, 8]), ([3, 8], [8]), ([3, 8], []), ([2, 1, 4], [3, 1])):
            x, y = whole_range(rng, kind, left), (whole_range(rng, kind, right) if right else np.array(LIMITS[kind][1], kind))
            inputs = [x, np.float32(0.05), np.array(7, kind), y, np.float32(0.02), np.array(3, kind), np.float32(0.1), np.array(5, kind)]
            found, wanted = check.results(op, inputs, out_types=[ONNX_TYPES[kind]], domain=MICROSOFT)
            expect_equal(found[0].shape, wanted[0].shape, f"shape of {left} and {right}")
            few_off_by_one(found[0], wanted[0], f"{op} of {left} and {right}")


@test(cases=[(f"{kind} blocks of {block} along {axis}", kind, block, axis) for kind in ("int8", "uint8", "int16") for block in (1, 4, 8) for axis in (0, 1)])
def blocks_have_their_own_parameters(case):
    _, kind, block, axis = case
    rng = np.random.default_rng(8)
    shape = [8, 8]
    of_scales = [n // block if i == axis else n for i, n in enumerate(shape)]
    scale = rng.uniform(0.01, 2, of_scales).astype(np.float32)
    zero = rng.integers(-20 if kind != "uint8" else 0, 20, of_scales).astype(kind)
    with temp_folder() as folder:
        check = Checker(folder)
        check.expect_equal("DequantizeLinear", [whole_range(rng, kind, shape), scale, zero], opset=21, axis=axis, block_size=block, tolerance=1e-7)
        x = rng.uniform(-60, 60, shape).astype(np.float32)
        check.expect_equal("QuantizeLinear", [x, scale, zero], out_types=[ONNX_TYPES[kind]], opset=21, axis=axis, block_size=block)


@test(cases=[(f"blocks of {block}, {rows} rows", block, rows) for block in (16, 32, 64) for rows in (1, 5)])
def matrices_of_4_bits_are_unpacked(case):
    _, block, rows = case
    rng = np.random.default_rng(9)
    inner, outer = 64, 6
    blocks = inner // block
    packed = rng.integers(0, 256, [outer, blocks, block // 2]).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, [outer * blocks]).astype(np.float32)
    zeros = rng.integers(0, 256, [outer * ((blocks + 1) // 2)]).astype(np.uint8)
    x = rng.standard_normal([rows, inner]).astype(np.float32)
    with temp_folder() as folder:
        check = Checker(folder)
        attributes = {"K": inner, "N": outer, "bits": 4, "block_size": block, "domain": MICROSOFT}
        check.expect_equal("MatMulNBits", [x, packed, scales], tolerance=2e-5, what="symmetric", **attributes)
        check.expect_equal("MatMulNBits", [x, packed, scales, zeros], tolerance=2e-5, what="with zero points", **attributes)
