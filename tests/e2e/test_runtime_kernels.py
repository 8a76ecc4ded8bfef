# SPDX-License-Identifier: MIT
"""Every operator that gets Q/DQ nodes, with its attributes and opsets, in ONNX Runtime's default optimizations: the result loads and runs
where the float model does. The table src/plan/runtime_kernels.cpp has the facts that this sweep finds. QUARKQ_KERNEL_SWEEP=all runs all
calls at all opsets, with and without a Conv behind them (an hour)."""
import os

import numpy as np
import onnx
import onnxruntime

import kernel_recipes
from harness import expect, expect_equal, quarkq, run, temp_folder, test

PRESETS = ("u8s8_aaws", "xint8", "a8w8", "int8_cnn_default", "a16w8")
PARTS = 4
RUNS_ALL = os.environ.get("QUARKQ_KERNEL_SWEEP") == "all"
EVERY_OPSET = ("AveragePool", "DepthToSpace", "ReduceMax", "ReduceMin")  # where kernels are missing in some opsets
EVERY_TYPE = ("--set", "QuantizeAllOpTypes=true")


def calls():
    """[(recipe, opset, preset, with a Conv behind it)]. The short form has each recipe once for each preset, at changing opsets."""
    all_opsets = range(kernel_recipes.FIRST_OPSET, kernel_recipes.LAST_OPSET + 1)
    found = []
    for number, recipe in enumerate(kernel_recipes.recipes()):
        opsets = [opset for opset in all_opsets if max(recipe[0], kernel_recipes.FIRST_OPSET) <= opset <= recipe[1]]
        for index, preset in enumerate(PRESETS):
            if RUNS_ALL:
                found += [(recipe, opset, preset, with_conv) for opset in opsets for with_conv in (True, False)]
            elif recipe[2].startswith(EVERY_OPSET) and preset == "xint8" and "[1, 1, 1, 1]" not in recipe[2]:
                found += [(recipe, opset, preset, True) for opset in opsets[::2]]
            elif index < 2 or number % len(PRESETS) == index:
                found.append((recipe, opsets[(number * 3 + index) % len(opsets)], preset, (number + index) % 4 != 0))
    return found


def load(path, optimize=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def failure(folder, call, *more):
    """Why the result of one call does not run; an empty text when it does."""
    recipe, opset, preset, with_conv = call
    path, written = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
    onnx.save(kernel_recipes.build(recipe, opset, with_conv), path)
    samples = os.path.join(folder, "in")
    result = run("quantize", "--config", preset, "--calib", samples, "-o", written, "--threads", "1", "--quiet", *more, path)
    label = f"{recipe[2]} opset {opset} {preset}{' before Conv' if with_conv else ''}"
    if result.returncode != 0:
        return f"{label}: exit code {result.returncode} {result.stderr[-200:]}"
    try:
        load(written).run(None, {"input": np.load(os.path.join(samples, "0.npy"))})
    except Exception as error:  # whatever ONNX Runtime raises
        return f"{label}: {' '.join(str(error).split())[:200]}"
    return ""


def add_samples(folder):
    os.makedirs(os.path.join(folder, "in"))
    rng = np.random.default_rng(3)
    for i in range(2):
        np.save(os.path.join(folder, "in", f"{i}.npy"), rng.standard_normal((1, kernel_recipes.CHANNELS, kernel_recipes.SIZE, kernel_recipes.SIZE)).astype(np.float32))


def sweep(part, *more):
    own = calls()[part::PARTS]
    with temp_folder() as folder:
        add_samples(folder)
        failures = [text for text in (failure(folder, call, *more) for call in own) if text]
    expect(not failures, f"{len(failures)} of {len(own)}: {' | '.join(failures[:4])}")
    return f"{len(own)} calls"


@test(cases=[(f"part {part}", part) for part in range(PARTS)])
def results_run_where_float_models_do(case):
    return sweep(case[1])


@test(cases=[(f"part {part}", part) for part in range(PARTS if RUNS_ALL else 1)])
def results_of_all_operator_types_run(case):
    return sweep(case[1], *EVERY_TYPE)


def quantized(folder, name, opset, preset="u8s8_aaws", *more):
    add_samples(folder)
    recipe = next(one for one in kernel_recipes.recipes() if one[2].startswith(name))
    path, written = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
    onnx.save(kernel_recipes.build(recipe, opset, True), path)
    result = quarkq("quantize", "--config", preset, "--calib", os.path.join(folder, "in"), "-o", written, *more, path)
    return path, written, result.stderr


@test()
def a_node_without_a_kernel_stays_float():
    with temp_folder() as folder:
        _, written, messages = quantized(folder, "AveragePool {'ceil_mode': None, 'count_include_pad': None, 'dilations': [2, 2], 'pads': None", 19)
        expect("node AveragePool_1 (AveragePool): stays float: ONNX Runtime cannot run AveragePool with dilations on integers [kernel-missing]" in messages, messages)
        graph = onnx.load(written).graph
        makers = {name: node.op_type for node in graph.node for name in node.output}
        pool = next(node for node in graph.node if node.op_type == "AveragePool")
        expect_equal(makers[pool.input[0]], "Conv", "producer of what the pool reads")
        expect_equal([node.op_type for node in graph.node if pool.output[0] in node.input], ["QuantizeLinear"], "readers of what the pool makes")


@test(cases=[("DepthToSpace", 9, 11), ("ReduceMax", 11, 12), ("ReduceMin", 10, 12), ("Concat", 10, 10), ("SpaceToDepth", 9, 10)])
def the_opset_is_raised_as_far_as_needed(case):
    op, opset, wanted = case
    with temp_folder() as folder:
        _, written, messages = quantized(folder, op, opset)
        expect_equal((onnx.load(written).opset_import[0].version, "[opset-raised]" in messages), (wanted, opset != wanted), messages)


@test(cases=["Pad constant [1, 2] [-1] False", "Pad edge [1, 0, 0, 1] [3, 2]", "Resize nearest half_pixel False [2, 3]", "Resize linear asymmetric True [2, 3]"])
def lists_with_axes_are_written_for_all_dimensions(name):
    """Pads, scales and sizes mean the same, as the float models show."""
    with temp_folder() as folder:
        path, written, _ = quantized(folder, name, 18)
        node = next(node for node in onnx.load(written).graph.node if node.op_type in ("Pad", "Resize"))
        expect(len(node.input) < 4 or node.op_type == "Resize" or not node.input[3], f"inputs {list(node.input)}")
        expect("axes" not in [one.name for one in node.attribute], "axes of the written node")
        x = {"input": np.load(os.path.join(folder, "in", "0.npy"))}
        found, wanted = load(written, optimize=False).run(None, x)[0], load(path).run(None, x)[0]
        expect_equal(found.shape, wanted.shape, "shape")
        expect(np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max(), f"values differ by {np.abs(found - wanted).max()}")


@test()
def compat_mode_keeps_the_nodes_as_they_are():
    with temp_folder() as folder:
        _, written, messages = quantized(folder, "Pad constant [1, 2] [-1] False", 18, "u8s8_aaws", "--compat", "quark-0.13")
        node = next(node for node in onnx.load(written).graph.node if node.op_type == "Pad")
        expect_equal((len(node.input), "kernel-missing" in messages), (4, False), "inputs of Pad")
