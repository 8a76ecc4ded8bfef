# SPDX-License-Identifier: MIT
"""Values that a format cannot hold: large biases, parts in float16, infinities in outputs, settings out of a type's range."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from presets import BLOCKS, INTEGERS, results
from reference import cosine

IMAGE = (1, 3, 8, 8)
SAMPLES = 16


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def stored(name, array, kind=np.float32):
    return numpy_helper.from_array(np.asarray(array, kind), name)


def save_model(folder, nodes, inputs, outputs, constants, opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    path = os.path.join(folder, "m.onnx")
    onnx.save(model, path)
    return path


def save_inputs(folder, shape, name="x", dtype=np.float32):
    """The samples as feeds; their files are in folder/samples."""
    rng = np.random.default_rng(3)
    os.makedirs(os.path.join(folder, "samples"), exist_ok=True)
    feeds = [{name: rng.standard_normal(shape).astype(dtype)} for _ in range(SAMPLES)]
    for i, feed in enumerate(feeds):
        np.save(os.path.join(folder, "samples", f"s{i:02}.npy"), feed[name])
    return feeds


def quantized(folder, model, preset, *more):
    """Path of the result, and its report."""
    output, report = os.path.join(folder, "q.onnx"), os.path.join(folder, "r.json")
    quarkq("quantize", "-c", preset, "--calib", os.path.join(folder, "samples"), "-o", output, "--report", report, *more, model)
    with open(report, encoding="utf-8") as file:
        return output, json.load(file)


def finding_ids(report):
    return [finding["id"] for finding in report["findings"]]


def least_cosine(model, output, feeds):
    found = [(a, b) for a, b in zip(results(model, feeds), results(output, feeds))]
    expect(all(np.isfinite(b).all() for _, b in found), "the result holds NaN or infinities")
    return min(cosine(a, b) for a, b in found)


# Biases.

def conv_node(inputs, output, **attributes):
    return helper.make_node("Conv", inputs, [output], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], **attributes)


def dead_channel(folder):
    weight = np.random.default_rng(1).standard_normal((4, 3, 3, 3)) * 0.3
    weight[1] *= 1e-7
    return save_model(folder, [conv_node(["x", "w", "b"], "c"), helper.make_node("Relu", ["c"], ["y"], name="relu")], [value("x", IMAGE)],
                      [value("y", [1, 4, 8, 8])], [stored("w", weight), stored("b", [0.1, 3, -0.2, 0.3])])


def depthwise(magnitude):
    def make(folder):
        rng = np.random.default_rng(1)
        return save_model(folder, [conv_node(["x", "w", "b"], "y", group=3)], [value("x", IMAGE)], [value("y", IMAGE)],
                          [stored("w", rng.standard_normal((3, 1, 3, 3)) * magnitude), stored("b", [2, -2, 1])])
    return make


def gemm(magnitude):
    def make(folder):
        rng = np.random.default_rng(1)
        return save_model(folder, [helper.make_node("Flatten", ["x"], ["f"], name="flat"), helper.make_node("Gemm", ["f", "w", "b"], ["y"], name="gemm")],
                          [value("x", IMAGE)], [value("y", [1, 4])],
                          [stored("w", rng.standard_normal((192, 4)) * magnitude), stored("b", [2, -1, 0.5, 2])])
    return make


def transposed(folder):
    weight = np.random.default_rng(1).standard_normal((3, 4, 2, 2)) * 0.3
    weight[:, 2] *= 1e-8
    return save_model(folder, [helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], name="up", strides=[2, 2], kernel_shape=[2, 2])],
                      [value("x", IMAGE)], [value("y", [1, 4, 16, 16])], [stored("w", weight), stored("b", [0.1, 0.2, 5, -1])])


def dead_before_relu(folder):
    """A channel that no input makes positive, as equalization leaves them: its bias needs no steps."""
    rng = np.random.default_rng(1)
    nodes = [conv_node(["x", "w", "b"], "c"), helper.make_node("Relu", ["c"], ["y"], name="relu")]
    return save_model(folder, nodes, [value("x", IMAGE)], [value("y", [1, 4, 8, 8])],
                      [stored("w", rng.standard_normal((4, 3, 3, 3)) * 0.3), stored("b", [0.1, -4e6, 0.2, -1])])


BIASES = {"dead channel": dead_channel, "depthwise 0.01": depthwise(0.01), "depthwise 1e-4": depthwise(1e-4), "gemm 0.01": gemm(0.01),
          "gemm 1e-4": gemm(1e-4), "gemm 1e-7": gemm(1e-7), "transposed": transposed}
FLOW = [("per tensor", ()), ("per channel", ("--set", "per_channel=true")), ("int32", ("--set", "Int32Bias=true"))]


@test(cases=[(f"{preset}, {flow}", preset, sets) for preset in INTEGERS for flow, sets in FLOW
             if preset not in ("xint8", "xint8_block") or flow != "per channel"])  # the target has one scale per tensor
def large_biases_are_kept(case):
    _, preset, sets = case
    worst = {}
    for name, make in BIASES.items():
        with temp_folder() as folder:
            model, feeds = make(folder), save_inputs(folder, IMAGE)
            output, report = quantized(folder, model, preset, "--on-collapse", "warn", *sets)
            worst[name] = least_cosine(model, output, feeds)
            expect("bias-saturated" not in finding_ids(report), f"{name}: a bias saturates")
    low = {name: round(found, 4) for name, found in worst.items() if found < 0.98}
    expect(not low, f"cosines below 0.98: {low}")
    return f"worst cosine {min(worst.values()):.4f}"


@test(cases=[preset for preset in INTEGERS if preset not in ("xint8", "xint8_block", "vint8", "s16s16_mixed_s8s8")])  # their biases have 8 bits
def a_bias_below_relu_takes_no_steps_from_weights(preset):
    with temp_folder() as folder:
        model, feeds = dead_before_relu(folder), save_inputs(folder, IMAGE)
        found = least_cosine(model, quantized(folder, model, preset, "--on-collapse", "warn")[0], feeds)
    expect(found > 0.99, f"cosine {found:.4f}")


@test()
def a_bias_that_must_saturate_is_named():
    with temp_folder() as folder:
        model, _ = dead_channel(folder), save_inputs(folder, IMAGE)
        given = {"w": [{"scale": 1e-9, "zero_point": 0}]}
        _, report = quantized(folder, model, "a8w8", "--on-collapse", "warn", "--set", "TensorQuantOverrides=" + json.dumps(given))
        found = [one for one in report["findings"] if one["id"] == "bias-saturated"]
    expect(found and "node conv" in found[0]["text"] and "channels" in found[0]["text"], f"found {found}")


# Parts in float16.

def half_part(folder, nodes, constants=(), io=TensorProto.FLOAT, opset=17):
    """A Conv in float32, `nodes` from i to o in float16, a Conv in float32."""
    rng = np.random.default_rng(1)
    dtype = helper.tensor_dtype_to_np_dtype(io)
    first = [] if io == TensorProto.FLOAT else [helper.make_node("Cast", ["x"], ["xf"], name="in", to=TensorProto.FLOAT)]
    last = [] if io == TensorProto.FLOAT else [helper.make_node("Cast", ["yf"], ["y"], name="out", to=io)]
    before, after = ("x" if not first else "xf"), ("y" if not last else "yf")
    body = [conv_node([before, "w0", "b0"], "c"), helper.make_node("Cast", ["c"], ["i"], name="to_half", to=TensorProto.FLOAT16), *nodes,
            helper.make_node("Cast", ["o"], ["f"], name="to_float", to=TensorProto.FLOAT),
            helper.make_node("Conv", ["f", "w1"], [after], name="last", kernel_shape=[1, 1])]
    tables = [stored("w0", rng.standard_normal((4, 3, 3, 3)) * 0.3), stored("b0", rng.standard_normal(4) * 0.3),
              stored("w1", rng.standard_normal((3, 4, 1, 1)) * 0.3), *constants]
    model = save_model(folder, [*first, *body, *last], [value("x", IMAGE, io)], [value("y", IMAGE, io)], tables, opset)
    return model, save_inputs(folder, IMAGE, dtype=dtype)


def half(name, shape, scale=0.3):
    return stored(name, np.random.default_rng(5).standard_normal(shape) * scale, np.float16)


PARTS = {
    "relu": ([helper.make_node("Relu", ["i"], ["o"], name="relu")], []),
    "softmax": ([helper.make_node("Softmax", ["i"], ["o"], name="softmax")], []),
    "matmul and softmax": ([helper.make_node("MatMul", ["i", "wm"], ["r1"], name="mm"), helper.make_node("Add", ["r1", "bm"], ["r2"], name="add"),
                            helper.make_node("Softmax", ["r2"], ["o"], name="softmax")], [half("wm", (8, 8)), half("bm", 8)]),
    "conv": ([helper.make_node("Conv", ["i", "wc", "bc"], ["o"], name="half_conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
             [half("wc", (4, 4, 3, 3)), half("bc", 4)]),
    "sigmoid and mul": ([helper.make_node("Sigmoid", ["i"], ["s"], name="sigmoid"), helper.make_node("Mul", ["i", "s"], ["o"], name="gate")], []),
    "concat": ([helper.make_node("Concat", ["i", "i"], ["t"], name="cat", axis=1), helper.make_node("Conv", ["t", "wt"], ["o"], name="mix", kernel_shape=[1, 1])],
               [half("wt", (4, 8, 1, 1))]),
}
LEAST = {"mx4": 0.85, "mxfp4e2m1": 0.85, "mxfp6e3m2": 0.9, "mxfp8e5m2": 0.9}


@test(cases=INTEGERS + BLOCKS)
def parts_in_float16(preset):
    worst = {}
    for name, (nodes, constants) in PARTS.items():
        for opset in (13, 17, 21):
            with temp_folder() as folder:
                model, feeds = half_part(folder, nodes, constants, opset=opset)
                output, _ = quantized(folder, model, preset, "--on-collapse", "warn")
                worst[f"{name}, opset {opset}"] = least_cosine(model, output, feeds)
    low = {name: round(found, 4) for name, found in worst.items() if found < LEAST.get(preset, 0.97)}
    expect(not low, f"low cosines: {low}")
    return f"worst cosine {min(worst.values()):.4f}"


@test(cases=["xint8", "a8w8", "vint8", "bf16"])
def float16_inputs_and_outputs_keep_their_type(preset):
    with temp_folder() as folder:
        model, feeds = half_part(folder, *PARTS["conv"], io=TensorProto.FLOAT16)
        output, report = quantized(folder, model, preset, "--target", "none", "--on-collapse", "warn")
        graph = onnx.load(output).graph
        for one in (graph.input[0], graph.output[0]):
            expect_equal(one.type.tensor_type.elem_type, TensorProto.FLOAT16, f"type of {one.name}")
        expect("float16-widened" in finding_ids(report), "nothing is said of the part in float16")
        expect(least_cosine(model, output, feeds) > 0.97, "the result is far from the float model")


# Infinities and NaN in outputs.

def masked_output(folder, low, is_added=False):
    """A Conv whose result is masked, by a choice or by an addition."""
    rng = np.random.default_rng(1)
    keep = rng.random((1, 4, 8, 8)) > 0.5
    mask = helper.make_node("Add", ["c", "bias"], ["y"], name="mask") if is_added else helper.make_node("Where", ["keep", "c", "low"], ["y"], name="mask")
    tables = [stored("bias", np.where(keep, 0, low))] if is_added else [stored("keep", keep, bool), stored("low", low)]
    return save_model(folder, [conv_node(["x", "w", "b"], "c"), mask], [value("x", IMAGE)], [value("y", [1, 4, 8, 8])],
                      [stored("w", rng.standard_normal((4, 3, 3, 3)) * 0.3), stored("b", rng.standard_normal(4)), *tables])


@test(cases=[(f"{preset}, {low}{', added' if is_added else ''}", preset, low, is_added) for preset in INTEGERS + BLOCKS for low in (-np.inf, np.inf)
             for is_added in (False, True)])
def equal_infinities_are_left_out(case):
    _, preset, low, is_added = case
    with temp_folder() as folder:
        model, feeds = masked_output(folder, low, is_added), save_inputs(folder, IMAGE)
        output, report = quantized(folder, model, preset)
        for a, b in zip(results(model, feeds), results(output, feeds)):
            expect(np.array_equal(np.isfinite(a), np.isfinite(b)), "other places of the result are infinite or NaN")
    if not report["outputs"]:  # nothing of it is quantized
        return
    found = report["outputs"][0]
    expect_equal(found["different_not_finite"], 0, "places that differ")
    expect(found["same_not_finite"] > 0 and found["cosine"] > (0.85 if "4" in preset else 0.95), f"found {found}")


@test(cases=["-nan", "nan"])
def summary_has_no_signed_nan(text):
    with temp_folder() as folder:
        model, _ = masked_output(folder, -np.inf), save_inputs(folder, IMAGE)
        output = os.path.join(folder, "q.onnx")
        result = quarkq("quantize", "-c", "a8w8", "--calib", os.path.join(folder, "samples"), "-o", output, model)
        compared = quarkq("evaluate", "--float", model, "--quantized", output, "--data", os.path.join(folder, "samples"))
    for one in (result, compared):
        expect(text not in one.stdout.split("\n\n")[-1], f"the summary says {text}: {one.stdout}")


@test()
def different_infinities_are_counted():
    with temp_folder() as folder:
        a, b = os.path.join(folder, "a"), os.path.join(folder, "b")
        for path, holes in ((a, {0: np.inf, 1: np.nan, 2: -np.inf}), (b, {0: np.inf, 1: np.nan, 2: 3.0, 3: np.nan})):
            os.makedirs(path)
            array = np.arange(1, 17, dtype=np.float32)
            for place, held in holes.items():
                array[place] = held
            np.save(os.path.join(path, "y.npy"), array)
        report = json.loads(quarkq("evaluate", a, b, "--json").stdout)
    pair = report["pairs"][0]
    expect_equal((pair["same_not_finite"], pair["different_not_finite"]), (2, 2), "counts")
    expect(abs(pair["cosine"] - 12 / 14) < 1e-9 and pair["l2"] is None, f"found {pair}")
    expect("output-not-finite" in finding_ids(report), "nothing is said of the values that differ")


# Settings of single tensors.

def two_convs(folder):
    rng = np.random.default_rng(1)
    nodes = [conv_node(["x", "w0", "b0"], "c"), helper.make_node("Relu", ["c"], ["m"], name="relu"),
             helper.make_node("Conv", ["m", "w1"], ["y"], name="last", kernel_shape=[1, 1])]
    return save_model(folder, nodes, [value("x", IMAGE)], [value("y", IMAGE)],
                      [stored("w0", rng.standard_normal((4, 3, 3, 3))), stored("b0", rng.standard_normal(4)), stored("w1", rng.standard_normal((3, 4, 1, 1)))])


def point(zero_point):
    return {"scale": 0.1, "zero_point": zero_point}


WRONG = [("above uint8", "u8s8_aaws", {"m": [point(256)]}, ("m.zero_point: found 256", "UINT8 is 0 to 255")),
         ("far above", "u8s8_aaws", {"m": [point(1000)]}, ("found 1000", "0 to 255")),
         ("below uint8", "u8s8_aaws", {"x": [point(-1)]}, ("x.zero_point: found -1", "0 to 255")),
         ("above int8", "s8s8_aaws", {"m": [point(128)]}, ("found 128", "INT8 is -128 to 127")),
         ("weight", "a8w8", {"w0": [point(200)]}, ("w0.zero_point: found 200", "-128 to 127")),
         ("power of two", "xint8", {"m": [point(-129)]}, ("found -129", "UINT8 is 0 to 255")),
         ("above uint16", "u16s8_aaws", {"m": [point(-2)]}, ("found -2", "UINT16 is 0 to 65535")),
         ("of a channel", "u8s8_aaws", {"w0": [point(0), point(0), point(300), point(0)]}, ("w0.zero_point: found 300",)),
         ("own type", "a8w8", {"m": [{"quant_type": "QuantType.QUInt8", **point(-5)}]}, ("found -5", "UINT8 is 0 to 255")),
         ("three of four", "u8s8_aaws", {"w0": [point(0)] * 3}, ("w0: found 3 entries", "1, or 4")),
         ("seven of four", "u8s8_aaws", {"w0": [point(0)] * 7}, ("w0: found 7 entries", "1, or 4")),
         ("three ranges of four", "a8w8", {"w0": [{"rmin": -1, "rmax": 1}] * 3}, ("w0: found 3 entries", "1, or 4")),
         ("activation", "u8s8_aaws", {"m": [point(0)] * 3}, ("m: found 3 entries", "allowed is 1"))]


@test(cases=WRONG)
def overrides_that_do_not_fit_are_refused(case):
    _, preset, overrides, texts = case
    with temp_folder() as folder:
        model, _ = two_convs(folder), save_inputs(folder, IMAGE)
        output = os.path.join(folder, "q.onnx")
        result = run("quantize", "-c", preset, "--calib", os.path.join(folder, "samples"), "-o", output, "--set",
                     "TensorQuantOverrides=" + json.dumps(overrides), model)
        expect_error(result, 2, *texts)
        expect(not os.path.exists(output), "a result was written")


@test(cases=[(preset, preset, kind) for preset in ("a8w8", "u8s8_aaws", "s16s8_asws", "xint8") for kind in ("ranges",)])
def each_channel_takes_its_own_range(case):
    _, preset, _ = case
    ranges = [{"rmin": -top, "rmax": top} for top in (1, 2, 3, 4)]
    with temp_folder() as folder:
        model, _ = two_convs(folder), save_inputs(folder, IMAGE)
        output, _ = quantized(folder, model, preset, "--on-collapse", "warn", "--set", "TensorQuantOverrides=" + json.dumps({"w0": ranges}))
        constants = {one.name: numpy_helper.to_array(one) for one in onnx.load(output).graph.initializer}
    scales = next(array for name, array in constants.items() if name.startswith("w0") and name.endswith("scale"))
    if preset != "xint8":
        expect(np.allclose(scales / scales[0], [1, 2, 3, 4], rtol=1e-5), f"scales {scales}")
    expect(np.all(np.diff(scales) >= 0) and scales[3] > scales[0], f"scales {scales}")
