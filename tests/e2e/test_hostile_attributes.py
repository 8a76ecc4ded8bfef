# SPDX-License-Identifier: MIT
"""Attributes that name dimensions or counts no tensor has: the model is refused, or the node is left alone; never a crash.

$QUARKQ_HOSTILE_RUNS is how many drawn models are tried (hostile_graphs.py); each costs a tenth of a second.
"""
import os

import onnx
from onnx import TensorProto, helper

from harness import QUARKQ, expect, expect_equal, run, temp_folder, test
from hostile_graphs import HIGHEST, LOWEST, SEEDS, build, commands, complaint, floats, ints, run_many

RUNS = int(os.environ.get("QUARKQ_HOSTILE_RUNS", "300"))
MODEL = 3

# What is refused by name, whatever is known of the shapes: seed, node, attribute, number, words of the message.
REFUSED = [
    ("transposes", "n0", "perm", [0, 1073741824, 1], "each of 0 to 2 once"),
    ("transposes", "n2", "perm", [0, -1048576, 1], "each of 0 to 2 once"),
    ("transposes", "n2", "perm", [1, 200, 0], "each of 0 to 2 once"),
    ("transposes", "n0", "perm", [0, 6, 1], "each of 0 to 2 once"),
    ("transposes", "n0", "perm", [0, 0, 1], "each of 0 to 2 once"),
    ("transpose before Gather", "n0", "perm", [1, 4, 2, 1099511627776, 0], "once"),
    ("LayerNormalization", "n0", "axis", HIGHEST, "allowed: -"),
    ("Flatten and LogSoftmax", "n0", "axis", 2 ** 62, "allowed: -"),
    ("GatherND", "n1", "batch_dims", -3, "allowed: 0 to"),
    ("Conv", "j3", "axis", LOWEST, "allowed: -"),
    ("Conv", "n1", "group", 0, "allowed: 1 to"),
    ("Conv", "n1", "strides", [2, LOWEST], "allowed: 1 to"),
    ("Conv", "n1", "dilations", [2 ** 40, 1], "allowed: 1 to"),
    ("DepthToSpace", "n0", "blocksize", -1, "allowed: 1 to"),
    ("old Squeeze", "n1", "axes", [LOWEST], "allowed: -"),
    ("Gemm", "n0", "transB", -(2 ** 62), "allowed: 0 to 1"),
]


def with_attribute(seed, form, node, attribute, value):
    model = build(seed, form)
    (found,) = [one for one in model.graph.node if one.name in (node, node.replace("j", "n"))][-1:]
    kept = [one for one in found.attribute if one.name != attribute]
    del found.attribute[:]
    found.attribute.extend([*kept, helper.make_attribute(attribute, value)])
    return model


def run_all(model, names=None):
    """{command: CompletedProcess} of the model through every verb."""
    with temp_folder() as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        tried = commands(path, folder, (2, 3, 4))
        return {name: run(*arguments) for name, arguments in tried.items() if names is None or name in names}


def expect_harmless(results):
    for name, result in results.items():
        reason = complaint(result)
        expect(not reason, f"{name}: {reason}")


@test(cases=[(f"{seed} {attribute} {value}", seed, node, attribute, value, words) for seed, node, attribute, value, words in REFUSED])
def refuses_by_name(case):
    _, seed, node, attribute, value, words = case
    names = ["optimize", "quantize a8w8", "quantize fp16", "analyze", "calibrate", "inspect", "run"]
    for form in ("unknown rank", "known"):
        for name, result in run_all(with_attribute(seed, form, node, attribute, value), names).items():
            said = result.stderr.strip()
            expect(result.returncode == MODEL, f"{name}, {form}: exit code {result.returncode}, expected {MODEL}; it said {said[-600:]!r}")
            for word in ("node ", attribute, words):
                expect(word in said, f"{name}, {form}: the message does not say {word!r}: {said[-600:]!r}")


def unknown_rank(*chain, stored=(), front="Reshape"):
    """A chain after a Reshape by an input, so that no rank is ever known before the model runs; or after another operator."""
    nodes = [helper.make_node(front, ["input", "shape"] if front == "Reshape" else ["input"], ["x"], name="front"), *chain, helper.make_node("Reshape", ["last", "flat"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [2, 3, 4]),
                                           helper.make_tensor_value_info("shape", TensorProto.INT64, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m"])], [*stored, tensor("flat", ints(-1))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tensor(name, values):
    return onnx.numpy_helper.from_array(values, name)


# What no attribute gives away by itself: ranks that disagree only with each other.
DISAGREEING = {
    "Concat with a constant of another rank": lambda: unknown_rank(
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("Concat", ["t", "c"], ["j"], axis=0),
        helper.make_node("Transpose", ["j"], ["last"], perm=[1, 0]), stored=[tensor("c", floats(3))]),
    "Concat of Transposes of other ranks": lambda: unknown_rank(
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]), helper.make_node("Transpose", ["x"], ["b"], perm=[2, 1, 0, 3]),
        helper.make_node("Concat", ["b", "a"], ["j"], axis=0), helper.make_node("Transpose", ["j"], ["last"], perm=[1, 0, 2, 3])),
    "Add of Transposes of other ranks": lambda: unknown_rank(
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]), helper.make_node("Transpose", ["x"], ["b"], perm=[2, 1, 0, 3]),
        helper.make_node("Add", ["a", "b"], ["j"]), helper.make_node("Transpose", ["j"], ["last"], perm=[1, 0, 2, 3])),
    "Transposes of other ranks in a row": lambda: unknown_rank(
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]), helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Transpose", ["b"], ["last"], perm=[2, 0, 1, 3, 4])),
    "axis beyond the permutation": lambda: unknown_rank(
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]), helper.make_node("Softmax", ["a"], ["b"], axis=40),
        helper.make_node("Transpose", ["b"], ["last"], perm=[1, 0])),
    "Pad by another rank": lambda: unknown_rank(
        helper.make_node("Transpose", ["x"], ["a"], perm=[1, 0]), helper.make_node("Pad", ["a", "p"], ["b"]),
        helper.make_node("Transpose", ["b"], ["last"], perm=[1, 0]), stored=[tensor("p", ints(0, 1, 0, 0, 0, 2))]),
    "Conv with a weight of rank 1": lambda: unknown_rank(helper.make_node("Conv", ["x", "w", "b"], ["last"]),
                                                         stored=[tensor("w", floats(4)), tensor("b", floats(4))]),
    "Conv of another rank than its input": lambda: unknown_rank(helper.make_node("Conv", ["x", "w"], ["last"]), front="Relu",
                                                                stored=[tensor("w", floats(4, 3, 3, 3))]),
    "OneHot without a depth": lambda: unknown_rank(helper.make_node("OneHot", ["x", "d", "v"], ["last"]), front="Relu",
                                                   stored=[tensor("d", ints()), tensor("v", floats(2))]),
    "Range without a start": lambda: unknown_rank(helper.make_node("Range", ["d", "s", "s"], ["r"]), helper.make_node("Cast", ["r"], ["last"], to=1),
                                                  stored=[tensor("d", ints()), tensor("s", ints(3))]),
    "EyeLike of what has no type": lambda: unknown_rank(
        helper.make_node("MatMul", ["a", "b"], ["m"]), helper.make_node("EyeLike", ["m"], ["last"], dtype=1),
        stored=[tensor("a", floats(2, 3)), tensor("b", floats(5, 7))]),
    "SplitToSequence into parts of 0": lambda: unknown_rank(
        helper.make_node("SplitToSequence", ["c", "n"], ["s"], axis=0), helper.make_node("SequenceAt", ["s", "n"], ["last"]),
        stored=[tensor("c", floats(6)), tensor("n", ints(0)[0])]),
    "Gemm with a weight of rank 1": lambda: unknown_rank(helper.make_node("Gemm", ["x", "w"], ["last"]), stored=[tensor("w", floats(4))]),
    "BatchNormalization of scalars": lambda: unknown_rank(
        helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("BatchNormalization", ["a", "s", "s", "s", "s"], ["last"]),
        stored=[tensor("w", floats(4, 3, 1, 1)), tensor("s", floats(1))]),
}


@test(cases=sorted(DISAGREEING))
def survives_disagreeing_ranks(case):
    expect_harmless(run_all(DISAGREEING[case]()))


@test()
def survives_a_stored_type_of_another_rank():
    """What the model says of an inner value contradicts the permutation that makes it."""
    model = DISAGREEING["Concat of Transposes of other ranks"]()
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [1, 2, 3, 4]))
    expect_harmless(run_all(model))


@test(cases=[(f"step {step}", step) for step in (2 ** 32, 2 ** 62, -(2 ** 32), LOWEST)])
def survives_steps_over_a_shape(case):
    """The onnx library once counted the places of such a Slice without end."""
    nodes = [helper.make_node("Shape", ["input"], ["s"]), helper.make_node("Slice", ["s", "a", "b", "c", "d"], ["t"]), helper.make_node("Cast", ["t"], ["y"], to=1)]
    numbers = {"a": 1, "b": 3, "c": 0, "d": case[1]} if case[1] > 0 else {"a": 2, "b": 0, "c": 0, "d": case[1]}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [2, 3, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m"])], [tensor(name, ints(number)) for name, number in numbers.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    expect_harmless(run_all(model, ["optimize", "inspect", "run"]))


@test(cases=[(f"{seed} {name}", seed, node, name) for seed, node, name in
             (("old Squeeze", "n1", "axes"), ("Flatten and LogSoftmax", "n0", "axis"), ("GatherND", "n1", "batch_dims"), ("transposes", "n0", "perm"))])
def survives_attributes_of_another_type(case):
    """The type is read from the file, and need not be the operator's."""
    _, seed, node, name = case
    for value in (0.5, [0.5], "text", helper.make_tensor_type_proto(1, [2])):
        model = with_attribute(seed, "known", node, name, value)
        expect_harmless(run_all(model, ["inspect", "optimize", "run"]))
        for one in model.graph.node:
            for attribute in one.attribute:
                attribute.type = onnx.AttributeProto.TYPE_PROTO if attribute.name == name else attribute.type
        expect_harmless(run_all(model, ["inspect", "optimize", "run"]))


@test()
def survives_inputs_that_no_machine_holds():
    nodes = [helper.make_node("MatMul", ["input", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["y"])]
    for dims in ([2 ** 40, 2 ** 40, 4], [2 ** 20, 2 ** 20, 4], [1, 2 ** 62, 2]):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, dims)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b", 4])], [tensor("w", floats(4, 4)), tensor("b", floats(4))])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        expect_harmless(run_all(model, ["optimize", "quantize a8w8", "analyze", "calibrate", "inspect"]))


@test()
def survives_drawn_models():
    found = run_many(QUARKQ, range(RUNS), seed=1)
    expect(not found, f"{len(found)} of {RUNS}: " + " | ".join(found[:5]))
    return f"{RUNS} runs over {len(SEEDS)} graphs"


@test()
def keeps_good_models():
    """The seeds themselves run in all forms: what the changes are compared with is right."""
    for seed in SEEDS:
        result = run_all(build(seed, "known"), ["quantize a8w8"])["quantize a8w8"]
        wanted = 3 if seed == "quantized" else 0  # a model that is quantized already is refused
        expect_equal(result.returncode, wanted, f"exit code of {seed}: {result.stderr.strip()[-400:]}")
