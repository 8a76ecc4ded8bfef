# SPDX-License-Identifier: MIT
"""quarkq import: quantized models of other tools, written for a target with their own scales."""
import json
import logging
import os

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from harness import expect, expect_equal, quarkq, run, temp_folder, test
from target_network import network, samples

logging.getLogger().setLevel(logging.ERROR)  # the tool recommends a step before, which these models do not need
X = np.random.default_rng(3).random((1, 3, 8, 8), dtype=np.float32)


class Reader(CalibrationDataReader):
    def __init__(self):
        self.left = [X * scale for scale in (0.5, 1.0)]

    def get_next(self):
        return {"x": self.left.pop()} if self.left else None


def by_onnxruntime(folder, **options):
    path = os.path.join(folder, "ort.onnx")
    quantize_static(network(folder, batch=1), path, Reader(), quant_format=QuantFormat.QDQ, **options)
    return path


def by_quarkq(folder, preset):
    path = os.path.join(folder, "own.onnx")
    quarkq("quantize", network(folder, batch=1), "--config", preset, "--calib", samples(folder), "-o", path)
    return path


def imported(folder, path, *options):
    out = os.path.join(folder, "imported.onnx")
    result = quarkq("import", path, "-o", out, "--json", *options)
    return out, json.loads(result.stdout)


def outputs(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]


def stored(path):
    """Scales and stored integers, as sorted bytes."""
    model = onnx.load(path)
    return sorted({numpy_helper.to_array(one).tobytes() for one in model.graph.initializer if numpy_helper.to_array(one).size > 0})


CASES = [("U8S8", dict(activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)),
         ("S8S8 symmetric", dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, extra_options={"ActivationSymmetric": True})),
         ("per channel", dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, per_channel=True)),
         ("in com.microsoft", dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, extra_options={"UseQDQContribOps": True}))]


@test(cases=CASES)
def scales_and_results_stay(case):
    with temp_folder() as folder:
        path = by_onnxruntime(folder, **case[1])
        out, report = imported(folder, path, "--target", "x2")
        onnx.checker.check_model(out, full_check=True)
        np.testing.assert_allclose(outputs(path), outputs(out), rtol=1e-5, atol=1e-6)
        expect(report["difference"] is not None and report["difference"] < 1e-4, f"difference {report['difference']}")
        expect("onnx.quantize" in report["producer"], f"producer {report['producer']}")
        expect(report["tensors"] > 5, f"{report['tensors']} tensors")
        for node in onnx.load(out).graph.node:
            expect_equal(node.domain, "", f"domain of {node.name}")
            expect(node.name, "a node without a name")
            if node.op_type == "Conv":
                expect({"strides", "pads", "dilations", "kernel_shape", "group"} <= {one.name for one in node.attribute}, "attributes")
        lost = [one for one in stored(path) if one not in stored(out)]
        expect(not lost, f"{len(lost)} scales or stored tensors changed")


@test(cases=["xint8", "a8w8", "a16w8", "vint8"])
def own_models_come_back_the_same(preset):
    with temp_folder() as folder:
        path = by_quarkq(folder, preset)
        out, report = imported(folder, path)
        np.testing.assert_allclose(outputs(path), outputs(out), rtol=1e-5, atol=1e-6)
        expect_equal(sum(report["quantizing_nodes"]["before"].values()), sum(report["quantizing_nodes"]["after"].values()), "quantizing nodes")


@test()
def a_pair_for_each_reader_where_the_target_wants_it():
    with temp_folder() as folder:
        path = by_onnxruntime(folder, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
        out, report = imported(folder, path, "--target", "gen2-vint8")
        model = onnx.load(out)
        readers = {}
        for node in model.graph.node:
            for name in node.input:
                readers[name] = readers.get(name, 0) + 1
        shared = [node.name for node in model.graph.node if node.op_type == "DequantizeLinear" and readers.get(node.output[0], 0) > 1]
        expect(not shared, f"DQ with several readers: {shared}")
        np.testing.assert_allclose(outputs(path), outputs(out), rtol=1e-5, atol=1e-6)


@test()
def float_on_request_and_for_targets_that_convert():
    with temp_folder() as folder:
        path = by_onnxruntime(folder, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
        for options in (["--float"], ["--target", "vaiml-bf16"]):
            out, report = imported(folder, path, *options)
            expect_equal(report["quantizing_nodes"]["after"], {}, f"quantizing nodes after {options}")
            a, b = outputs(path).ravel(), outputs(out).ravel()
            expect(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) > 0.98, "outputs differ from the quantized ones")


@test()
def old_names_become_those_of_onnx():
    with temp_folder() as folder:
        path = by_quarkq(folder, "xint8")
        model = onnx.load(path)
        for node in model.graph.node:
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                node.op_type, node.domain = "Vitis" + node.op_type, "com.vai.quantize"
        model.opset_import.append(helper.make_opsetid("com.vai.quantize", 1))
        old = os.path.join(folder, "old.onnx")
        onnx.save(model, old)
        out, report = imported(folder, old, "--target", "x1")
        np.testing.assert_allclose(outputs(path), outputs(out), rtol=1e-5, atol=1e-6)
        expect("VitisQuantizeLinear" in " ".join(report["quantizing_nodes"]["before"]), f"found {report['quantizing_nodes']}")
        expect(all(node.domain == "" for node in onnx.load(out).graph.node), "nodes of other domains")


@test()
def float_models_and_unwritable_places_are_refused():
    with temp_folder() as folder:
        model, out = network(folder), os.path.join(folder, "o.onnx")
        refused = run("import", model, "-o", out)
        expect(refused.returncode == 3 and "is a float model" in refused.stderr, f"{refused.returncode}: {refused.stderr}")
        refused = run("import", model, "-o", model)
        expect(refused.returncode != 0 and os.path.exists(model), f"the input was overwritten: {refused.stderr}")
        expect(not os.path.exists(out), "an output was written")


@test(cases=[("one axis", 1, 1), ("two spellings of the axis", 1, -2)])
def activations_with_a_scale_for_each_channel_stay(case):
    """A plan has one scale for an activation; that such pairs are nodes of their own was taken for a bug of the program."""
    _, first, second = case
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=first), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=second),
             helper.make_node("Relu", ["d"], ["r"]), helper.make_node("QuantizeLinear", ["r", "t"], ["p"]), helper.make_node("DequantizeLinear", ["p", "t"], ["e"]),
             helper.make_node("Neg", ["e"], ["y"])]
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3, 4]) for name in ("x", "y")]
    stored = [numpy_helper.from_array(np.array([0.05, 0.01, 0.02], np.float32), "s"), numpy_helper.from_array(np.zeros(3, np.int8), "z"),
              numpy_helper.from_array(np.array(0.02, np.float32), "t")]
    x = np.random.default_rng(4).standard_normal((2, 3, 4)).astype(np.float32)
    with temp_folder() as folder:
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "o.onnx")
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", infos[:1], infos[1:], stored), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        quarkq("import", path, "-o", out, "--target", "ort-cpu", "--quiet")
        results = [onnxruntime.InferenceSession(one, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0] for one in (path, out)]
        expect_equal(results[1].tobytes(), results[0].tobytes(), "results")
