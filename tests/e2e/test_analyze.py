# SPDX-License-Identifier: MIT
"""quarkq analyze: the layer that is to blame is found, and the settings it writes repair the model."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, expect, expect_equal, quarkq, run, temp_folder, test


def bad_layer_model(path):
    """Three 1x1 convolutions; the weights of the second span six orders of magnitude, so that 8 bits lose most of them."""
    random = np.random.default_rng(3)
    weights = [random.normal(0, 0.3, (8, 8, 1, 1)).astype(np.float32) for _ in range(3)]
    weights[1][:, 0] *= 1e-4
    weights[1][0, 0] = 300
    weights[2][:, 0] = 0  # the large channel has no reader
    weights[0][0] = 1e-6
    nodes = []
    for i, name in enumerate(("first", "second", "third")):
        nodes.append(helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"], name=name))
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1, 8, 4, 4])],
                              [helper.make_tensor_value_info("t3", TensorProto.FLOAT, [1, 8, 4, 4])],
                              [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def prepared(folder):
    model, calib = os.path.join(folder, "net.onnx"), os.path.join(folder, "calib")
    bad_layer_model(model)
    os.mkdir(calib)
    random = np.random.default_rng(5)
    for i in range(6):
        np.save(os.path.join(calib, f"{i}.npy"), random.normal(0, 1, (1, 8, 4, 4)).astype(np.float32))
    return model, calib


def analyze(model, calib, *more, config="a8w8"):
    # Without equalization, which would repair the model by itself.
    return json.loads(quarkq("analyze", model, "--config", config, "--calib", calib, "--set", "include_cle=false", "--json", *more).stdout)


@test(cases=[("one-quantized",), ("one-float", "--all-but-one")])
def the_bad_layer_comes_first(case):
    mode, *flags = case
    with temp_folder() as folder:
        report = analyze(*prepared(folder), *flags)
    expect_equal(report["mode"], mode, "mode")
    expect_equal(report["layers"][0]["names"], ["second"], "worst layer")
    expect_equal(len(report["layers"]), 3, "layers")
    expect_equal(report["leave_out"], [], "left out, unasked")
    expect(report["nothing_quantized"]["sqnr_db"] is None or report["nothing_quantized"]["sqnr_db"] > 100, f"nothing quantized: {report['nothing_quantized']}")
    alone, all_but = report["layers"][0]["sqnr_db"], report["all_quantized"]["sqnr_db"]
    if mode == "one-quantized":
        expect(alone < 5 + all_but < 20, f"alone {alone} dB, everything {all_but} dB")
    else:
        expect(alone > all_but + 10, f"without it {alone} dB, everything {all_but} dB")


@test(cases=["", "Int16"])
def the_settings_file_mends_the_model(data_type):
    with temp_folder() as folder:
        model, calib = prepared(folder)
        settings, out = os.path.join(folder, "careful.yaml"), os.path.join(folder, "out.onnx")
        report = analyze(model, calib, "--min-cos", "0.99", "--write", settings, *(["--type", data_type] if data_type else []))
        expect_equal(report["leave_out"], ["second"], "left out")
        expect(report["left_out"]["cosine"] >= 0.99 > report["all_quantized"]["cosine"], f"cosines {report['left_out']}, {report['all_quantized']}")
        repaired = json.loads(quarkq("quantize", model, "--config", settings, "--calib", calib, "-o", out, "--json").stdout)
        types = {node.input[2].rsplit("_", 2)[0]: node for node in onnx.load(out).graph.node if node.op_type == "QuantizeLinear"}
    expect(repaired["outputs"][0]["cosine"] >= 0.99, f"with the file: {repaired['outputs']}")
    expect(("activation INT16" in repaired["tensors"]) == bool(data_type), f"tensors {repaired['tensors']}")
    expect(types, "no Q/DQ nodes")


@test()
def a_gate_that_cannot_be_reached():
    with temp_folder() as folder:
        model, calib = prepared(folder)
        settings = os.path.join(folder, "careful.yaml")
        result = run("analyze", model, "--config", "a8w8", "--calib", calib, "--min-cos", "1", "--most", "1", "--write", settings)
        expect(os.path.exists(settings), "no settings file")
    expect_equal(result.returncode, 5, "exit code")
    expect("required is 1.0" in result.stderr, result.stderr)


@test(cases=["u8s8_aaws", "s8s8_aaws", "u8u8_aawa", "int8_cnn_default", "xint8", "vint8", "bfp16"])
def nothing_quantized_is_the_float_model(preset):
    """Presets that fold Relu away, too: the Relu stays where nothing is quantized."""
    example = os.path.join(ROOT, "examples", "digits")
    report = json.loads(quarkq("analyze", os.path.join(example, "digits.onnx"), "--config", preset, "--calib", os.path.join(example, "calib"), "--json").stdout)
    expect(report["nothing_quantized"]["cosine"] > 0.99999, f"nothing quantized: {report['nothing_quantized']}")
    expect(min(layer["cosine"] for layer in report["layers"]) > 0.99, f"layers {report['layers']}")
    expect(not [finding for finding in report["findings"] if finding["id"] == "rewritten-float"], f"findings {report['findings']}")


def one_node_model(folder, op, dtype, **attributes):
    model, calib = os.path.join(folder, "one.onnx"), os.path.join(folder, "calib")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"), helper.make_node(op, ["c"] * (2 if op == "Div" else 1), ["y"], name="last", **attributes)]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 4, 4])],
                              [helper.make_tensor_value_info("y", dtype, [1, 4, 4, 4])], [numpy_helper.from_array(np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    os.mkdir(calib)
    values = np.random.default_rng(1).normal(0, 1, (1, 4, 4, 4)).astype(np.float32)
    values[0, 0, 0, 0] = 1e-4  # becomes zero in 8 bits
    np.save(os.path.join(calib, "0.npy"), values)
    return model, calib


@test()
def not_a_number_is_the_worst():
    with temp_folder() as folder:
        model, calib = one_node_model(folder, "Div", TensorProto.FLOAT)  # 0 / 0
        result = run("analyze", model, "--config", "a8w8", "--calib", calib, "--set", "nodes_to_exclude=[last]", "--min-cos", "0.999", "--most", "0", "--json")
    expect_equal(result.returncode, 5, f"exit code with {result.stderr!r}")
    expect_equal(json.loads(result.stdout)["all_quantized"], {"cosine": -1, "sqnr_db": -400}, "agreement")


@test()
def outputs_that_cannot_be_compared():
    with temp_folder() as folder:
        model, calib = one_node_model(folder, "ArgMax", TensorProto.INT64)
        result = run("analyze", model, "--config", "a8w8", "--calib", calib)
    expect_equal(result.returncode, 3, "exit code")
    expect("output" in result.stderr, result.stderr)


@test(cases=[("dual pairs", "a8w8", ["EnableDualQuantNodePairs=true", "specific_layer_config=[{layers: [second], config: {input_tensors: Int16Spec, weight: Int16Spec}}]"]),
             ("mixed", "bf16_mixed_bfp16", [])])
def works_with(case):
    _, preset, sets = case
    with temp_folder() as folder:
        model, calib = prepared(folder)
        report = json.loads(quarkq("analyze", model, "--config", preset, "--calib", calib, "--json", *[word for text in sets for word in ("--set", text)]).stdout)
    expect_equal(len(report["layers"]), 3, "layers")
    expect_equal(any(finding["id"] == "trials-are-plain" for finding in report["findings"]), preset.startswith("bf16"), "warning of plain trials")


@test()
def names_that_look_like_patterns():
    with temp_folder() as folder:
        model, calib = prepared(folder)
        proto = onnx.load(model)
        proto.graph.node[1].name = "^sec(ond$"
        onnx.save(proto, model)
        settings = os.path.join(folder, "careful.yaml")
        analyze(model, calib, "--min-cos", "0.99", "--write", settings)
        repaired = json.loads(quarkq("quantize", model, "--config", settings, "--calib", calib, "-o", os.path.join(folder, "out.onnx"), "--json").stdout)
    expect(repaired["outputs"][0]["cosine"] >= 0.99, f"with the file: {repaired['outputs']}")


BAD = [
    ("dynamic", ["--config", "uint8_dynamic_quant"], 2, "Q/DQ"),
    ("no samples", ["--config", "a8w8"], 2, "--calib"),
    ("unknown type", ["--config", "a8w8", "--calib", "CALIB", "--min-cos", "0.99", "--write", "FILE", "--type", "Int99"], 2, "Int99"),
    ("no folder for the file", ["--config", "a8w8", "--calib", "CALIB", "--min-cos", "0.9", "--write", "nowhere/x.yaml"], 1, "nowhere"),
    ("write without a goal", ["--config", "a8w8", "--calib", "CALIB", "--write", "FILE"], 2, "--min-cos"),
    ("type without a file", ["--config", "a8w8", "--calib", "CALIB", "--type", "Int16"], 2, "--write"),
    ("no cosine", ["--config", "a8w8", "--calib", "CALIB", "--min-cos", "7"], 2, "--min-cos"),
    ("zero samples", ["--config", "a8w8", "--calib", "CALIB", "--samples", "0"], 2, "--samples"),
]


@test(cases=BAD)
def refused(case):
    _, arguments, code, named = case
    with temp_folder() as folder:
        model, calib = prepared(folder)
        settings = os.path.join(folder, "careful.yaml")
        result = run("analyze", model, *[{"CALIB": calib, "FILE": settings}.get(word, word) for word in arguments])
        expect(not os.path.exists(settings), "a settings file was left")
    expect_equal(result.returncode, code, f"exit code with {result.stderr!r}")
    expect(named in result.stderr, result.stderr)


@test(cases=["xint8", "kept"])
def conversions_to_blame_are_named(case):
    """HardSigmoid is two thirds as steep near 0.5, where half of the channels are, and like Sigmoid where it saturates."""
    random = np.random.default_rng(9)
    first, last = (random.normal(0, 1, shape).astype(np.float32) for shape in ((8, 8, 1, 1), (4, 8, 1, 1)))
    first[:4] *= 0.1
    first[4:] *= 6
    last[:, :4] *= 6
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], name="first"), helper.make_node("Sigmoid", ["a"], ["b"], name="gate"), helper.make_node("Conv", ["b", "w1", "bias"], ["y"], name="last")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 4, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
                              [numpy_helper.from_array(first, "w0"), numpy_helper.from_array(last, "w1"), numpy_helper.from_array(-0.5 * last.sum(axis=(1, 2, 3)), "bias")])
    with temp_folder() as folder:
        _, calib = prepared(folder)
        model = os.path.join(folder, "gated.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        more = ["--set", "ConvertSigmoidToHardSigmoid=false"] if case == "kept" else []
        report = json.loads(quarkq("analyze", model, "--config", "xint8", "--calib", calib, "--json", *more).stdout)
    said = [finding["text"] for finding in report["findings"] if finding["id"] == "rewritten-float"]
    if case == "kept":
        expect_equal(said, [], "conversions blamed")
    else:
        expect(said and "--set ConvertSigmoidToHardSigmoid=false keeps what they replaced" in said[0], f"cosine {report['nothing_quantized']}, {said}")
