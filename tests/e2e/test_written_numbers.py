# SPDX-License-Identifier: MIT
"""Scales, zero points and stored integers of written models against formulas in NumPy, written from the definitions: round half to even,
symmetric and asymmetric ranges, powers of two, per channel, int32 biases at the product of two scales, calibration methods."""
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import make_model

RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def array_of(model, name):
    return next((numpy_helper.to_array(one) for one in model.graph.initializer if one.name == name), None)


def quantizers(model):
    """{tensor: (scale, zero point)} of the Q nodes."""
    found = {}
    for node in model.graph.node:
        if node.op_type.endswith("QuantizeLinear") and not node.op_type.endswith("DequantizeLinear"):
            found[node.input[0]] = (array_of(model, node.input[1]), array_of(model, node.input[2]))
    return found


def stored(model):
    """{name of the float tensor: (codes, scale, zero point, axis)} of DQ nodes on constants; codes keep their stored type."""
    found = {}
    for node in model.graph.node:
        codes = array_of(model, node.input[0]) if node.op_type.endswith("DequantizeLinear") else None
        if codes is None:
            continue
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
        zero = array_of(model, node.input[2])
        found[node.input[0].replace("_quantized", "").replace("_QuantizeLinear", "")] = (codes, array_of(model, node.input[1]), zero, axis)
    return found


def expected_params(low, high, limits, symmetric):
    """Scale and zero point of a range that holds zero, in float32 as ref:scales#worked-numbers has it."""
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    if symmetric:
        high = max(-low, high)
        low = -high
    least, most = limits
    scale = (high - low) / (most - least)
    if scale < np.finfo(np.float32).tiny:
        return 1.0, 0
    zero = round((least + most) / 2) if symmetric else int(np.clip(np.rint(least - low / scale), least, most))
    return scale, zero


def expect_scale(found, wanted, what, tolerance=1e-6):
    expect(abs(float(found) - wanted) <= tolerance * abs(wanted), f"{what}: scale {float(found)!r}, expected {wanted!r}")


def codes_of(values, scale, zero, limits):
    return np.clip(np.rint(values.astype(np.float32) / np.float32(scale)) + zero, *limits)


def expect_codes(found, wanted, what):
    """The last bit of a quotient may round a tie the other way: such are counted, and few."""
    off = np.abs(np.asarray(found, np.int64) - wanted.astype(np.int64))
    expect(off.max(initial=0) <= 1 and (off != 0).mean() < 0.002, f"{what}: {np.count_nonzero(off)} of {off.size} integers differ, by up to {off.max(initial=0)}")


def random_samples(folder, shape, kind="normal", count=4, seed=5):
    rng = np.random.default_rng(seed)
    os.makedirs(folder)
    arrays = []
    for index in range(count):
        values = {"normal": lambda: rng.standard_normal(shape), "positive": lambda: rng.random(shape) * 3,
                  "negative": lambda: -rng.random(shape), "far": lambda: rng.standard_normal(shape) ** 3 * 40,
                  "tiny": lambda: rng.standard_normal(shape) * 1e-5, "zero": lambda: np.zeros(shape)}[kind]()
        arrays.append(values.astype(np.float32))
        np.save(os.path.join(folder, f"{index}.npy"), arrays[-1])
    return np.stack(arrays)


def quantized(folder, model, samples, config, *sets):
    source, out = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    onnx.save(model, source)
    quarkq("quantize", "--config", config, "--calib", samples, "-o", out, "--quiet", *(part for one in sets for part in ("--set", one)), source)
    return onnx.load(out)


def square_model(shape):
    return make_model([helper.make_node("Mul", ["x", "x"], ["y"], name="square")], [("x", shape)], [("y", shape)])


KINDS = ["normal", "positive", "negative", "far", "tiny", "zero"]
TYPES = [("int8", "QuantType.QInt8"), ("uint8", "QuantType.QUInt8"), ("int16", "QuantType.QInt16"), ("uint16", "QuantType.QUInt16")]


@test(cases=[(f"{kind} {name}", kind, name, value) for kind in KINDS for name, value in TYPES])
def activations_have_the_range_that_was_seen(case):
    _, kind, name, value = case
    with temp_folder() as folder:
        samples = os.path.join(folder, "samples")
        arrays = random_samples(samples, [2, 50], kind)
        for symmetric in (False, True):
            model = quantized(folder, square_model([2, 50]), samples, "A8W8", f"activation_type={value}", f"ActivationSymmetric={str(symmetric).lower()}",
                              "calibrate_method=CalibrationMethod.MinMax", "CalibTensorRangeSymmetric=false", "quarkq.range_headroom=1")
            limits = RANGES[name]
            if symmetric and name.startswith("int"):
                limits = (limits[0] + 1, limits[1])
            found = quantizers(model)
            for tensor, values in (("x", arrays), ("y", arrays * arrays)):
                key = tensor if tensor in found else tensor + "_QuantizeLinear_Input"
                scale, zero = expected_params(values.min(), values.max(), limits, symmetric)
                expect_scale(found[key][0], scale, f"{tensor}, symmetric {symmetric}", 2e-6)
                expect_equal(found[key][1].dtype.name, name, f"type of {tensor}")
                expect(abs(int(found[key][1]) - zero) <= (0 if symmetric else 1), f"{tensor}: zero point {found[key][1]}, expected {zero}")


@test(cases=[(f"{kind} {method}", kind, method) for kind in KINDS for method in ("NonOverflow", "MinMSE")])
def powers_of_two_follow_their_method(case):
    _, kind, method = case
    with temp_folder() as folder:
        samples = os.path.join(folder, "samples")
        arrays = random_samples(samples, [2, 50], kind)
        model = quantized(folder, square_model([2, 50]), samples, "XINT8", f"calibrate_method=PowerOfTwoMethod.{method}", "op_types_to_quantize=[Mul]",
                          "AdjustShiftWrite=false")
        found = quantizers(model)
        scale = float(found["x"][0])
        expect_equal(np.log2(scale) % 1, 0.0, f"fraction of log2({scale})")
        most = float(np.abs(arrays).max())
        if most == 0:
            return
        start = 2.0 ** np.rint(np.log2(2 * most / 254))
        if method == "NonOverflow":
            expect_equal(scale, start, "scale")
            return
        errors = {}
        for step in (2.0, 1.0, 0.5, 0.25, 0.125):
            candidate = start * step
            codes = np.clip(np.rint(arrays / candidate), -127, 127)
            errors[candidate] = float(((codes * candidate - arrays).astype(np.float64) ** 2).sum())
        expect(errors.get(scale, np.inf) <= 1.02 * min(errors.values()) + 1e-30, f"scale {scale} has the error {errors.get(scale)}, of {errors}")


@test(cases=[(f"{percent} of {kind}", kind, percent) for kind in ("normal", "far", "positive") for percent in (90.0, 99.0, 99.9)])
def percentiles_keep_their_share(case):
    _, kind, percent = case
    with temp_folder() as folder:
        samples = os.path.join(folder, "samples")
        arrays = random_samples(samples, [20, 500], kind)
        model = quantized(folder, square_model([20, 500]), samples, "A8W8", "calibrate_method=CalibrationMethod.Percentile", f"Percentile={percent}",
                          "ActivationSymmetric=true", "CalibTensorRangeSymmetric=true")
        reach = float(quantizers(model)["x"][0]) * 127
        kept = 100 * float((np.abs(arrays) <= reach * 1.0000001).mean())
        exact = float(np.percentile(np.abs(arrays), percent))
        expect(abs(reach - exact) <= 0.004 * exact, f"the range reaches {reach}, the percentile is {exact} ({kept:.3f} % kept)")


def layer_model(rng, kind):
    """One layer with weights and bias, its weight's channel axis, and the shape of its input."""
    if kind == "Conv":
        w, shape, out, axis = rng.standard_normal((5, 3, 3, 3)), [1, 3, 6, 6], [1, 5, 4, 4], 0
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], name="layer")
    elif kind == "ConvTranspose":
        w, shape, out, axis = rng.standard_normal((3, 5, 2, 2)), [1, 3, 4, 4], [1, 5, 5, 5], 1
        node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], name="layer")
    else:
        turned = kind == "GemmTransposed"
        w, shape, out, axis = rng.standard_normal((5, 7) if turned else (7, 5)), [2, 7], [2, 5], 0 if turned else 1
        node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="layer", transB=int(turned))
    w = (w * rng.uniform(0.1, 3, [5 if i == axis else 1 for i in range(w.ndim)])).astype(np.float32)
    b = rng.standard_normal(5).astype(np.float32)
    return make_model([node], [("x", shape)], [("y", out)], [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")]), w, b, axis, shape


@test(cases=[(f"{kind}{' per channel' if channels else ''} {preset}", kind, channels, preset)
             for kind in ("Conv", "ConvTranspose", "Gemm", "GemmTransposed") for channels in (False, True) for preset in ("A8W8", "U8S8_AAWS", "A16W8")])
def weights_and_biases_are_stored_by_the_formula(case):
    _, kind, channels, preset = case
    rng = np.random.default_rng(len(kind) + 10 * channels)
    with temp_folder() as folder:
        source, w, b, axis, shape = layer_model(rng, kind)
        samples = os.path.join(folder, "samples")
        random_samples(samples, shape)
        model = quantized(folder, source, samples, preset, f"per_channel={str(channels).lower()}")
        constants = stored(model)
        codes, scale, zero, stored_axis = constants["w"]
        others = tuple(i for i in range(w.ndim) if i != axis)
        most = np.abs(w).max(axis=others) if channels else np.abs(w).max()
        expect_equal(scale.shape, (5,) if channels else (), "shape of the scale")
        expect(np.allclose(scale, most / 127, rtol=1e-6, atol=0), f"scales {scale}, expected {most / 127}")
        expect(not np.any(zero), f"zero points {zero}")
        if channels:
            expect_equal(stored_axis % w.ndim, axis, "axis")
        spread = scale.reshape([5 if i == axis else 1 for i in range(w.ndim)]) if channels else scale
        expect_codes(codes, codes_of(w, spread, 0, (-128, 127)), "weight")
        bias_codes, bias_scale, bias_zero, _ = constants["b"]
        expect_equal(bias_codes.dtype.name, "int32", "type of the bias")
        product = quantizers(model)["x"][0] * scale
        expect(np.allclose(bias_scale, product, rtol=1e-6, atol=0), f"scale of the bias {bias_scale}, expected {product}")
        expect(not np.any(bias_zero), f"zero points of the bias {bias_zero}")
        expect_codes(bias_codes, np.rint(b.astype(np.float64) / np.broadcast_to(product, b.shape)), "bias")


@test(cases=["Conv", "Gemm"])
def asymmetric_weights_use_the_whole_type(kind):
    rng = np.random.default_rng(3)
    with temp_folder() as folder:
        source, w, _, _, shape = layer_model(rng, kind)
        samples = os.path.join(folder, "samples")
        random_samples(samples, shape)
        model = quantized(folder, source, samples, "A8W8", "weight_type=QuantType.QUInt8", "WeightSymmetric=false")
        codes, scale, zero, _ = stored(model)["w"]
        wanted, wanted_zero = expected_params(w.min(), w.max(), (0, 255), False)
        expect_scale(scale, wanted, "weight")
        expect(abs(int(zero) - wanted_zero) <= 1, f"zero point {zero}, expected {wanted_zero}")
        expect_codes(codes, codes_of(w, scale, int(zero), (0, 255)), "weight")
        expect(codes.min() == 0 and codes.max() == 255, f"integers from {codes.min()} to {codes.max()}")


@test(cases=["Conv", "Gemm"])
def weights_of_the_npu_have_the_best_power_of_two(kind):
    rng = np.random.default_rng(8)
    with temp_folder() as folder:
        source, w, _, _, shape = layer_model(rng, kind)
        samples = os.path.join(folder, "samples")
        random_samples(samples, shape)
        off = [f"{name}=false" for name in ("AdjustShiftCut", "AdjustShiftBias", "AdjustShiftRead", "AdjustShiftWrite")]
        model = quantized(folder, source, samples, "XINT8", "include_cle=false", "quarkq.rounding=nearest", *off)
        codes, scale, zero, _ = stored(model)["w"]
        expect(not np.any(zero), f"zero point {zero}")
        expect_equal(np.log2(float(scale)) % 1, 0.0, "fraction of log2(scale)")

        def error(candidate):
            return float(((np.clip(np.rint(w / candidate), -127, 127) * candidate - w).astype(np.float64) ** 2).sum())
        start = 2.0 ** np.rint(np.log2(2 * float(np.abs(w).max()) / 254))
        best = min(error(start * step) for step in (2.0, 1.0, 0.5, 0.25, 0.125))
        expect(error(float(scale)) <= best * (1 + 1e-6), f"scale {float(scale)} has the error {error(float(scale))}, the best is {best}")
        limits = (-127, 127) if codes.min() >= -127 else (-128, 127)
        expect_codes(codes, codes_of(w, float(scale), 0, limits), "weight")


@test()
def a_range_file_decides_over_samples():
    """Settings of single tensors win over what was seen."""
    with temp_folder() as folder:
        samples = os.path.join(folder, "samples")
        random_samples(samples, [2, 50])
        model = quantized(folder, square_model([2, 50]), samples, "A8W8", "TensorQuantOverrides={x: [{scale: 0.5, zero_point: 3}]}", "ActivationSymmetric=false")
        scale, zero = quantizers(model)["x"]
        expect_equal((float(scale), int(zero)), (0.5, 3), "scale and zero point of x")


@test()
def not_a_number_among_samples_is_refused():
    with temp_folder() as folder:
        samples = os.path.join(folder, "samples")
        random_samples(samples, [2, 50])
        bad = np.zeros((2, 50), np.float32)
        bad[1, 7] = np.nan
        np.save(os.path.join(samples, "bad.npy"), bad)
        source, out = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(square_model([2, 50]), source)
        result = run("quantize", "--config", "A8W8", "--calib", samples, "-o", out, source)
        expect(result.returncode != 0 and not os.path.exists(out), f"it ended with {result.returncode}")
        expect("bad.npy" in result.stderr, result.stderr)
