# SPDX-License-Identifier: MIT
"""Weights in 4 bits outside of MatMulNBits: valid models of opset 21 that run alike here and in ONNX Runtime."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quantize, quarkq, run, run_model, shared, temp_folder, test
from reference import DIGITS, check_model, make_model, mean_cosines, onnxruntime_results, results_like, save_samples, shared_model, weights
from test_digits import top1

TYPES = {"QInt4": (TensorProto.INT4, -8, 7), "QUInt4": (TensorProto.UINT4, 0, 15)}
PRESET = "s8s8_aaws"
MODELS = {"resnet8_cifar10": lambda: (shared_model("resnet8_cifar10"), shared("golden", "inputs", "resnet8_cifar10", "calib"),
                                      shared("golden", "inputs", "resnet8_cifar10", "eval")),
          "digits": lambda: (os.path.join(DIGITS, "digits.onnx"), os.path.join(DIGITS, "calib"), os.path.join(DIGITS, "eval", "inputs"))}
CASES = [(f"{name}-{kind}-{'symmetric' if symmetric else 'asymmetric'}-{'channel' if channel else 'tensor'}", name, kind, symmetric, channel)
         for name in MODELS for kind in TYPES for symmetric in (True, False) for channel in (True, False)]
MIN_COSINE = 0.9999
MIN_CHANNEL_TOP1 = 93.0  # digits, per channel; 8 bits and float have 98


def sets(kind, symmetric, channel):
    values = {"weight_type": f"QuantType.{kind}", "WeightSymmetric": str(symmetric).lower(), "per_channel": str(channel).lower()}
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def stored(model):
    """{weight: (type, codes, float values)} of what DequantizeLinear nodes with constant inputs read."""
    constants = {one.name: one for one in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in constants:
            continue
        codes, scale, zero = (numpy_helper.to_array(constants[name]).astype(np.float64) for name in node.input)
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
        dims = [-1 if scale.ndim and i == axis % max(codes.ndim, 1) else 1 for i in range(codes.ndim)]
        spread = (value.reshape(dims) if scale.ndim else value for value in (scale, zero))
        step, centre = spread
        found[node.input[0]] = (constants[node.input[0]].data_type, codes, (codes - centre) * step, step)
    return found


@test(cases=CASES)
def int4_weights(case):
    """Valid; codes in range and next to the 8-bit model's weights; alike here and in ONNX Runtime."""
    label, name, kind, symmetric, channel = case
    path, calib, inputs = MODELS[name]()
    element, low, high = TYPES[kind]
    with temp_folder() as folder:
        model, fine, results = (os.path.join(folder, one) for one in ("q4.onnx", "q8.onnx", "results"))
        nearest = "--on-collapse", "warn", "--set", "quarkq.range_headroom=1"  # a rescue rounds otherwise; ranges are no subject here
        quantize(path, model, calib, PRESET, *sets(kind, symmetric, channel), *nearest)
        quantize(path, fine, calib, PRESET, *sets("QInt8", True, channel), *nearest)
        check_model(model)
        proto = onnx.load(model)
        expect(proto.opset_import[0].version >= 21 and proto.ir_version >= 10,
               f"opset {proto.opset_import[0].version}, IR {proto.ir_version}: 4 bits need 21 and 10")
        weights, exact = stored(proto), stored(onnx.load(fine))
        expect_equal(sorted(weights), sorted(exact), "stored tensors")
        expect(any(one[0] == element for one in weights.values()), f"no {kind} was stored")
        for weight, (found, codes, values, step) in weights.items():
            if exact[weight][0] != TensorProto.INT8:
                continue  # a bias
            expect_equal(found, element, f"type of {weight}")
            lowest = low + 1 if kind == "QInt4" and symmetric else low
            expect(lowest <= codes.min() and codes.max() <= high, f"{weight}: codes {codes.min():.0f} to {codes.max():.0f}")
            # UINT4 around 8 reaches one step further down than up.
            steps = np.abs(values - exact[weight][2]) / step
            bound = (1.0 if kind == "QUInt4" and symmetric else 0.5) + np.max(exact[weight][3] / step)
            expect(steps.max() <= bound, f"{weight}: {steps.max():.2f} steps off the 8-bit weights, at most {bound:.2f} expected")
        wanted = onnxruntime_results(model, inputs, optimize=False)
        run_model(model, inputs, results)
        lowest = min(mean_cosines(results_like(results, wanted), wanted).values())
        expect(lowest >= MIN_COSINE, f"cosine {lowest:.6f} to ONNX Runtime, at least {MIN_COSINE} expected")
        right = top1(results) if name == "digits" else None
        if right is None:
            return f"cosine to ONNX Runtime {lowest:.6f}"
        expect(not channel or right >= MIN_CHANNEL_TOP1, f"top-1 {right} %, at least {MIN_CHANNEL_TOP1} % expected")
        return f"cosine to ONNX Runtime {lowest:.6f}, top-1 {right} %"


@test(cases=["ExtendedQuantFormat.QDQ", "bf16", "AddQDQPairToWeight", "BiasCorrection", "include_fast_ft"])
def int4_beside_other_options(option):
    path, calib, inputs = MODELS["digits"]()
    preset, more = {"ExtendedQuantFormat.QDQ": (PRESET, ["quant_format=ExtendedQuantFormat.QDQ"]),
                    "bf16": ("bf16", []),
                    "AddQDQPairToWeight": (PRESET, ["AddQDQPairToWeight=true"]),
                    "BiasCorrection": (PRESET, ["BiasCorrection=true", "Int32Bias=false"]),
                    "include_fast_ft": (PRESET, ["include_fast_ft=true"])}[option]
    with temp_folder() as folder:
        model, results = os.path.join(folder, "q4.onnx"), os.path.join(folder, "results")
        quantize(path, model, calib, preset, *sets("QInt4", True, True), *(part for one in more for part in ("--set", one)))
        kinds = {one.data_type for one in onnx.load(model).graph.initializer}
        expect(TensorProto.INT4 in kinds, "no INT4 was stored")
        onnx.checker.check_model(model, full_check=True)
        run_model(model, inputs, results)
        right = top1(results)
        if preset != "bf16":  # nodes of com.amd.quark need a library (test_ort_ops)
            wanted = onnxruntime_results(model, inputs, optimize=False)
            lowest = min(mean_cosines(results_like(results, wanted), wanted).values())
            expect(lowest >= MIN_COSINE, f"cosine {lowest:.6f} to ONNX Runtime, at least {MIN_COSINE} expected")
    expect(option == "BiasCorrection" or right >= MIN_CHANNEL_TOP1, f"top-1 {right} %, at least {MIN_CHANNEL_TOP1} % expected")
    return f"top-1 {right} %"


@test()
def int4_is_shown_and_checked():
    path, calib, _ = MODELS["digits"]()
    with temp_folder() as folder:
        model = os.path.join(folder, "q4.onnx")
        quantize(path, model, calib, PRESET, *sets("QInt4", True, False))
        shown = quarkq("inspect", model).stdout
        expect("stored INT4" in shown, f"inspect does not name the type: {shown}")
        checked = run("check", model)
        expect(checked.returncode == 6 and "power_of_two" in checked.stdout + checked.stderr,
               f"check ended with {checked.returncode}, 6 expected: {checked.stderr.strip()}")


OWN = "TensorQuantOverrides={fc_w: [{quant_type: QuantType.QInt4}]}"
REFUSED = [("xint8", ["--config", "xint8"], "enable_npu_cnn"), ("GPTQ", ["--config", PRESET, "--set", "UseGPTQ=true"], "UseGPTQ"),
           ("compat", ["--config", PRESET, "--compat", "quark-0.13"], "quark-0.13")]


@test(cases=REFUSED)
def int4_of_one_weight_is_refused_where_nothing_takes_it(case):
    _, arguments, words = case
    path, calib, _ = MODELS["digits"]()
    with temp_folder() as folder:
        target = os.path.join(folder, "q4.onnx")
        result = run("quantize", path, *arguments, "--calib", calib, "-o", target, "--set", OWN)
        expect_equal(result.returncode, 2, "exit code")
        expect("tensor fc_w" in result.stderr and words in result.stderr, f"'tensor fc_w' and '{words}' expected in: {result.stderr.strip()}")
        expect("calibrate" not in result.stderr, f"calibrated before it was refused: {result.stderr.strip()}")
        expect(not os.path.exists(target), "a model was written")


@test()
def int4_is_no_xint8():
    """`check` names weights of 4 bits even when their scales are powers of two."""
    path, calib, _ = MODELS["digits"]()
    with temp_folder() as folder:
        model = os.path.join(folder, "q4.onnx")
        quantize(path, model, calib, "vint8", "--set", "weight_type=QuantType.QInt4")
        checked = run("check", model, "--target", "xint8")
        expect_equal(checked.returncode, 6, "exit code of check")
        expect("eight_bits" in checked.stdout and "power_of_two" not in checked.stdout, checked.stdout)


@test(cases=[("vint8", "vint8", [], TensorProto.INT8), ("Int32Bias", PRESET, ["--set", "Int32Bias=false"], TensorProto.INT8),
             ("default", PRESET, [], TensorProto.INT32)])
def a_bias_has_more_bits(case):
    _, preset, more, wanted = case
    path, calib, inputs = MODELS["digits"]()
    with temp_folder() as folder:
        model, results = os.path.join(folder, "q4.onnx"), os.path.join(folder, "results")
        quantize(path, model, calib, preset, "--set", "weight_type=QuantType.QInt4", *more)
        check_model(model)
        found = {name: one[0] for name, one in stored(onnx.load(model)).items()}
        biases = {name: kind for name, kind in found.items() if "_b_" in name or "_bias_" in name}
        expect(TensorProto.INT4 in found.values(), "no INT4 was stored")
        expect(biases and set(biases.values()) == {wanted}, f"types of the biases: {biases} among {found}")
        reference = onnxruntime_results(model, inputs, optimize=False)
        run_model(model, inputs, results)
        lowest = min(mean_cosines(results_like(results, reference), reference).values())
        expect(lowest >= MIN_COSINE, f"cosine {lowest:.6f} to ONNX Runtime, at least {MIN_COSINE} expected")


@test()
def names_that_store_no_int4_raise_no_opset():
    path, calib, _ = MODELS["digits"]()
    with temp_folder() as folder:
        model = os.path.join(folder, "q.onnx")
        for more in (["--set", "MixedPrecisionTensor={QuantType.QInt4: [fc_w]}"],
                     ["--set", "TensorQuantOverrides={nowhere: [{quant_type: QuantType.QInt4}]}", "--compat", "quark-0.13"]):  # else an error
            quantize(path, model, calib, PRESET, *more)
            expect_equal(onnx.load(model).opset_import[0].version, onnx.load(path).opset_import[0].version, f"opset with {more}")
        result = run("quantize", path, "--config", PRESET, "--calib", calib, "-o", model, "--set", "weight_type=QuantType.QInt4")
        expect("4-bit weights need opset 21" in result.stderr, f"the notice does not say why: {result.stderr.strip()}")


@test(cases=[("activation", "activation_type=QuantType.QInt4", "for weights only"),
             ("one activation", "TensorQuantOverrides={input: [{quant_type: QuantType.QUInt4}]}", "tensor input")])
def int4_activations_are_refused(case):
    _, setting, words = case
    path, calib, _ = MODELS["digits"]()
    setting = setting.replace("input", onnx.load(path).graph.input[0].name)
    words = words.replace("tensor input", "tensor " + onnx.load(path).graph.input[0].name)
    with temp_folder() as folder:
        target = os.path.join(folder, "q4.onnx")
        result = run("quantize", "--config", PRESET, "--calib", calib, "-o", target, "--set", setting, path)
        expect_equal(result.returncode, 2, "exit code")
        expect(words in result.stderr, f"'{words}' expected in: {result.stderr.strip()}")
        expect(not os.path.exists(target), "a model was written")


@test()
def a_softmax_is_not_named_as_the_largest_loss():
    with temp_folder() as folder:
        nodes = [helper.make_node("MatMul", ["x", "m"], ["p"], name="one"), helper.make_node("Relu", ["p"], ["r"], name="relu"),
                 helper.make_node("MatMul", ["r", "n"], ["o"], name="two"), helper.make_node("Softmax", ["o"], ["y"], name="last")]
        model = os.path.join(folder, "m.onnx")
        onnx.save(make_model(nodes, [("x", [1, 64])], [("y", [1, 16])], [weights("m", 64, 32), weights("n", 32, 16)]), model)
        calib = save_samples(os.path.join(folder, "calib"), count=16, shape=(1, 64))
        made = quantize(model, os.path.join(folder, "q.onnx"), calib, "a8w8", "--set", "weight_type=QuantType.QInt4", "--on-collapse", "warn",
                        "--set", "quarkq.min_cosine=0.999")
        expect("SQNR degrades gradually; largest loss at o of node two (MatMul)" in made.stderr, made.stderr)
