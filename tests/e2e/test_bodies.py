# SPDX-License-Identifier: MIT
"""EnableSubgraph: bodies of If, Loop and Scan are quantized, load and run in ONNX Runtime, and stay close to the float model."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quantize, run, run_model, temp_folder, test
from reference import check_model, make_model, mean_cosines, onnxruntime_results, results_like, weights

MIN_COSINE = 0.99
MIN_AGREEMENT = 0.999  # of our executor and ONNX Runtime, which may round a tie to the other side
WIDTH = 12


def value(name, shape=None, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def graph(name, nodes, inputs, outputs, stored=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(stored))


def scalar(name, number, dtype):
    return numpy_helper.from_array(np.array(number, dtype), name)


def branches():
    """Conv in each branch, one weight around the If and one in its branch; which branch runs depends on the sample."""
    taken = graph("positive", [helper.make_node("Conv", ["x", "w1"], ["c1"], name="conv_positive", pads=[1] * 4),
                               helper.make_node("Relu", ["c1"], ["y1"], name="relu_positive")], [], [value("y1", [1, 4, 8, 8])])
    other = graph("negative", [helper.make_node("Conv", ["x", "w2"], ["c2"], name="conv_negative", pads=[1] * 4),
                               helper.make_node("Sigmoid", ["c2"], ["y2"], name="sigmoid_negative")], [], [value("y2", [1, 4, 8, 8])],
                  [weights("w2", 4, 3, 3, 3, seed=5)])
    nodes = [helper.make_node("ReduceMean", ["x"], ["mean"], name="mean", keepdims=0), helper.make_node("Greater", ["mean", "zero"], ["above"]),
             helper.make_node("If", ["above"], ["z"], name="choice", then_branch=taken, else_branch=other),
             helper.make_node("Conv", ["z", "w3"], ["y"], name="conv_after", pads=[1] * 4)]
    return make_model(nodes, [("x", [1, 3, 8, 8])], [("y", [1, 2, 8, 8])],
                      [weights("w1", 4, 3, 3, 3), weights("w3", 2, 4, 3, 3), scalar("zero", 0, np.float32)])


def recurrence():
    """A Loop over steps with a state: MatMul with a weight around it, Gemm with weight and bias inside of it."""
    step = [helper.make_node("MatMul", ["state", "w"], ["turned"], name="turn"), helper.make_node("Add", ["turned", "x"], ["moved"], name="move"),
            helper.make_node("Tanh", ["moved"], ["next"], name="bound"), helper.make_node("Gemm", ["next", "u", "b"], ["seen"], name="look", transB=1),
            helper.make_node("Identity", ["go"], ["goes"])]
    body = graph("step", step, [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("state", [1, WIDTH])],
                 [value("goes", [], TensorProto.BOOL), value("next", [1, WIDTH]), value("seen", [1, 5])],
                 [weights("u", 5, WIDTH), weights("b", 5)])
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["last", "all"], name="steps", body=body),
             helper.make_node("Gemm", ["last", "v"], ["y"], name="after")]
    return make_model(nodes, [("x", [1, WIDTH])], [("y", [1, 4]), ("all", [6, 1, 5])],
                      [weights("w", WIDTH, WIDTH), weights("v", WIDTH, 4), scalar("trips", 6, np.int64)])


def scan():
    """A Scan over rows with a state."""
    step = [helper.make_node("MatMul", ["row", "w"], ["turned"], name="turn"), helper.make_node("Add", ["turned", "state"], ["sum"], name="add"),
            helper.make_node("Sigmoid", ["sum"], ["next"], name="bound"), helper.make_node("Identity", ["next"], ["seen"])]
    body = graph("step", step, [value("state", [1, WIDTH]), value("row", [1, WIDTH])], [value("next", [1, WIDTH]), value("seen", [1, WIDTH])])
    nodes = [helper.make_node("Unsqueeze", ["x", "axes"], ["rows"]),
             helper.make_node("Scan", ["start", "rows"], ["last", "y"], name="rows_scan", body=body, num_scan_inputs=1)]
    return make_model(nodes, [("x", [5, WIDTH])], [("y", [5, 1, WIDTH])],
                      [weights("w", WIDTH, WIDTH), numpy_helper.from_array(np.zeros((1, WIDTH), np.float32), "start"),
                       numpy_helper.from_array(np.array([1]), "axes")])


def nested():
    """An If inside of a Loop; both read weights that the main graph stores."""
    inside = [graph(name, [helper.make_node("MatMul", ["state", weight], [f"turned_{name}"], name=f"turn_{name}")], [],
                    [value(f"turned_{name}", [1, WIDTH])]) for name, weight in (("even", "w1"), ("odd", "w2"))]
    step = [helper.make_node("Mod", ["i", "two"], ["rest"]), helper.make_node("Equal", ["rest", "none"], ["is_even"]),
            helper.make_node("If", ["is_even"], ["turned"], name="parity", then_branch=inside[0], else_branch=inside[1]),
            helper.make_node("MatMul", ["turned", "w3"], ["mixed"], name="mix"), helper.make_node("Tanh", ["mixed"], ["next"], name="bound"),
            helper.make_node("Identity", ["go"], ["goes"])]
    body = graph("step", step, [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("state", [1, WIDTH])],
                 [value("goes", [], TensorProto.BOOL), value("next", [1, WIDTH])])
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["y"], name="steps", body=body)]
    return make_model(nodes, [("x", [1, WIDTH])], [("y", [1, WIDTH])],
                      [weights(name, WIDTH, WIDTH, seed=seed) for name, seed in (("w1", 4), ("w2", 5), ("w3", 6))] +
                      [scalar("trips", 4, np.int64), scalar("two", 2, np.int64), scalar("none", 0, np.int64)])


# Network -> what makes it, and how many weights its bodies read.
NETWORKS = {"If": (branches, 2), "Loop": (recurrence, 2), "Scan": (scan, 1), "If-in-Loop": (nested, 3)}
PRESETS = ("a8w8", "xint8", "u8s8_aaws", "a16w8", "bf16", "bfp16")


def write(folder, model, sign=0):
    """The model and samples with positive and negative means, or of one sign."""
    path, inputs = os.path.join(folder, "float.onnx"), os.path.join(folder, "inputs")
    onnx.save(model, path)
    os.makedirs(inputs)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(3)
    for number in range(8):
        shift = 0.2 * (sign or (1 if number % 2 else -1))
        np.save(os.path.join(inputs, f"{number:02}.npy"), (random.standard_normal(shape) * 0.5 + shift).astype(np.float32))
    return path, inputs


def bodies(owner):
    for node in owner.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g
                yield from bodies(attribute.g)


def quantized_parts(path):
    """How many weights of matrices and kernels DequantizeLinear nodes of bodies read, and how many activations are quantized there."""
    stored = activations = 0
    main = onnx.load(path).graph
    for body in bodies(main):
        ranks = {one.name: len(one.dims) for one in [*main.initializer, *body.initializer]}
        for node in body.node:
            if "uantize" not in node.op_type:
                continue
            if node.input[0] in ranks:
                stored += ranks[node.input[0]] >= 2
            else:
                activations += "Dequantize" not in node.op_type or node.op_type == "BFPQuantizeDequantize"
    return stored, activations


@test(cases=[(f"{name}-{preset}", name, preset) for name in NETWORKS for preset in PRESETS])
def bodies_are_quantized(case):
    """Weights and activations in the bodies; close to float; alike in both runtimes."""
    _, name, preset = case
    make, count = NETWORKS[name]
    with temp_folder() as folder:
        path, inputs = write(folder, make())
        target, results = os.path.join(folder, "q.onnx"), os.path.join(folder, "results")
        quantize(path, target, inputs, preset, "--set", "EnableSubgraph=true", "--on-collapse", "warn")
        stored, activations = quantized_parts(target)
        expect_equal(stored, count, "weights quantized in bodies")
        expect(activations >= count, f"{activations} activations are quantized in bodies, at least {count} expected")
        run_model(target, inputs, results)
        wanted = onnxruntime_results(path, inputs)
        close = min(mean_cosines(results_like(results, wanted), wanted).values())
        expect(close >= MIN_COSINE, f"cosine {close:.5f} to the float model, at least {MIN_COSINE} expected")
        if preset in ("bf16", "bfp16"):  # nodes of com.amd.quark need a library (test_ort_ops)
            return f"cosine to float {close:.5f}"
        check_model(target)
        there = onnxruntime_results(target, inputs, optimize=False)
        alike = min(mean_cosines(results_like(results, there), there).values())
        expect(alike >= MIN_AGREEMENT, f"cosine {alike:.6f} to ONNX Runtime, at least {MIN_AGREEMENT} expected")
        return f"cosine to float {close:.5f}, to ONNX Runtime {alike:.6f}"


@test()
def a_branch_that_no_sample_takes_gets_weights_only():
    with temp_folder() as folder:
        path, inputs = write(folder, branches(), sign=1)
        target = os.path.join(folder, "q.onnx")
        said = run("quantize", "--config", "a8w8", "--calib", inputs, "-o", target, "--set", "EnableSubgraph=true", path)
        expect_equal(said.returncode, 0, "exit code")
        expect("choice" in said.stderr and "else_branch" in said.stderr, f"the branch is not named: {said.stderr.strip()}")
        for attribute in next(node for node in onnx.load(target).graph.node if node.op_type == "If").attribute:
            kinds = [node.op_type for node in attribute.g.node]
            expect("DequantizeLinear" in kinds, f"{attribute.name}: no weight is quantized")
            expect_equal("QuantizeLinear" in kinds, attribute.name == "then_branch", f"{attribute.name}: activations are quantized")
        check_model(target)


@test()
def an_excluded_node_keeps_its_bodies_in_float():
    with temp_folder() as folder:
        path, inputs = write(folder, recurrence())
        target = os.path.join(folder, "q.onnx")
        quantize(path, target, inputs, "a8w8", "--set", "EnableSubgraph=true", "--set", "exclude=[steps]")
        expect_equal(quantized_parts(target), (0, 0), "quantized in bodies")


@test()
def compat_mode_leaves_bodies_in_float_and_says_so():
    with temp_folder() as folder:
        path, inputs = write(folder, recurrence())
        target = os.path.join(folder, "q.onnx")
        said = run("quantize", "--config", "a8w8", "--calib", inputs, "-o", target, "--set", "EnableSubgraph=true", "--compat", "quark-0.13", path)
        expect_equal(said.returncode, 0, "exit code")
        expect("EnableSubgraph" in said.stderr, f"the option is not named: {said.stderr.strip()}")
        expect_equal(quantized_parts(target), (0, 0), "quantized in bodies")


@test()
def the_same_bytes_for_any_number_of_threads():
    with temp_folder() as folder:
        path, inputs = write(folder, nested())
        written = []
        for threads in (1, 2):
            target = os.path.join(folder, f"q{threads}.onnx")
            quantize(path, target, inputs, "xint8", "--set", "EnableSubgraph=true", "--threads", threads)
            with open(target, "rb") as file:
                written.append(file.read())
        expect(written[0] == written[1], "one thread and two threads write different models")
