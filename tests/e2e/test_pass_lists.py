# SPDX-License-Identifier: MIT
"""Lists of passes as ShapeShifter takes them: their names, templates and files, in convert, optimize and quantize, and the passes that
nothing else uses."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_error, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS, session

MODEL, CALIB = os.path.join(DIGITS, "digits.onnx"), os.path.join(DIGITS, "calib")
# All that the reference has for ONNX models.
NAMES = """onnx_adjust_bias_scale onnx_align_scale onnx_constrain_per_channel_weight_scale onnx_convert_bn_to_conv onnx_convert_clip_to_relu
onnx_convert_fp16_to_fp32 onnx_convert_nchw_to_nhwc onnx_convert_opset_version onnx_convert_reduce_mean_to_global_avg_pool
onnx_convert_split_to_slice onnx_copy_bias_init onnx_copy_shared_init onnx_cross_layer_equalization onnx_fix_shapes onnx_fold_batch_norm
onnx_fold_batch_norm_after_concat onnx_fold_div_into_matmul onnx_fuse_gelu onnx_fuse_instance_norm onnx_fuse_l2_norm onnx_fuse_layer_norm
onnx_insert_clip_before_bfloat16_qdq onnx_optimize_with_ort onnx_remove_bfloat16_cast onnx_remove_input_init onnx_remove_qdq_between_op_types
onnx_replace_bfloat16_qdq_with_cast onnx_set_node_attributes onnx_simplify onnx_split_large_kernel_pool onnx_xint8_adjust
onnx_xint8_simulate""".split()


def write(folder, content, name="list.yaml"):
    """JSON is YAML, too."""
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        json.dump(content, file)
    return path


def save(folder, model, name="in.onnx"):
    path = os.path.join(folder, name)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def model_of(nodes, inputs, outputs, initializers=(), opset=17):
    tensors = [numpy_helper.from_array(array, name) for name, array in initializers]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def value(name, *dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def outputs(path, feeds):
    return session(path, optimize=False).run(None, feeds)


def ops(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def converted(folder, source, passes, name="out.onnx"):
    """(path, report) of `convert` with these passes."""
    out = os.path.join(folder, name)
    report = json.loads(quarkq("convert", source, out, "--passes", write(folder, {"passes": passes}), "--json").stdout)
    onnx.checker.check_model(out)
    return out, report


def close(found, wanted, tolerance=1e-5):
    for one, other in zip(found, wanted, strict=True):
        limit = tolerance * max(1.0, float(np.abs(other).max()))
        expect(float(np.abs(one.astype(np.float64) - other).max()) <= limit, f"outputs differ by {np.abs(one - other).max()}, allowed is {limit}")


@test()
def every_pass_of_the_reference_is_known():
    rows = json.loads(quarkq("list", "listed-passes", "--json").stdout)
    expect_equal([row["name"] for row in rows], NAMES, "names")
    conversions = {row["name"] for row in json.loads(quarkq("list", "conversions", "--json").stdout)}
    expect({row["conversion"] for row in rows} <= conversions, "a pass without a conversion")
    return f"{len(rows)} passes"


@test(cases=["a8w8", "a16w8", "bf16", "bfp16", "xint8", "XINT8"])
def templates_keep_the_function(template):
    sample = {"input": np.load(os.path.join(CALIB, sorted(os.listdir(CALIB))[0]))}
    name = session(MODEL).get_inputs()[0].name
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        report = json.loads(quarkq("convert", MODEL, out, "--passes", template, "--json").stdout)
        expect_equal(len(report["passes"]), 14 if template.lower() == "xint8" else 10, "passes")
        expect_equal(onnx.load(out).opset_import[0].version, 21, "opset")
        close(outputs(out, {name: sample["input"]}), outputs(MODEL, {name: sample["input"]}))


@test()
def a_list_takes_the_place_of_the_settings_rewrites():
    """The model is quantized as the list leaves it, equalization is the list's, and passes for the result run on the result."""
    with temp_folder() as folder:
        before, plain, listed = (os.path.join(folder, name) for name in ("before.onnx", "plain.onnx", "listed.onnx"))
        passes = {"onnx_convert_opset_version": {"target_opset_version": 17}, "onnx_simplify": {"simplify": True},
                  "onnx_cross_layer_equalization": {"cle_steps": 2}}
        file = write(folder, {"preprocess_passes": passes, "postprocess_passes": {"onnx_set_node_attributes": {"node_attribute_updates": []}},
                              "preprocessed_model_path": before})
        report = json.loads(quarkq("quantize", MODEL, "--config", "a8w8", "--calib", CALIB, "-o", listed, "--json", "--report",
                                   os.path.join(folder, "r.json"), "--set", f"ShapeShifterYaml={file}", "--set", "quarkq.metadata=false").stdout)
        with open(os.path.join(folder, "r.json")) as text:
            settings = {one["name"]: one["value"] for one in json.load(text)["details"]["settings"]}
        expect_equal((settings["SkipPreprocess"], settings["include_cle"]), ("true", "false"), "settings that the list forces")
        expect("pass-not-on" in [finding["id"] for finding in report["findings"]], "no word of the pass that is not switched on")
        expect(not any(phase["name"] == "simplify-model" for phase in report["phases"]), "the simplifier ran again")
        quarkq("quantize", before, "--config", "a8w8", "--calib", CALIB, "-o", plain, "--set", "SkipPreprocess=true", "--set", "include_cle=false",
               "--set", "quarkq.metadata=false")
        one, other = onnx.load(plain).graph, onnx.load(listed).graph
        for part in ("node", "initializer", "input", "output"):
            expect(list(getattr(one, part)) == list(getattr(other, part)), f"another {part} than that of the preprocessed model, quantized without rewrites")


@test()
def passes_for_the_result_run_on_the_result():
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        quantize = ["quantize", MODEL, "--config", "xint8", "--calib", CALIB, "-o", out]
        quarkq(*quantize)
        expect(any(op == "QuantizeLinear" for op in ops(out)), "no pair")
        count = ops(out).count("QuantizeLinear")
        pair = next([one.op_type, other.op_type] for one in onnx.load(out).graph.node for other in onnx.load(out).graph.node
                    if one.op_type in ("Conv", "Relu", "MaxPool") and other.op_type in ("Conv", "MaxPool", "Gemm", "Flatten"))
        file = write(folder, {"postprocess_passes": {"onnx_remove_qdq_between_op_types": {
            "remove_qdq_between_op_types": [["Relu", "MaxPool"], ["Conv", "MaxPool"], ["MaxPool", "Conv"], ["Relu", "Conv"], pair]}}})
        quarkq(*quantize, "--set", f"PreprocessYAML={file}")
        expect(ops(out).count("QuantizeLinear") < count, f"{count} pairs before and after")


@test()
def convert_takes_paths_from_the_list():
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        file = write(folder, {"input_model_path": MODEL, "output_model_path": out, "engine": {"output_dir": None},
                              "passes": {"onnx_convert_opset_version": {"target_opset_version": 18}}})
        quarkq("convert", "--passes", file)
        expect_equal(onnx.load(out).opset_import[0].version, 18, "opset")


@test()
def optimize_takes_a_template():
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        quarkq("optimize", MODEL, "-o", out, "--passes", "xint8")
        expect_equal(onnx.load(out).opset_import[0].version, 21, "opset")


@test(cases=[("unknown-pass", {"onnx_simplfy": {"simplify": True}}, "did you mean onnx_simplify?"),
             ("unknown-parameter", {"onnx_simplify": {"simplify": True, "simplify_options": {}}}, "simplify_Options"),
             ("not-a-map", {"onnx_simplify": 3}, "a map of parameters"),
             ("wrong-value", {"onnx_convert_opset_version": {"target_opset_version": "new"}}, "new"),
             ("unknown-node", {"onnx_set_node_attributes": {"node_attribute_updates": [{"node_name": "nobody", "attributes": {"a": 1}}]}}, "no node is named nobody"),
             ("empty-range", {"onnx_constrain_per_channel_weight_scale": {"constrain_per_channel_weight_scale": True, "min_w_scale": -1.0}}, "min_scale"),
             ("empty", {}, "one is needed")])
def what_is_wrong_is_named(case):
    _, passes, words = case
    with temp_folder() as folder:
        result = run("convert", MODEL, os.path.join(folder, "o.onnx"), "--passes", write(folder, {"passes": passes}))
        expect(result.returncode in (2, 3) and words in result.stderr, f"exit code {result.returncode}: {result.stderr}")


@test()
def unknown_templates_are_refused():
    with temp_folder() as folder:
        result = run("quantize", MODEL, "--config", "xint8", "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"), "--set", "ShapeShifterYaml=xint9")
        expect_error(result, 2, "did you mean xint8?")


def half_network():
    """Four Convs in float16."""
    half = TensorProto.FLOAT16
    nodes, tensors, last = [], [], "x"
    for i in range(4):
        tensors += [(f"w{i}", np.random.default_rng(i).normal(0, 0.2, (4, 4 if i else 3, 3, 3)).astype(np.float16)),
                    (f"b{i}", np.random.default_rng(i + 9).normal(0, 0.2, 4).astype(np.float16))]
        nodes.append(helper.make_node("Conv", [last, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}" if i < 3 else "y"], f"relu{i}"))
        last = f"r{i}"
    return model_of(nodes, [value("x", 1, 3, 8, 8, kind=half)], [value("y", 1, 4, 8, 8, kind=half)], tensors)


@test(cases=["middle", "whole"])
def float16_becomes_float32(part):
    feed = {"x": np.random.default_rng(1).random((1, 3, 8, 8)).astype(np.float16)}
    with temp_folder() as folder:
        source = save(folder, half_network())
        parameters = {"convert_fp16_to_fp32": True}
        if part == "middle":
            parameters["subgraphs_to_include"] = [[["conv1"], ["relu2"]]]
        out, _ = converted(folder, source, {"onnx_convert_fp16_to_fp32": parameters})
        model = onnx.shape_inference.infer_shapes(onnx.load(out))
        kinds = {info.name: info.type.tensor_type.elem_type for info in [*model.graph.value_info, *model.graph.output, *model.graph.input]}
        if part == "middle":
            expect_equal((kinds["x"], kinds["y"], ops(out).count("Cast")), (TensorProto.FLOAT16, TensorProto.FLOAT16, 2), "inputs, outputs and Casts")
            stored = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
            used = {node.name: stored[node.input[1]] for node in model.graph.node if node.op_type == "Conv"}
            expect_equal(used, {"conv0": TensorProto.FLOAT16, "conv1": TensorProto.FLOAT, "conv2": TensorProto.FLOAT, "conv3": TensorProto.FLOAT16}, "weights")
        else:
            expect_equal((kinds["x"], kinds["y"], ops(out).count("Cast")), (TensorProto.FLOAT, TensorProto.FLOAT, 0), "inputs, outputs and Casts")
            feed = {"x": feed["x"].astype(np.float32)}
        close(outputs(out, feed), outputs(source, {"x": feed["x"].astype(np.float16)}), 5e-3)


def attention(divisor=8.0, split=False, transposed=False, reads_twice=False):
    """x -> (q, k) -> reshape, transpose -> q k' / divisor -> Softmax."""
    random = np.random.default_rng(5)
    width = 16
    tensors = [("wq", random.normal(0, 0.3, (width, width)).astype(np.float32)), ("bq", random.normal(0, 0.3, width).astype(np.float32)),
               ("wk", random.normal(0, 0.3, (width, width)).astype(np.float32)), ("d", np.float32(divisor)),
               ("shape", np.array([1, 6, 2, 8], np.int64)), ("wqk", random.normal(0, 0.3, (width, 2 * width)).astype(np.float32)),
               ("bqk", random.normal(0, 0.3, 2 * width).astype(np.float32)), ("halves", np.array([width, width], np.int64))]
    nodes = []
    if split:
        nodes += [helper.make_node("MatMul", ["x", "wqk"], ["m"]), helper.make_node("Add", ["m", "bqk"], ["qk"]),
                  helper.make_node("Split", ["qk", "halves"], ["q", "k"], axis=-1)]
    else:
        nodes += [helper.make_node("MatMul", ["x", "wq"], ["m"]), helper.make_node("Add", ["bq", "m"], ["q"]), helper.make_node("MatMul", ["x", "wk"], ["k"])]
    nodes += [helper.make_node("Reshape", ["q", "shape"], ["q4"]), helper.make_node("Transpose", ["q4"], ["qt"], perm=[0, 2, 1, 3]),
              helper.make_node("Reshape", ["k", "shape"], ["k4"]), helper.make_node("Transpose", ["k4"], ["kt"], perm=[0, 2, 3, 1])]
    if transposed:  # the division before the product
        nodes += [helper.make_node("Div", ["qt", "d"], ["qd"], "scale"), helper.make_node("MatMul", ["qd", "kt"], ["s"])]
    else:
        nodes += [helper.make_node("MatMul", ["qt", "kt"], ["p"]), helper.make_node("Div", ["p", "d"], ["s"], "scale")]
    nodes.append(helper.make_node("Softmax", ["s"], ["y"], axis=-1))
    results = [value("y", 1, 2, 6, 6)]
    if reads_twice:
        results.append(value("qt", 1, 2, 6, 8))
    used = {name for node in nodes for name in node.input}
    return model_of(nodes, [value("x", 1, 6, width)], results, [one for one in tensors if one[0] in used])


@test(cases=[("scores", {}), ("query", {"transposed": True}), ("fused", {"split": True}), ("fused-query", {"split": True, "transposed": True})])
def divisions_go_into_the_weights(case):
    feed = {"x": np.random.default_rng(2).normal(0, 1, (1, 6, 16)).astype(np.float32)}
    with temp_folder() as folder:
        source = save(folder, attention(**case[1]))
        out, report = converted(folder, source, {"onnx_fold_div_into_matmul": {"fold_div_into_matmul": True}})
        expect("Div" not in ops(out), f"operators {ops(out)}")
        expect_equal(report["passes"][0]["changes"], 1, "changes")
        found, wanted = outputs(out, feed), outputs(source, feed)
        close(found, wanted, 1e-6)
        return f"differs by {float(np.abs(found[0] - wanted[0]).max()):.1e}"


@test(cases=[("by-zero", {"divisor": 0.0}), ("by-one", {"divisor": 1.0}), ("read-twice", {"transposed": True, "reads_twice": True})])
def divisions_that_matter_elsewhere_stay(case):
    with temp_folder() as folder:
        source = save(folder, attention(**case[1]))
        out, _ = converted(folder, source, {"onnx_fold_div_into_matmul": {"fold_div_into_matmul": True}})
        expect_equal(ops(out).count("Div"), 1, "divisions")


@test()
def attributes_change_by_node_and_type():
    with temp_folder() as folder:
        nodes = [helper.make_node("LeakyRelu", ["x"], ["a"], "leaky", alpha=0.25), helper.make_node("Softmax", ["a"], ["y"], "soft", axis=1)]
        source = save(folder, model_of(nodes, [value("x", 2, 3, 4)], [value("y", 2, 3, 4)]))
        updates = [{"node_name": "leaky", "attributes": {"alpha": 0.5, "beta": 1.0}}, {"node_name": "soft", "attributes": {"axis": 2}}]
        out, report = converted(folder, source, {"onnx_set_node_attributes": {"node_attribute_updates": updates}})
        found = {node.name: helper.get_attribute_value(node.attribute[0]) for node in onnx.load(out).graph.node}
        expect_equal(found, {"leaky": 0.5, "soft": 2}, "attributes")
        expect_equal([one["reason"] for one in report["passes"][0]["left"]], ["it has no attribute beta"], "what was left")
        wrong = [{"node_name": "soft", "attributes": {"axis": 1.5}}, {"node_name": "leaky", "attributes": {"alpha": 1}}]
        out, report = converted(folder, source, {"onnx_set_node_attributes": {"node_attribute_updates": wrong}})
        expect_equal((report["passes"][0]["changes"], len(report["passes"][0]["left"])), (0, 2), "values of other types")
        far = [{"node_name": "soft", "attributes": {"axis": 7}}]
        result = run("convert", source, os.path.join(folder, "far.onnx"), "--passes",
                     write(folder, {"passes": {"onnx_set_node_attributes": {"node_attribute_updates": far}}}))
        expect_error(result, 3, "axis")


@test(cases=[("fixed", False, 1e-5), ("adaptive", True, 1e-3)])
def small_scales_of_weights_are_enlarged(case):
    """Channel 1 is almost zero. Its scale becomes the floor, and values stay within half of a step of that."""
    _, adaptive, floor = case
    scales, codes = np.array([1.0, 1e-12, 0.5], np.float32), np.random.default_rng(3).integers(-127, 128, (3, 2, 1, 1)).astype(np.int8)
    bias_scales, biases = scales * np.float32(0.1), np.array([40, 90, -7], np.int32)
    nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0), helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], axis=0),
             helper.make_node("Conv", ["xd", "wd", "bd"], ["y"], "conv")]
    tensors = [("xs", np.float32(0.1)), ("xz", np.int8(0)), ("w", codes), ("ws", scales), ("wz", np.zeros(3, np.int8)), ("b", biases), ("bs", bias_scales),
               ("bz", np.zeros(3, np.int32))]
    feed = {"x": np.random.default_rng(4).normal(0, 1, (1, 2, 4, 4)).astype(np.float32)}
    with temp_folder() as folder:
        source = save(folder, model_of(nodes, [value("x", 1, 2, 4, 4)], [value("y", 1, 3, 4, 4)], tensors))
        parameters = {"constrain_per_channel_weight_scale": True, "min_w_scale": 1e-5, "adaptive_min_w_scale": adaptive, "maxmin_scale_ratio": 1e3}
        out, _ = converted(folder, source, {"onnx_constrain_per_channel_weight_scale": parameters})
        stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(out).graph.initializer}
        dq = {node.output[0]: node for node in onnx.load(out).graph.node if node.op_type == "DequantizeLinear"}
        found = stored[dq["wd"].input[1]]
        expect(np.allclose(found, [1.0, floor, 0.5], rtol=1e-6), f"scales {found}")
        expect(np.allclose(stored[dq["bd"].input[1]], found * 0.1, rtol=1e-5), "scales of the bias")
        close(outputs(out, feed), outputs(source, feed), 1e-6)
        close([stored[dq["wd"].input[0]].astype(np.float32) * found.reshape(3, 1, 1, 1)], [codes * scales.reshape(3, 1, 1, 1)], floor / 2)


@test()
def biases_follow_the_scales_of_input_and_weights():
    nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
             helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"]), helper.make_node("DequantizeLinear", ["b", "bs"], ["bd"]),
             helper.make_node("Conv", ["xd", "wd", "bd"], ["y"], "conv")]
    tensors = [("xs", np.float32(0.5)), ("xz", np.int8(0)), ("w", np.ones((2, 2, 1, 1), np.int8)), ("ws", np.float32(0.25)),
               ("b", np.array([100, -103], np.int32)), ("bs", np.float32(0.1))]
    with temp_folder() as folder:
        source = save(folder, model_of(nodes, [value("x", 1, 2, 4, 4)], [value("y", 1, 2, 4, 4)], tensors))
        out, _ = converted(folder, source, {"onnx_adjust_bias_scale": {"adjust_bias_scale": True}})
        model = onnx.load(out)
        stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        bias = next(node for node in model.graph.node if node.output[0] == "bd")
        expect_equal(([int(code) for code in stored[bias.input[0]]], float(stored[bias.input[1]])), ([80, -82], 0.125), "bias and its scale")
        again, report = converted(folder, out, {"onnx_adjust_bias_scale": {"adjust_bias_scale": True}}, "again.onnx")
        expect_equal(report["passes"][0]["changes"], 0, "changes of a second run")


def activation_scales(path):
    model = onnx.load(path)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {node.input[0]: float(stored[node.input[1]]) for node in model.graph.node if node.op_type == "QuantizeLinear"}


@test()
def adjusting_a_finished_model_meets_the_limits_of_the_npu():
    with temp_folder() as folder:
        free, bound = os.path.join(folder, "free.onnx"), os.path.join(folder, "bound.onnx")
        quantize = ["quantize", MODEL, "--config", "xint8", "--calib", CALIB]
        quarkq(*quantize, "-o", free, "--set", "NPULimitationCheck=false")
        quarkq(*quantize, "-o", bound)
        out, _ = converted(folder, free, {"onnx_xint8_adjust": {"xint8_adjust": True}})
        expect_equal(activation_scales(out), activation_scales(bound), "scales after the adjustment, and of a run that adjusts")
        expect_equal(run("check", out).returncode, 0, "exit code of quarkq check")


@test()
def scales_of_operators_are_aligned():
    """A Concat of two inputs of different ranges."""
    nodes = [helper.make_node("Relu", ["x"], ["a"], "a"), helper.make_node("Mul", ["x", "four"], ["b"], "b"), helper.make_node("Concat", ["a", "b"], ["y"], "cat", axis=1)]
    with temp_folder() as folder:
        source = save(folder, model_of(nodes, [value("x", 1, 3, 8, 8)], [value("y", 1, 6, 8, 8)], [("four", np.float32(4))]))
        quantized = os.path.join(folder, "q.onnx")
        quarkq("quantize", source, "--config", "a8w8", "--set", "UseRandomData=true", "--set", "AlignConcat=false", "--set", "QuantizeAllOpTypes=true", "-o", quantized)
        before = activation_scales(quantized)
        expect(before["a"] != before["b"], f"one scale before: {before}")
        out, _ = converted(folder, quantized, {"onnx_align_scale": {"align_scale": ["Concat", "MaxPool"]}})
        after = activation_scales(out)
        output = next(name for name in after if name.startswith("y"))
        expect_equal((after["a"], after["b"]), (after[output], after[output]), "scales of the inputs")
        expect_equal(after[output], before[output], "scale of the output")
        domains = [{node.domain for node in onnx.load(path).graph.node if node.op_type == "QuantizeLinear"} for path in (quantized, out)]
        expect_equal(domains[1], domains[0], "domains of Q nodes")


@test()
def finished_models_become_what_the_dpu_computes():
    nodes = [helper.make_node("LeakyRelu", ["x"], ["a"], "leaky", alpha=0.1), helper.make_node("Sigmoid", ["a"], ["b"], "sigmoid"),
             helper.make_node("GlobalAveragePool", ["b"], ["y"], "pool")]
    with temp_folder() as folder:
        source, quantized = save(folder, model_of(nodes, [value("x", 1, 3, 7, 7)], [value("y", 1, 3, 1, 1)])), os.path.join(folder, "q.onnx")
        quarkq("quantize", source, "--config", "xint8", "--set", "UseRandomData=true", "--set", "SimulateDPU=false", "--set", "QuantizeAllOpTypes=true", "-o", quantized)
        expect("Sigmoid" in ops(quantized), f"operators {ops(quantized)}")
        out, _ = converted(folder, quantized, {"onnx_xint8_simulate": {"xint8_simulate": True}})
        expect("HardSigmoid" in ops(out) and "Sigmoid" not in ops(out), f"operators {ops(out)}")
        alpha = next(node.attribute[0].f for node in onnx.load(out).graph.node if node.op_type == "LeakyRelu")
        expect_equal(alpha, 26 / 256, "alpha")


@test()
def shapes_are_fixed():
    with temp_folder() as folder:
        source = save(folder, model_of([helper.make_node("Relu", ["x"], ["y"])], [value("x", "N", 3)], [value("y", "N", 3)]))
        out, _ = converted(folder, source, {"onnx_fix_shapes": {"input_output_name_shapes": {"x": [2, 3], "y": [2, 3]}}})
        dims = [dim.dim_value for dim in onnx.load(out).graph.input[0].type.tensor_type.shape.dim]
        expect_equal(dims, [2, 3], "shape of the input")
