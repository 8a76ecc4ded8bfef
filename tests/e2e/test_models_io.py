# SPDX-License-Identifier: MIT
"""Models in and out: external data both ways, metadata, old models, subgraphs, nothing to quantize."""
import os
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quantize, quarkq, run_model, shared, temp_folder, test
from reference import (check_model, conv_model, make_model, mean_cosines, onnxruntime_results, results_like, save_samples, session,
                       shared_model, weights)

EXTERNAL = "mobilenetv3_digits"
FLOAT_TOLERANCE = 1e-4


def expect_close(found, wanted, what):
    for file, outputs in wanted.items():
        for name, value in outputs.items():
            worst = np.abs(found[file][name] - value).max() / max(np.abs(value).max(), 1e-30)
            expect(worst <= FLOAT_TOLERANCE, f"{what}: {name} for {file} is off by {worst:.2e} x max|output|")


@test()
def external_data_is_read():
    model, inputs = shared_model(EXTERNAL), shared("golden", "inputs", EXTERNAL, "eval")
    with temp_folder() as folder:
        run_model(model, inputs, folder)
        wanted = onnxruntime_results(model, inputs)
        expect_close(results_like(folder, wanted), wanted, EXTERNAL)


@test(cases=["inside", "outside"])
def external_data_is_written(place):
    """Float weights of a file beside the model -> quantized model with weights inside or in a file beside it."""
    model, calib = shared_model(EXTERNAL), shared("golden", "inputs", EXTERNAL, "calib")
    inputs = shared("golden", "inputs", EXTERNAL, "eval")
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        quantize(model, out, calib, "xint8", *(["--set", "use_external_data_format=true"] if place == "outside" else []))
        proto = onnx.load(out, load_external_data=False)
        located = [{entry.key: entry.value for entry in one.external_data} for one in proto.graph.initializer
                   if one.data_location == TensorProto.EXTERNAL]
        files = sorted(os.listdir(folder))
        if place == "inside":
            expect(not located, f"{len(located)} tensors are outside")
            expect_equal(files, ["out.onnx"], "files written")
        else:
            expect(located, "no tensor is outside")
            names = {one["location"] for one in located}
            expect_equal(sorted(names | {"out.onnx"}), files, "files written and files named")
            expect(all("/" not in name for name in names), f"a location with a folder in {names}")
        check_model(out)
        wanted = onnxruntime_results(out, inputs, optimize=False)
        run_model(out, inputs, os.path.join(folder, "results"))
        cosines = mean_cosines(results_like(os.path.join(folder, "results"), wanted), wanted)
        expect(min(cosines.values()) >= 0.9999, f"cosine {cosines} to ONNX Runtime, at least 0.9999 expected")


@test()
def external_data_moves_with_its_model():
    """The written pair still loads from another folder."""
    model, calib = shared_model(EXTERNAL), shared("golden", "inputs", EXTERNAL, "calib")
    with temp_folder() as folder:
        first, second = os.path.join(folder, "a"), os.path.join(folder, "b")
        os.mkdir(first)
        quantize(model, os.path.join(first, "out.onnx"), calib, "xint8", "--set", "use_external_data_format=true")
        shutil.move(first, second)
        session(os.path.join(second, "out.onnx"))
        run_model(os.path.join(second, "out.onnx"), shared("golden", "inputs", EXTERNAL, "eval"), os.path.join(folder, "results"))


@test()
def metadata_survives():
    """Metadata, documentation and version of the model, and of its graph, as far as the installed onnx knows them."""
    model = conv_model()
    helper.set_model_props(model, {"author": "a test", "classes": "cat,dog", "empty": ""})
    model.doc_string, model.domain, model.model_version = "what it is for", "org.example", 42
    model.graph.doc_string = "the graph"
    with temp_folder() as folder:
        path, out = os.path.join(folder, "net.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(model, path)
        quantize(path, out, save_samples(os.path.join(folder, "calib")), "xint8")
        found = onnx.load(out)
    props = {entry.key: entry.value for entry in found.metadata_props}
    for key, value in {"author": "a test", "classes": "cat,dog", "empty": ""}.items():
        expect_equal(props.get(key), value, f"metadata {key}")
    expect_equal((found.doc_string, found.domain, found.model_version), ("what it is for", "org.example", 42), "model fields")
    expect_equal(found.graph.doc_string, "the graph", "graph documentation")


@test()
def initializers_among_inputs():
    """squeezenet1_1 is of IR 3: every weight is also listed as an input. Only the image is asked for."""
    model = shared_model("squeezenet1_1")
    proto = onnx.load(model)
    expect(len(proto.graph.input) > 1 and proto.ir_version == 3, "squeezenet1_1 is no longer the model this test needs")
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        quantize(model, out, shared("golden", "inputs", "squeezenet1_1", "calib"), "xint8")
        check_model(out)
        required = [one.name for one in session(out).get_inputs()]
    expect_equal(required, ["data_0"], "inputs of the quantized model")


def branch_model():
    """x -> Conv -> Relu -> r; y = mean(r) > 0 ? Mul(r, two) : Add(Neg(r), one). The branches capture r."""
    float_type = TensorProto.FLOAT
    shape = [1, 4, 8, 8]
    then_graph = helper.make_graph([helper.make_node("Mul", ["r", "two"], ["then_y"], name="then_mul")], "then_branch", [],
                                   [helper.make_tensor_value_info("then_y", float_type, shape)],
                                   [numpy_helper.from_array(np.array(2, np.float32), "two")])
    else_graph = helper.make_graph([helper.make_node("Neg", ["r"], ["minus"], name="else_neg"),
                                    helper.make_node("Add", ["minus", "one"], ["else_y"], name="else_add")], "else_branch", [],
                                   [helper.make_tensor_value_info("else_y", float_type, shape)],
                                   [numpy_helper.from_array(np.array(1, np.float32), "one")])
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("ReduceMean", ["x"], ["mean"], name="mean", keepdims=0),
             helper.make_node("Greater", ["mean", "half"], ["positive"], name="greater"),
             helper.make_node("If", ["positive"], ["y"], name="if", then_branch=then_graph, else_branch=else_graph)]
    return make_model(nodes, [("x", [1, 3, 8, 8])], [("y", shape)],
                      [weights("w", 4, 3, 3, 3), numpy_helper.from_array(np.array(0.5, np.float32), "half")])


@test()
def subgraphs_stay_intact():
    with temp_folder() as folder:
        path, out = os.path.join(folder, "if.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(branch_model(), path)
        calib = save_samples(os.path.join(folder, "calib"), count=8)
        quantize(path, out, calib, "xint8")
        check_model(out)
        before, after = ({node.op_type: node for node in onnx.load(one).graph.node}["If"] for one in (path, out))
        branches = [{attribute.name: [(node.op_type, node.name) for node in attribute.g.node] for attribute in node.attribute}
                    for node in (before, after)]
        ops = {node.op_type for node in onnx.load(out).graph.node}
        cosines = mean_cosines(onnxruntime_results(out, calib), onnxruntime_results(path, calib))
    expect_equal(branches[1], branches[0], "nodes of the branches")
    expect("QuantizeLinear" in ops, "nothing outside the branches was quantized")
    expect(cosines["y"] >= 0.99, f"cosine {cosines['y']:.4f} to the float model, at least 0.99 expected")


@test()
def nothing_to_quantize():
    """Exit 0, a warning, and the float model copied."""
    model = make_model([helper.make_node("Sin", ["x"], ["s"], name="sin"), helper.make_node("Floor", ["s"], ["y"], name="floor")],
                       [("x", [1, 3, 8, 8])], [("y", [1, 3, 8, 8])])
    with temp_folder() as folder:
        path, out = os.path.join(folder, "plain.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(model, path)
        calib = save_samples(os.path.join(folder, "calib"))
        result = quarkq("quantize", "--config", "xint8", "--calib", calib, "-o", out, path)
        found = onnx.load(out)
        check_model(out)
    expect("quarkq: warning: " in result.stderr, f"no warning on stderr: {result.stderr!r}")
    expect_equal([(node.op_type, node.name) for node in found.graph.node], [("Sin", "sin"), ("Floor", "floor")], "nodes of the copy")


@test(cases=["initializers", "constants"])
def weights_as(kind):
    """Weights as initializers or in Constant nodes: same float results, and both can be quantized."""
    model = conv_model()
    if kind == "constants":
        tensor = model.graph.initializer[0]
        model.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], name="weight", value=tensor))
        del model.graph.initializer[:]
    with temp_folder() as folder:
        path, out, results = (os.path.join(folder, name) for name in ("net.onnx", "out.onnx", "results"))
        onnx.save(model, path)
        calib = save_samples(os.path.join(folder, "calib"))
        run_model(path, calib, results)
        wanted = onnxruntime_results(path, calib)
        expect_close(results_like(results, wanted), wanted, kind)
        quantize(path, out, calib, "xint8")
        check_model(out)
        stored = [one for one in onnx.load(out).graph.initializer if one.data_type == TensorProto.INT8 and len(one.dims) == 4]
    expect_equal(len(stored), 1, "stored int8 weights")
