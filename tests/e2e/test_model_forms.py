# SPDX-License-Identifier: MIT
"""Models in the forms in which exporters and other tools write them: functions, unsorted nodes, sparse weights, stored shapes that are wrong
or missing, operators that only ONNX Runtime knows, data behind symbolic links. Each is what its plain form is, for every verb."""
import json
import os
import shutil

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from reference import cosine, make_model, session, weights
from fuzz_script import script

SHAPE = (1, 3, 8, 8)
CONV = [weights("w0", 4, 3, 3, 3), weights("b0", 4)]
PRESETS = ["A8W8", "XINT8", "VINT8", "A16W8", "BF16", "BFP16", "U8S8_AAWS", "INT8_TRANSFORMER_DEFAULT", "UINT8_DYNAMIC_QUANT"]


def conv(output="c"):
    return helper.make_node("Conv", ["x", "w0", "b0"], [output], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def with_nodes(nodes, initializers=CONV, opset=17, **extra):
    return make_model(nodes, [("x", SHAPE)], [("y", (1, 4, 8, 8))], initializers, opset, **extra)


def with_own_nodes(model, nodes):
    """The model with other nodes, which the onnx library's checker refuses."""
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def functions():
    """Two calls of pkg::Block, which calls pkg::Relu (it computes Abs) and pkg::Act with an attribute of the call or the default."""
    leaky = helper.make_node("LeakyRelu", ["a"], ["o"])
    leaky.attribute.append(AttributeProto(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT))
    opset = [helper.make_opsetid("", 18)]
    act = helper.make_function("pkg", "Act", ["a"], ["o"], [leaky], opset, [], [helper.make_attribute("slope", 0.25)])
    absolute = helper.make_function("pkg", "Relu", ["a"], ["b"], [helper.make_node("Abs", ["a"], ["b"])], [helper.make_opsetid("", 13)])
    block = helper.make_function("pkg", "Block", ["a", "w", "b"], ["o"], [
        helper.make_node("Conv", ["a", "w", "b"], ["t"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["t"], ["u"], domain="pkg"), helper.make_node("Act", ["u"], ["o"], domain="pkg")],
        [helper.make_opsetid("", 18), helper.make_opsetid("pkg", 1)])
    nodes = [helper.make_node("Block", ["x", "w0", "b0"], ["m"], domain="pkg", name="first"),
             helper.make_node("Block", ["m", "w1", "b1"], ["y"], domain="pkg", name="second")]
    plain = with_own_nodes(with_nodes([conv("y")], [*CONV, weights("w1", 4, 4, 3, 3), weights("b1", 4)], 18), nodes)
    plain.opset_import.append(helper.make_opsetid("pkg", 1))
    plain.functions.extend([block, act, absolute])
    return plain


def unsorted():
    model = with_nodes([conv(), helper.make_node("Relu", ["c"], ["r"], name="relu"), helper.make_node("Tanh", ["r"], ["y"], name="last")])
    return with_own_nodes(model, list(model.graph.node)[::-1])


def stale_output():
    model = with_nodes([conv(), helper.make_node("Relu", ["c"], ["y"])])
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = 9
    return model


def scalar_output():
    model = with_nodes([conv("y")])
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    return model


def stale_inner_value():
    model = with_nodes([conv(), helper.make_node("Relu", ["c"], ["y"])])
    model.graph.value_info.append(helper.make_tensor_value_info("c", TensorProto.FLOAT, [7]))
    return model


def without_output_shape():
    model = with_nodes([conv("y")])
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def without_output_type():
    model = with_nodes([conv("y")])
    model.graph.output[0].ClearField("type")
    return model


def without_input_shape():
    model = with_nodes([conv("y")])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    return model


def sparse_weight(as_constant):
    """Weights of zero for the most part."""
    dense = numpy_helper.to_array(CONV[0]).copy()
    dense[np.abs(dense) < 0.1] = 0
    places = np.flatnonzero(dense)
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(dense.ravel()[places], "w0"), numpy_helper.from_array(places, "w0_places"), list(dense.shape))
    model = with_nodes([conv("y")])
    del model.graph.initializer[0]
    if as_constant:
        model.graph.node.insert(0, helper.make_node("Constant", [], ["w0"], name="w0", sparse_value=sparse))
    else:
        model.graph.sparse_initializer.append(sparse)
    return model


def weight_twice():
    model = with_nodes([conv("y")])
    model.graph.initializer.insert(0, numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.float32), "w0"))
    return model


def output_twice():
    model = with_nodes([conv("y")])
    model.graph.output.append(model.graph.output[0])
    return model


def group_normalization():
    return with_own_nodes(with_nodes([conv("y")], [*CONV, weights("s", 2), weights("o", 2)], 18),
                          [conv(), helper.make_node("GroupNormalization", ["c", "s", "o"], ["y"], name="norm", num_groups=2)])


def layer_normalization():
    return with_own_nodes(with_nodes([conv("y")], [*CONV, weights("s", 8)], 13), [conv(), helper.make_node("LayerNormalization", ["c", "s"], ["y"], name="norm")])


def gelu_without_import():
    return with_own_nodes(with_nodes([conv("y")], opset=13), [conv(), helper.make_node("Gelu", ["c"], ["y"], domain="com.microsoft")])


FORMS = {"functions": functions, "unsorted": unsorted, "stale output": stale_output, "scalar output": scalar_output, "stale inner value": stale_inner_value,
         "without output shape": without_output_shape, "without output type": without_output_type, "without input shape": without_input_shape,
         "sparse initializer": lambda: sparse_weight(False), "sparse Constant": lambda: sparse_weight(True), "weight twice": weight_twice,
         "output twice": output_twice, "GroupNormalization 18": group_normalization, "LayerNormalization 13": layer_normalization,
         "Gelu without import": gelu_without_import}


class Case:
    def __init__(self, folder, model):
        self.folder, self.model, self.samples = folder, os.path.join(folder, "model.onnx"), os.path.join(folder, "samples")
        onnx.save(model, self.model)
        os.makedirs(self.samples)
        rng = np.random.default_rng(5)
        self.feeds = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(8)]
        for number, feed in enumerate(self.feeds):
            np.save(os.path.join(self.samples, f"{number}.npy"), feed)
        self.wanted = self.results(self.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def results(self, path):
        runner = session(path)
        return [runner.run(None, {"x": feed})[0] for feed in self.feeds]

    def expect_interface(self, path):
        """Names of inputs and outputs, and their order, are those of the float model."""
        made, given = onnx.load(path).graph, onnx.load(self.model).graph
        for kind in ("input", "output"):
            expect_equal([value.name for value in getattr(made, kind)], [value.name for value in getattr(given, kind)], f"{kind}s")


@test(cases=list(FORMS.items()))
def are_what_their_plain_form_is(case):
    _, make = case
    with temp_folder() as folder:
        place = Case(folder, make())
        quarkq("run", place.model, "--inputs", place.samples, "--outputs", place.path("results"), "--quiet")
        found = np.load(place.path("results/0.npy")) if os.path.exists(place.path("results/0.npy")) else np.load(place.path("results/y/0.npy"))
        expect(np.abs(found - place.wanted[0]).max() < 1e-4, "run")
        quarkq("optimize", place.model, "-o", place.path("optimized.onnx"), "--quiet")
        expect(np.abs(place.results(place.path("optimized.onnx"))[0] - place.wanted[0]).max() < 1e-4, "optimize")
        for preset in PRESETS:
            out = place.path(f"{preset}.onnx")
            report = json.loads(quarkq("quantize", "-c", preset, "--calib", place.samples, "-o", out, "--json", place.model).stdout)
            place.expect_interface(out)
            if any(node.domain == "com.amd.quark" for node in onnx.load(out).graph.node):
                continue  # these need a library in ONNX Runtime
            worst = min(cosine(a, b) for a, b in zip(place.results(out), place.wanted))
            expect(worst > 0.98, f"{preset}: cosine {worst}, {report['findings']}")


@test()
def all_verbs_see_the_nodes_of_functions():
    with temp_folder() as folder:
        place = Case(folder, functions())
        report = json.loads(quarkq("quantize", "-c", "xint8", "--calib", place.samples, "-o", place.path("q.onnx"), "--json", place.model).stdout)
        expect("functions-expanded" in [finding["id"] for finding in report["findings"]], "the expansion is a finding")
        written = onnx.load(place.path("q.onnx"))
        expect_equal(len(written.functions), 0, "functions")
        expect_equal(sum(node.op_type == "Conv" for node in written.graph.node), 2, "Convs")
        expect_equal(sum(node.op_type == "DequantizeLinear" and node.input[0].startswith("w") for node in written.graph.node), 2, "quantized weights")
        expect("Abs" in quarkq("inspect", place.model).stdout, "inspect shows the operators inside")
        quarkq("calibrate", "-c", "xint8", place.model, "--calib", place.samples, "-o", place.path("ranges.json"))
        quarkq("analyze", "-c", "xint8", place.model, "--calib", place.samples, "--quiet")
        quarkq("convert", place.model, place.path("half.onnx"), "--pass", "fp32-to-fp16", "--quiet")
        quarkq("evaluate", "--float", place.model, "--quantized", place.path("q.onnx"), "--data", place.samples)


@test()
def wrong_shapes_are_named():
    with temp_folder() as folder:
        place = Case(folder, stale_output())
        report = json.loads(quarkq("quantize", "-c", "a8w8", "--calib", place.samples, "-o", place.path("q.onnx"), "--json", place.model).stdout)
        found = [finding for finding in report["findings"] if finding["id"] == "value-info-fixed"]
        expect_equal([finding["subject"] for finding in found], ["y"], "the tensor")
        dims = onnx.load(place.path("q.onnx")).graph.output[0].type.tensor_type.shape.dim
        expect_equal([dim.dim_value for dim in dims], [1, 4, 8, 8], "the written shape")


def hub_cache(folder):
    """blobs/ with a model and its data, snapshots/r/ with links to them: the cache of a model hub."""
    blobs, snapshot = os.path.join(folder, "blobs"), os.path.join(folder, "snapshots", "r")
    os.makedirs(blobs), os.makedirs(snapshot)
    onnx.save_model(with_nodes([conv("y")]), os.path.join(blobs, "a1"), save_as_external_data=True, size_threshold=0, location="model.onnx_data")
    os.rename(os.path.join(blobs, "model.onnx_data"), os.path.join(blobs, "b2"))
    os.symlink("../../blobs/a1", os.path.join(snapshot, "model.onnx"))
    os.symlink("../../blobs/b2", os.path.join(snapshot, "model.onnx_data"))
    return os.path.join(snapshot, "model.onnx")


@test()
def data_next_to_a_linked_model_is_read():
    with temp_folder() as folder:
        model = hub_cache(folder)
        quarkq("quantize", "-c", "bf16", model, "-o", os.path.join(folder, "q.onnx"))


@test()
def data_elsewhere_needs_a_word():
    with temp_folder() as folder:
        model, elsewhere = hub_cache(folder), os.path.join(folder, "elsewhere")
        data = os.path.join(os.path.dirname(model), "model.onnx_data")
        os.makedirs(elsewhere)
        shutil.move(os.path.join(folder, "blobs", "b2"), os.path.join(elsewhere, "b2"))
        os.remove(data)
        os.symlink(os.path.join(elsewhere, "b2"), data)
        refused = run("quantize", "-c", "bf16", model, "-o", os.path.join(folder, "q.onnx"))
        expect_error(refused, 3, "model.onnx_data", "symbolic link", f"--allow-external {os.path.realpath(elsewhere)}")
        quarkq("quantize", "-c", "bf16", model, "-o", os.path.join(folder, "q.onnx"), "--allow-external", elsewhere)


@test()
def functions_of_another_opset_are_refused_in_words():
    with temp_folder() as folder:
        model = functions()
        model.functions[1].node.append(helper.make_node("ReduceSum", ["o"], ["unused"], axes=[0]))
        model.functions[1].opset_import[0].version = 11
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        expect_error(run("inspect", path), 3, "function pkg::Act imports opset 11 of ai.onnx, the model opset 18, and operator ReduceSum differs")


@test(cases=[(f"part {part}", part) for part in range(2)])
def random_forms_and_opsets_agree(case):
    return script("compare_ort.py", "--kinds", "form,opset", "--first", 40000 + 500 * case[1], "--models", 500)
