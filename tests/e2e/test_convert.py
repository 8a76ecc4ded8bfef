# SPDX-License-Identifier: MIT
"""quarkq convert: every conversion on a toy and on a shared model. Results pass onnx's checker, and where a conversion claims equal
outputs ONNX Runtime agrees, on the model as it stands, without its own rewrites."""
import glob
import json
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness import Skip, expect, expect_equal, quarkq, run, shared, temp_folder, test
from reference import LIBRARY, adds_products_exactly
from target_network import network, samples

X = np.random.default_rng(7).random((1, 3, 8, 8), dtype=np.float32)
RESNET, ULTRAFACE, VIT = "resnet8_cifar10", "ultraface_rfb_320", "vit_digits"


def outputs(path, feed, custom=False, fuses=False, entries=()):
    """`entries`: (key, value) of the session."""
    options = onnxruntime.SessionOptions()
    for entry in entries:
        options.add_session_config_entry(*entry)
    options.log_severity_level = 3
    if not fuses:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if custom:
        if not os.path.exists(LIBRARY):
            raise Skip("the library of custom operators was not built")
        options.register_custom_ops_library(LIBRARY)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: feed})


def integer_outputs(path, feed):
    """Of operators on integers, with exact sums where ONNX Runtime can (docs/running-elsewhere.md, processors without VNNI)."""
    if adds_products_exactly():
        return outputs(path, feed)
    try:
        return outputs(path, feed, fuses=True, entries=[("session.x64quantprecision", "1")])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:  # its operators with int8 activations
        return outputs(path, feed)


def converted(folder, model, *passes, name="converted.onnx"):
    """(the model, the report)"""
    out = os.path.join(folder, name)
    result = quarkq("convert", model, out, "--json", *(part for one in passes for part in ("--pass", one)))
    onnx.checker.check_model(out, full_check=True)
    return out, json.loads(result.stdout)


def quantized(folder, model, preset, calib, *more):
    """In the formats of the preset alone, without a rescue."""
    path = os.path.join(folder, f"{preset.lower()}.onnx")
    quarkq("quantize", model, "--config", preset, "--calib", calib, "-o", path, "--quiet", "--on-collapse", "warn", *more)
    return path


def toy(folder, preset, *more):
    """(path, sample) of a quantized network with Conv, Relu, shuffles and Add."""
    return quantized(folder, network(folder, batch=1), preset, samples(folder), *more), X


def real(folder, model, preset, *more):
    feed = np.load(sorted(glob.glob(shared("golden", "inputs", model, "eval") + "/*.npy"))[0])
    return quantized(folder, shared("models", model + ".onnx"), preset, shared("golden", "inputs", model, "calib"), *more), feed


def sources(folder, preset, model, *more):
    yield "toy", *toy(folder, preset, *more)
    yield model, *real(folder, model, preset, *more)


def relative(found, wanted):
    """Largest difference of the outputs, relative to their largest value."""
    return max(float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max() / max(np.abs(b).max(), 1e-30)) for a, b in zip(found, wanted))


def zero_point_types(path, weights=False):
    """Types of the zero points of activations, by name of the type."""
    model = onnx.load(path)
    stored = {one.name: one for one in model.graph.initializer}
    made = {output for node in model.graph.node for output in node.output} | {one.name for one in model.graph.input}
    return {TensorProto.DataType.Name(stored[node.input[2]].data_type) for node in model.graph.node
            if node.op_type.endswith(("QuantizeLinear", "DequantizeLinear")) and (node.input[0] in made) != weights}


# (conversions, preset, model, types of activations afterwards)
EQUAL = [("s8s8-to-u8s8", "S8S8_AAWS", RESNET, {"UINT8"}), ("u8s8-to-s8s8", "U8S8_AAWS", RESNET, {"INT8"}),
         ("u16s8-to-s16s8", "U16S8_AAWS", RESNET, {"INT16"}), ("s16s8-to-u16s8", "A16W8", RESNET, {"UINT16"}),
         ("dedicate-dq-node", "XINT8", RESNET, None), ("copy-shared-init", "XINT8", RESNET, None),
         ("remove-input-initializers", "A8W8", RESNET, None), ("custom-qdq-to-qdq:domain=ai.onnx", "A8W8", RESNET, {"INT8"}),
         ("convert-opset-version:version=21", "XINT8", RESNET, None), ("bf16-qdq-to-cast", "BF16", RESNET, None)]


@test(cases=EQUAL)
def claimed_equal_is_equal(case):
    conversion, preset, model, types = case
    with temp_folder() as folder:
        for name, path, feed in sources(folder, preset, model, "--target", "none"):
            out, report = converted(folder, path, conversion)
            step = report["passes"][0]
            expect_equal(step["outputs"], "equal", "the claim")
            wanted, found = outputs(path, feed, custom=True), outputs(out, feed, custom=True)
            expect(relative(found, wanted) <= 1e-6, f"{name}: outputs differ by {relative(found, wanted)}")
            if types is None:
                continue
            expect(step["changes"] > 0 and step["difference"] == 0.0, f"{name}: {step}")
            expect_equal(zero_point_types(out), types, f"{name}: zero points of activations")


# (conversions, preset, model, bound of the difference)
ROUNDED = [(["remove-qdq"], "A16W8", RESNET, 1e-3), (["dequantize"], "A16W8", ULTRAFACE, 5e-3), (["dequantize"], "U8S8_AAWS", RESNET, 0.3),
           (["u16u8-to-u8u8"], "U16S8_AAWS", RESNET, 0.1), (["a8w8-npu-to-cpu"], "XINT8", RESNET, 1e-2), (["int16-bias"], "A8W8", RESNET, 0.1),
           (["resize-scales-to-pof2"], "A16W8", "fastestdet_352", 1e-2), (["remove-qdq-between:pairs=[[Conv,Add],[Mul,Add]]"], "A16W8", RESNET, 1e-3),
           (["bf16-with-clip", "bf16-without-clip"], "BF16", RESNET, 1e-6), (["bf16-qdq-to-cast", "bf16-cast-to-qdq"], "BF16", RESNET, 1e-6),
           (["bf16-qdq-to-cast", "drop-bf16-casts"], "BF16", RESNET, 5e-2), (["dequantize"], "BFP16", RESNET, 5e-2)]


@test(cases=[("+".join(one[0]) + " " + one[1], one) for one in ROUNDED])
def claimed_rounded_is_close(case):
    conversions, preset, model, bound = case[1]
    with temp_folder() as folder:
        for name, path, feed in sources(folder, preset, model):
            out, report = converted(folder, path, *conversions)
            difference = relative(outputs(out, feed, custom=True), outputs(path, feed, custom=True))
            expect(difference <= bound, f"{name}: outputs differ by {difference}, allowed is {bound}")
            if name != "toy":
                expect(any(step["changes"] > 0 for step in report["passes"]), f"{name}: nothing changed: {report['passes']}")


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


@test()
def no_pair_is_left_and_a_folded_relu_comes_back():
    with temp_folder() as folder:
        path, _ = real(folder, RESNET, "S8S8_AAWS")
        out, _ = converted(folder, path, "remove-qdq")
        ops = operators(out)
        expect("QuantizeLinear" not in ops and "DequantizeLinear" in ops, "stored integers keep their DQ, pairs go")
        expect_equal(ops.count("Relu"), 7, "Relu nodes that the ranges had replaced")
        out, _ = converted(folder, path, "dequantize")
        expect(not [op for op in operators(out) if "Linear" in op], "Q/DQ are left")


QOPERATOR = [("S8S8_AAWS", RESNET), ("U8S8_AAWS", RESNET), ("XINT8", RESNET), ("A8W8", RESNET), ("S8S8_AAWS", VIT), ("XINT8", VIT), ("A8W8", "squeezenet1_1")]


@test(cases=[(f"{preset} {model}", preset, model) for preset, model in QOPERATOR])
def operators_on_integers(case):
    _, preset, model = case
    with temp_folder() as folder:
        # No activations of 16 bits, which have no operators on integers.
        for name, path, feed in sources(folder, preset, model):
            out, report = converted(folder, path, "convert-opset-version:version=20", "qdq-to-qoperator")
            ops, done = operators(out), report["passes"][-1]
            if name != "toy":  # one of its layers goes on in float, into a PRelu
                expect(not {"Conv", "MatMul", "Gemm"} & set(ops), f"{name}: on floats are {sorted(set(ops))}, left {done['left'][:3]}")
            difference = relative(integer_outputs(out, feed), outputs(path, feed))
            # Roundings of steps meet in deeper layers; a step of the outputs is 1/255.
            expect(difference <= 2 / 255, f"{name}: outputs differ by {difference}")
            if not adds_products_exactly():  # ONNX Runtime's own operators on integers saturate there
                continue
            fused = relative(outputs(out, feed), outputs(path, feed, fuses=True))
            expect(fused <= 1.2 / 255, f"{name}: outputs differ by {fused} from ONNX Runtime's own operators on integers")


def one_operator(op, inputs, extra=(), **attributes):
    """x (and y) -> Q -> DQ -> op -> Q -> DQ, activations in uint8."""
    constants = [numpy_helper.from_array(np.array(value, kind), name) for name, value, kind in
                 (("s", 0.02, np.float32), ("z", 121, np.uint8), ("so", 0.03, np.float32), ("zo", 117, np.uint8))]
    nodes = []
    for name in inputs:
        nodes += [helper.make_node("QuantizeLinear", [name, "s", "z"], [name + "q"]), helper.make_node("DequantizeLinear", [name + "q", "s", "z"], [name + "d"])]
    nodes += [helper.make_node(op, [name + "d" for name in inputs] + [one.name for one in extra], ["r"], name="only", **attributes),
              helper.make_node("QuantizeLinear", ["r", "so", "zo"], ["rq"]), helper.make_node("DequantizeLinear", ["rq", "so", "zo"], ["out"])]
    graph = helper.make_graph(nodes, "one", [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4, 6, 6]) for name in inputs],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, [None] * 4)], constants + list(extra))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


ALONE = [("Add", ["x", "y"], {}), ("Mul", ["x", "y"], {}), ("Sigmoid", ["x"], {}), ("LeakyRelu", ["x"], dict(alpha=0.2)), ("Concat", ["x", "y"], dict(axis=1)),
         ("AveragePool", ["x"], dict(kernel_shape=[2, 2], strides=[2, 2])), ("GlobalAveragePool", ["x"], {}), ("Softmax", ["x"], dict(axis=1)), ("MatMul", ["x", "y"], {})]


@test(cases=ALONE)
def one_operator_within_a_step(case):
    op, inputs, attributes = case
    random = np.random.default_rng(3)
    with temp_folder() as folder:
        path = os.path.join(folder, "one.onnx")
        onnx.save(one_operator(op, inputs, **attributes), path)
        out, report = converted(folder, path, "qdq-to-qoperator")
        expect_equal((report["passes"][0]["changes"], report["passes"][0]["left"]), (1, []), "what the conversion did")
        expect(f"QLinear{op}" in operators(out), f"operators {operators(out)}")
        feeds = {name: random.uniform(-2, 2, (2, 4, 6, 6)).astype(np.float32) for name in inputs}
        results = [onnxruntime.InferenceSession(one, providers=["CPUExecutionProvider"]).run(None, feeds)[0] for one in (path, out)]
        expect(np.abs(results[0] - results[1]).max() <= 0.03 * 1.001, f"differs by {np.abs(results[0] - results[1]).max() / 0.03} steps")


@test()
def what_has_no_operator_on_integers_is_named():
    with temp_folder() as folder:
        path = os.path.join(folder, "one.onnx")
        onnx.save(one_operator("Exp", ["x"]), path)
        out, report = converted(folder, path, "qdq-to-qoperator")
        expect_equal([one["node"] for one in report["passes"][0]["left"]], ["node only (Exp)"], "nodes left")
        refused = run("convert", path, out + "2", "--pass", "qdq-to-qoperator", "--strict")
        expect(refused.returncode == 3 and "node only (Exp)" in refused.stderr, f"{refused.returncode}: {refused.stderr}")
        expect(not os.path.exists(out + "2"), "a file was left")


FLOATS = [("fp32-to-fp16", 1e-2), ("fp32-to-fp16:keep_io=false", 1e-2), ("fp32-to-fp16:weights_only=true", 1e-2), ("fp32-to-bf16:weights_only=true", 5e-2),
          ("fp32-to-fp16:subgraphs=[[[Conv_2],[Add_11]]]", 1e-2)]


@test(cases=FLOATS)
def float_types(case):
    conversion, bound = case
    with temp_folder() as folder:
        model = shared("models", RESNET + ".onnx")
        feed = np.load(sorted(glob.glob(shared("golden", "inputs", RESNET, "eval") + "/*.npy"))[0])
        out, _ = converted(folder, model, conversion)
        kept = "keep_io=false" not in conversion
        found = outputs(out, feed if kept else feed.astype(np.float16))
        expect_equal(found[0].dtype, np.float32 if kept else np.float16, "type of the output")
        expect(relative(found, outputs(model, feed)) <= bound, "outputs differ")
        stored = {TensorProto.DataType.Name(one.data_type) for one in onnx.load(out).graph.initializer if np.prod(one.dims) > 1}
        wide = {"FLOAT"} if "subgraphs" in conversion else set()
        expect_equal(stored, {"BFLOAT16" if "bf16" in conversion else "FLOAT16"} | wide, "types of stored tensors")
        size, before = os.path.getsize(out), os.path.getsize(model)
        expect(wide or size < 0.6 * before, f"{size} bytes of {before}")
        back, _ = converted(folder, out, "bf16-to-fp32" if "bf16" in conversion else "fp16-to-fp32:keep_io=false", name="back.onnx")
        expect_equal(outputs(back, feed)[0].dtype, np.float32, "type after the way back")


@test()
def bfloat16_models_compute_as_their_types_say():
    """ONNX Runtime has no such kernels on CPUs: the result is checked, and run by quarkq."""
    with temp_folder() as folder:
        model = shared("models", RESNET + ".onnx")
        out, report = converted(folder, model, "convert-opset-version:version=22", "fp32-to-bf16")
        last = report["passes"][-1]
        expect_equal((last["left"], last["changes"]), ([], 23), "what changed")
        expect(0 < last["difference"] < 0.2, f"difference {last['difference']}")
        _, report = converted(folder, model, "fp32-to-bf16", name="old.onnx")
        expect("does not accept BFLOAT16" in report["passes"][0]["left"][0]["reason"], f"{report['passes'][0]['left'][:1]}")


@test()
def half_models_of_others():
    with temp_folder() as folder:
        model = shared("models", "mobilenetv3_digits_fp16.onnx")
        feed = np.load(sorted(glob.glob(shared("golden", "inputs", "mobilenetv3_digits_fp16", "eval") + "/*.npy"))[0])
        for conversion, bound in (("fp16-to-fp32", 1e-2), ("fp16-to-bf16:weights_only=true", 5e-2)):
            out, _ = converted(folder, model, conversion)
            expect(relative(outputs(out, feed), outputs(model, feed)) <= bound, f"{conversion}: outputs differ")


def weights_model(folder, values):
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])], [numpy_helper.from_array(np.array(values, np.float32), "w")])
    path = os.path.join(folder, "w.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@test()
def infinities_become_finite():
    with temp_folder() as folder:
        path = weights_model(folder, [[np.inf, -np.inf], [1, np.nan]])
        out, report = converted(folder, path, "replace-infinities:value=500")
        found = numpy_helper.to_array(onnx.load(out).graph.initializer[0])
        expect_equal(report["passes"][0]["changes"], 2, "values replaced")
        expect_equal(found[0].tolist() + [found[1, 0]], [500, -500, 1], "values")
        expect(np.isnan(found[1, 1]), "NaN is not an infinity")


@test()
def text_and_back():
    with temp_folder() as folder:
        model, text = shared("models", RESNET + ".onnx"), os.path.join(folder, "m.onnxtxt")
        quarkq("convert", model, text)
        from google.protobuf import text_format  # comes with onnx
        with open(text, encoding="utf-8") as file:
            expect_equal(text_format.Parse(file.read(), onnx.ModelProto()).graph, onnx.load(model).graph, "the graph as text")
        back, _ = converted(folder, text)
        expect_equal(onnx.load(back).graph, onnx.load(model).graph, "the graph that was text")
        with open(text, "a", encoding="utf-8") as file:
            file.write("graph {")
        refused = run("convert", text, os.path.join(folder, "bad.onnx"))
        expect(refused.returncode == 3 and "line" in refused.stderr, f"{refused.returncode}: {refused.stderr}")


@test()
def histograms_of_weights():
    with temp_folder() as folder:
        path, place = weights_model(folder, [[0, 1], [2, 4]]), os.path.join(folder, "hist")
        result = quarkq("convert", path, "--json", "--pass", f"weight-histograms:folder={place},per_channel=true")
        expect_equal(sorted(os.listdir(place)), ["w.csv", "w.svg", "w_per_channel.csv", "w_per_channel.svg"], "files")
        expect_equal(len(json.loads(result.stdout)["files"]), 4, "files in the report")
        with open(os.path.join(place, "w.csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        expect_equal((lines[0], len(lines), sum(int(line.split(",")[2]) for line in lines[1:])), ("low,high,count", 129, 4), "counts")
        with open(os.path.join(place, "w_per_channel.csv"), encoding="utf-8") as file:
            expect_equal(file.read().splitlines()[1:], ["0,0,1", "1,2,4"], "extremes of channels")


BAD = [("unknown pass", ["remove-qdk"], 2, "did you mean remove-qdq?"), ("unknown option", ["replace-infinities:val=3"], 2, "did you mean value?"),
       ("missing option", ["convert-opset-version"], 2, "version is missing"), ("bad value", ["replace-infinities:value=x"], 2, "allowed is a finite number"),
       ("bad flag", ["fp32-to-fp16:keep_io=1"], 2, "true and false"), ("no such node", ["fp32-to-fp16:subgraphs=[[[nobody],[]]]"], 2, "no node is named nobody"),
       ("brackets", ["remove-qdq-between:pairs=[[Conv,Relu]"], 2, "brackets do not match"), ("opset", ["convert-opset-version:version=99"], 3, "99"),
       ("old opset", ["fp32-to-bf16"], 3, "bfloat16 needs opset 13")]


@test(cases=BAD)
def what_cannot_be_done_is_refused(case):
    _, passes, code, words = case
    with temp_folder() as folder:
        model, out = network(folder, batch=1, opset=12), os.path.join(folder, "o.onnx")
        refused = run("convert", model, out, *(part for one in passes for part in ("--pass", one)))
        expect_equal(refused.returncode, code, f"exit code ({refused.stderr})")
        expect(words in refused.stderr, refused.stderr)
        expect(not os.path.exists(out), "a file was left")


@test()
def integers_that_are_fed_cannot_be_made_float():
    with temp_folder() as folder:
        graph = helper.make_graph([helper.make_node("DequantizeLinear", ["x", "s"], ["y"], name="alone")], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, [2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])], [numpy_helper.from_array(np.float32(0.5), "s")])
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "o.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        refused = run("convert", path, out, "--pass", "dequantize")
        expect(refused.returncode == 3 and "node alone (DequantizeLinear)" in refused.stderr, f"{refused.returncode}: {refused.stderr}")
        expect(not os.path.exists(out), "a file was left")
        expect_equal(run("convert", path, path, "--pass", "remove-qdq").returncode, 2, "exit code for the input as output")


@test()
def shapes_and_layouts():
    with temp_folder() as folder:
        fixed, report = converted(folder, network(folder, opset=17), "fix-shapes:shapes=x:[1,3,8,8];sum:[1,8,8,8]")
        dims = onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim
        expect_equal([dim.dim_value for dim in dims], [1, 3, 8, 8], "shape of the input")
        turned, _ = converted(folder, fixed, "convert-nchw-to-nhwc", name="nhwc.onnx")
        found = outputs(turned, np.ascontiguousarray(X.transpose(0, 2, 3, 1)))[0]
        np.testing.assert_allclose(found.transpose(0, 3, 1, 2), outputs(fixed, X)[0], rtol=1e-5, atol=1e-6)


@test()
def same_bytes_every_time():
    with temp_folder() as folder:
        path, _ = toy(folder, "S8S8_AAWS")
        first, _ = converted(folder, path, "qdq-to-qoperator", name="a.onnx")
        second, _ = converted(folder, path, "qdq-to-qoperator", name="b.onnx")
        with open(first, "rb") as a, open(second, "rb") as b:
            expect(a.read() == b.read(), "another run gave other bytes")
