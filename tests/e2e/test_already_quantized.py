# SPDX-License-Identifier: MIT
"""Models that are quantized already are refused by every verb that calibrates or writes, and names stay unique whatever names the
model has."""
import json
import os
from collections import Counter

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quantize, quarkq, run, run_model, temp_folder, test
from reference import check_model, make_model, onnxruntime_results, results_like, save_samples, weights

MODEL = 3  # exit code
FULLY_TYPED = ["xint8", "vint8", "a8w8", "a16w8"]  # presets whose operators ONNX Runtime has
PRESETS = FULLY_TYPED + ["bf16", "bfp16", "mx9", "uint8_dynamic_quant", "matmul_nbits"]


def linear_model():
    """x [1, 3, 8, 8] -> Conv -> Relu -> Flatten -> MatMul -> y [1, 10]."""
    return make_model([helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
                       helper.make_node("Relu", ["c"], ["r"], name="relu"), helper.make_node("Flatten", ["r"], ["f"], name="flat"),
                       helper.make_node("MatMul", ["f", "m"], ["y"], name="product")],
                      [("x", [1, 3, 8, 8])], [("y", [1, 10])], [weights("w", 4, 3, 3, 3), weights("m", 256, 10)])


def quantizing_ops(model):
    found = Counter()
    for node in model.graph.node:
        if any(part in node.op_type for part in ("Quantize", "Integer", "NBits")):
            found[f"{node.domain}::{node.op_type}" if node.domain else node.op_type] += 1
    return found


def expect_refused(folder, model, ops, arguments):
    before = sorted(os.listdir(folder))
    result = run(*arguments)
    expect_equal(result.returncode, MODEL, f"exit code of quarkq {' '.join(map(str, arguments[:3]))} ({result.stderr.strip()})")
    for words in [os.path.basename(model), "quantized already", "float model"] + [f"{count} {op}" for op, count in ops.items()]:
        expect(words in result.stderr, f"the message does not say {words!r}: {result.stderr.strip()}")
    expect_equal(sorted(os.listdir(folder)), before, "files afterwards")


@test(cases=PRESETS)
def what_was_written_is_refused(first):
    """By every preset, by analyze and by calibrate."""
    with temp_folder() as folder:
        model, once, out = (os.path.join(folder, name) for name in ("m.onnx", "once.onnx", "twice.onnx"))
        calib = save_samples(os.path.join(folder, "calib"))
        onnx.save(linear_model(), model)
        quantize(model, once, calib, first)
        ops = quantizing_ops(onnx.load(once))
        expect(ops, f"{first} wrote no quantizing node")
        for preset in PRESETS if first == "xint8" else ["xint8", "bf16", "uint8_dynamic_quant", "matmul_nbits"]:
            expect_refused(folder, once, ops, ["quantize", "--config", preset, "--calib", calib, "-o", out, once])
        expect_refused(folder, once, ops, ["analyze", "--config", "xint8", "--calib", calib, once])
        expect_refused(folder, once, ops, ["calibrate", "--config", "xint8", "--calib", calib, "-o", out, once])


def integer_matmul():
    code = numpy_helper.from_array(np.ones((8, 4), np.int8), "b")
    return make_model([helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                       helper.make_node("MatMulInteger", ["q", "b", "z"], ["p"]), helper.make_node("Cast", ["p"], ["f"], to=1),
                       helper.make_node("Mul", ["f", "s"], ["y"])], [("x", [1, 8])], [("y", [1, 4])], [code])


def integer_conv():
    codes = [numpy_helper.from_array(np.ones((2, 3, 1, 1), np.int8), "w"), numpy_helper.from_array(np.float32(0.1), "s"),
             numpy_helper.from_array(np.uint8(0), "z"), numpy_helper.from_array(np.int8(0), "wz")]
    return make_model([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                       helper.make_node("QLinearConv", ["q", "s", "z", "w", "s", "wz", "s", "z"], ["c"]),
                       helper.make_node("DequantizeLinear", ["c", "s", "z"], ["y"])], [("x", [1, 3, 4, 4])], [("y", [1, 2, 4, 4])], codes)


def contrib(op, inputs, **attributes):
    """One operator of com.microsoft after a Relu."""
    model = make_model([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Relu", ["r"], ["y"])], [("x", [1, 8])],
                       [("y", [1, 8])])
    model.graph.node[1].CopyFrom(helper.make_node(op, ["r"] + inputs, ["y"], domain="com.microsoft", **attributes))
    for name in inputs:
        model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 8), np.uint8), name))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def in_a_branch():
    pair = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["t"])]
    constants = [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.int8(0), "z")]
    then = helper.make_graph(pair, "then", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, [1, 8])], constants)
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["e"])], "else", [],
                              [helper.make_tensor_value_info("e", TensorProto.FLOAT, [1, 8])])
    return make_model([helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=other)], [("x", [1, 8])], [("y", [1, 8])],
                      [numpy_helper.from_array(np.array(True), "yes")])


MADE = [("MatMulInteger", integer_matmul, ["1 DynamicQuantizeLinear", "1 MatMulInteger"]),
        ("QLinearConv", integer_conv, ["1 QuantizeLinear", "1 QLinearConv", "1 DequantizeLinear"]),
        ("MatMulNBits", lambda: contrib("MatMulNBits", ["b", "s"], K=8, N=8, bits=4, block_size=16), ["1 com.microsoft::MatMulNBits"]),
        ("DynamicQuantizeMatMul", lambda: contrib("DynamicQuantizeMatMul", ["b", "s"]), ["1 com.microsoft::DynamicQuantizeMatMul"]),
        ("QLinearSigmoid", lambda: contrib("QLinearSigmoid", ["s", "z", "o"]), ["1 com.microsoft::QLinearSigmoid"]),
        ("If", in_a_branch, ["1 QuantizeLinear", "1 DequantizeLinear"])]


@test(cases=MADE)
def models_of_others_are_refused(case):
    _, make, wanted = case
    with temp_folder() as folder:
        model, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "out.onnx")
        made = make()
        onnx.save(made, model)
        calib = save_samples(os.path.join(folder, "calib"), shape=[dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim])
        for preset in ("xint8", "bf16", "uint8_dynamic_quant", "matmul_nbits"):
            expect_refused(folder, model, {text.split()[1]: text.split()[0] for text in wanted},
                           ["quantize", "--config", preset, "--calib", calib, "-o", out, model])


@test(cases=["xint8", "a8w8"])
def compat_mode_warns(preset):
    """The reference logs an error and continues; what is written must be a valid model all the same."""
    with temp_folder() as folder:
        model, once, twice, report = (os.path.join(folder, name) for name in ("m.onnx", "once.onnx", "twice.onnx", "r.json"))
        calib = save_samples(os.path.join(folder, "calib"))
        onnx.save(linear_model(), model)
        quantize(model, once, calib, preset)
        quantize(once, twice, calib, preset, "--compat", "quark-0.13", "--report", report)
        with open(report, encoding="utf-8") as file:
            ids = [finding["id"] for finding in json.load(file)["findings"]]
        expect("already-quantized" in ids, f"findings are {ids}")
        expect_valid(twice)


# ---- names ----------------------------------------------------------------------------------------------------------------------

SUFFIXES = ["_QuantizeLinear", "_DequantizeLinear", "_QuantizeLinear_Output", "_DequantizeLinear_Output", "_QuantizeLinear_Input",
            "_scale", "_zero_point", "_quantized", "_quantized_scale", "_Q4", "_scales", "_MatMul", "_1"]


def all_values(graph):
    """What a graph and those nested in it define, with repetitions."""
    names = [one.name for one in graph.initializer] + [one.name for one in graph.input if one.name not in {i.name for i in graph.initializer}]
    for node in graph.node:
        names += [output for output in node.output if output]
        for attribute in node.attribute:
            names += all_values(attribute.g) if attribute.HasField("g") else []
    return names


def expect_valid(path):
    model = onnx.load(path)
    repeated = [name for name, count in Counter(node.name for node in model.graph.node if node.name).items() if count > 1]
    expect(not repeated, f"nodes share the names {repeated}")
    repeated = [name for name, count in Counter(all_values(model.graph)).items() if count > 1]
    expect(not repeated, f"values share the names {repeated}")
    if any(node.domain == "com.amd.quark" for node in model.graph.node):
        onnx.checker.check_model(path, full_check=True)
    else:
        check_model(path)


def clashing_model(names):
    """Conv, MatMul with Add and If around tensors t0, t1, ...; names(i, suffix) is called for each name that could clash with one
    that the writer makes of them. Several nodes have no name, and two share one."""
    def branch(label, op):
        nodes = [helper.make_node(op, ["t2"], [names(2, "_scale") + label], name=names(2, "_QuantizeLinear")),
                 helper.make_node("Relu", [names(2, "_scale") + label], [names(3, "_scale") if label == "a" else "inner"])]
        output = helper.make_tensor_value_info(names(3, "_scale") if label == "a" else "inner", TensorProto.FLOAT, [1, 16])
        return helper.make_graph(nodes, label, [], [output])

    nodes = [helper.make_node("Conv", ["t0", "w"], ["t1"], name=names(0, "_QuantizeLinear"), pads=[1, 1, 1, 1]),
             helper.make_node("Flatten", ["t1"], ["f"], name="double"),
             helper.make_node("MatMul", ["f", "m"], ["p"], name="double"),
             helper.make_node("Add", ["p", "b"], ["t2"], name=names(1, "_DequantizeLinear")),
             helper.make_node("If", ["yes"], ["t3"], then_branch=branch("a", "Sigmoid"), else_branch=branch("b", "Neg")),
             helper.make_node("Add", ["t3", "t2"], ["t4"])]
    last = "t4"
    for suffix in SUFFIXES:  # values of these names, in a row
        for number in (0, 1, 2):
            made = names(number, suffix) + ("" if suffix != "_QuantizeLinear" else "_v")
            nodes.append(helper.make_node("Relu", [last], [made], name=names(number, suffix) if suffix == "_DequantizeLinear_Output" else ""))
            last = made
    nodes.append(helper.make_node("MatMul", [last, "n"], ["y"]))
    stored = [weights("w", 4, 3, 3, 3), weights("m", 256, 16), weights("n", 16, 16), weights("b", 16)]
    stored += [numpy_helper.from_array(np.array(True), "yes")]
    graph = helper.make_graph(nodes, "clash", [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16])], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


@test(cases=[f"{preset}{more}" for preset in PRESETS for more in ("", " compat")])
def names_stay_unique(case):
    """The same model with and without names that clash gives the same results, and both are valid."""
    preset, *compat = case.split()
    more = ["--compat", "quark-0.13"] if compat else []
    with temp_folder() as folder:
        calib = save_samples(os.path.join(folder, "calib"))
        found = {}
        for kind, names in (("plain", lambda i, suffix: f"own{suffix}{i}"), ("clash", lambda i, suffix: f"t{i}{suffix}")):
            model, out, results = (os.path.join(folder, kind + end) for end in (".onnx", "_q.onnx", "_results"))
            onnx.save(clashing_model(names), model)
            quantize(model, out, calib, preset, *more)
            expect_valid(out)
            run_model(out, calib, results)
            found[kind] = results_like(results, {f"{i:04d}.npy": {"y": None} for i in range(4)})
            if preset in FULLY_TYPED:
                wanted = onnxruntime_results(out, calib, optimize=False)
                for file, values in wanted.items():
                    expect(np.allclose(values["y"], found[kind][file]["y"], atol=0.05, rtol=0.05), f"{kind}: ONNX Runtime differs for {file}")
        for file, values in found["plain"].items():
            expect(np.array_equal(values["y"], found["clash"][file]["y"]), f"the names change the result for {file}")


@test()
def names_that_do_not_clash_are_those_of_the_tensors():
    with temp_folder() as folder:
        model, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
        onnx.save(linear_model(), model)
        quantize(model, out, save_samples(os.path.join(folder, "calib")), "xint8")
        names = {node.name for node in onnx.load(out).graph.node}
        stored = {one.name for one in onnx.load(out).graph.initializer}
    for name in ("x_QuantizeLinear", "x_DequantizeLinear", "y_QuantizeLinear", "y_DequantizeLinear", "w_DequantizeLinear", "conv", "product"):
        expect(name in names, f"no node is called {name}: {sorted(names)}")
    for name in ("x_scale", "x_zero_point", "w_scale", "w_quantized"):
        expect(name in stored, f"no initializer is called {name}: {sorted(stored)}")
