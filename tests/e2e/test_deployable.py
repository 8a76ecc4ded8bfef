# SPDX-License-Identifier: MIT
"""The target of a preset decides by default: what it refuses is never called good, and "deployable" is a gate of every verb that judges models."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from target_network import network, samples, weight


def plain(folder):
    """Convs and Relus only, which every target places."""
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["d"], "last")]
    value = lambda name, channels: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", channels, 8, 8])  # noqa: E731
    graph = helper.make_graph(nodes, "g", [value("x", 3)], [value("d", 8)], [weight("v", 8, 3, 3, 3, seed=1), weight("w", 8, 8, 3, 3, seed=2)])
    path = os.path.join(folder, "plain.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def quantize(folder, model, *more):
    """(path, the finished run, its report)"""
    out, report = os.path.join(folder, "out.onnx"), os.path.join(folder, "report.json")
    result = run("quantize", model, "--calib", samples(folder), "-o", out, "--report", report, *more)
    if result.returncode != 0:
        return out, result, None
    with open(report, encoding="utf-8") as file:
        return out, result, json.load(file)


REFUSED = ("--config", "xint8", "--set", "nodes_to_exclude=[last]")


@test(cases=[("xint8", "x1"), ("a8w8", "x2"), ("vint8", "gen2-vint8")])
def the_default_is_what_the_named_target_makes(case):
    preset, target = case
    with temp_folder() as folder:
        model = network(folder)
        same = ("--config", preset, "--set", "quarkq.metadata=false")
        out, default, report = quantize(folder, model, *same)
        with open(out, "rb") as file:
            made = file.read()
        quantize(folder, model, *same, "--target", target)
        with open(out, "rb") as file:
            expect(file.read() == made, f"the bytes differ from those of --target {target}")
        expect_equal((report["target"]["name"], report["target"]["asked"], report["deployable"]["target"]), (target, False, target), "target")
        expect(f"deployable on {target}: {report['deployable']['holds']}, " in default.stdout, default.stdout)


def many_parts(folder):
    """Six pairs of Conv and Erf, which x2 has no integer form of: each Erf ends a region."""
    nodes, weights, value = [], [], "x"
    for layer in range(6):
        weights.append(weight(f"w{layer}", 3, 3, 3, 3, seed=layer))
        nodes += [helper.make_node("Conv", [value, f"w{layer}"], [f"a{layer}"], f"conv{layer}", pads=[1, 1, 1, 1]),
                  helper.make_node("Erf", [f"a{layer}"], [f"b{layer}"], f"erf{layer}")]
        value = f"b{layer}"
    nodes.append(helper.make_node("Conv", [value, "w0"], ["y"], "last", pads=[1, 1, 1, 1]))
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 8, 8])  # noqa: E731
    path = os.path.join(folder, "parts.onnx")
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [info("x")], [info("y")], weights), opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


@test()
def what_runs_in_parts_is_said_and_fails_the_gate():
    with temp_folder() as folder:
        model = many_parts(folder)
        out, result, report = quantize(folder, model, "--config", "a8w8")
        found = report["deployable"]
        expect_equal((found["holds"], found["regions"]), ("in parts", 7), "deployable")
        expect(f"deployable on x2: in parts, {found['nodes']} of {found['of']} nodes in 7 regions; the rest runs on the CPU" in result.stdout, result.stdout)
        expect(report["verdict"]["grade"] != "good", f"the verdict is {report['verdict']}")
        gated = run("quantize", model, "--config", "a8w8", "--calib", samples(folder), "-o", os.path.join(folder, "gated.onnx"), "--require", "deployable")
        expect_error(gated, 5, "--require deployable", "in parts", "7 regions")
        expect(not os.path.exists(os.path.join(folder, "gated.onnx")), "a refused result was written")
        expect_error(run("check", out, "--target", "x2", "--require", "deployable"), 5, "in parts")
        dry = json.loads(quarkq("quantize", model, "--config", "a8w8", "--calib", samples(folder), "--dry-run", "--json").stdout)
        expect_equal(dry["deployable"]["holds"], "in parts", "the dry run")


@test()
def none_turns_the_target_off():
    with temp_folder() as folder:
        out, result, report = quantize(folder, plain(folder), "--config", "xint8", "--target", "none")
        expect_equal((report["target"], report["deployable"]), (None, None), "judgement")
        expect("deployable" not in result.stdout, result.stdout)
        expect_equal((onnx.load(out).opset_import[0].version, onnx.load(out).graph.input[0].type.tensor_type.shape.dim[0].dim_param), (13, "N"), "opset and batch")


@test()
def samples_with_a_batch_keep_it_symbolic():
    """A target that nobody asked for does not make a run fail."""
    with temp_folder() as folder:
        model = plain(folder)
        os.makedirs(os.path.join(folder, "pairs"))
        np.save(os.path.join(folder, "pairs", "0.npy"), np.ones((2, 3, 8, 8), np.float32))
        out = os.path.join(folder, "q.onnx")
        quarkq("quantize", model, "--config", "xint8", "--calib", os.path.join(folder, "pairs"), "-o", out)
        expect_equal(onnx.load(out).graph.input[0].type.tensor_type.shape.dim[0].dim_param, "N", "batch")
        named = quarkq("quantize", model, "--config", "xint8", "--target", "x1", "--calib", os.path.join(folder, "pairs"), "-o", out)
        expect("as 2 samples [samples-split]" in named.stderr, named.stderr)
        expect_equal(onnx.load(out).graph.input[0].type.tensor_type.shape.dim[0].dim_value, 1, "batch of a named target")


@test()
def what_the_target_refuses_is_poor_and_fails_the_gate():
    with temp_folder() as folder:
        model = plain(folder)
        out, result, report = quantize(folder, model, *REFUSED)
        expect_equal((report["deployable"]["holds"], report["deployable"]["nodes"], report["verdict"]["grade"]), ("no", 0, "poor"), "judgement")
        expect("deployable on x1: no, " in result.stdout and "float-operator: " in result.stdout, result.stdout)
        expect(report["verdict"]["why"].startswith("not deployable on x1: ") and "its outputs are good" in report["verdict"]["why"], report["verdict"]["why"])
        page = os.path.join(folder, "page.html")
        quarkq("report", os.path.join(folder, "report.json"), "-o", page)
        with open(page, encoding="utf-8") as file:
            expect("Verdict: poor" in file.read(), "the page")
        gate = ("--require", "deployable")
        expect_error(run("check", out, *gate), 5, "deployable on x1: no")
        expect_error(run("check", out, "--target", "x1", *gate), 5, "deployable on x1: no")
        expect_error(run("evaluate", "--float", model, "--quantized", out, "--data", samples(folder), *gate), 5, "deployable on x1: no")
        os.remove(out)
        expect_error(quantize(folder, model, *REFUSED, *gate)[1], 5, "deployable on x1: no")
        expect(not os.path.exists(out), "a refused result was written")
        expect_error(quantize(folder, model, "--config", "xint8", "--target", "none", *gate)[1], 5, "there is no target")


@test()
def what_the_target_accepts_passes_the_gate():
    with temp_folder() as folder:
        model = plain(folder)
        out, result, report = quantize(folder, model, "--config", "xint8", "--require", "deployable")
        expect_equal((result.returncode, report["deployable"]["holds"], report["deployable"]["why"]), (0, "yes", ""), "judgement")
        said = quarkq("check", out, "--require", "deployable").stdout
        expect("deployable on x1: yes, " in said and "not looked at: " in said, said)
        quarkq("evaluate", "--float", model, "--quantized", out, "--data", samples(folder), "--require", "deployable")


def small_gates():
    """A Sigmoid whose inputs are far below 0: HardSigmoid is 0 there, and the outputs collapse."""
    random = np.random.default_rng(11)
    initializer = lambda name, values: numpy_helper.from_array(np.asarray(values, np.float32), name)  # noqa: E731
    weights = [initializer("w0", random.normal(size=(8, 8, 3, 3)) / 9), initializer("b0", np.full(8, -6)), initializer("w1", random.normal(size=(8, 8, 1, 1)))]
    nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["a"], "first", pads=[1, 1, 1, 1]), helper.make_node("Sigmoid", ["a"], ["b"], "gate"),
             helper.make_node("Conv", ["b", "w1"], ["y"], "second")]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, 8, 8])  # noqa: E731
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@test(cases=[((), "HardSigmoid"), (("--target", "none"), "Sigmoid"), (("--allow-float",), "Sigmoid")])
def a_rescue_keeps_what_the_target_places(case):
    more, kept = case
    with temp_folder() as folder:
        model, calib = os.path.join(folder, "m.onnx"), os.path.join(folder, "c")
        onnx.save(small_gates(), model)
        os.makedirs(calib)
        for number in range(8):
            np.save(os.path.join(calib, f"{number}.npy"), np.random.default_rng(number).normal(size=(1, 8, 8, 8)).astype(np.float32))
        out = os.path.join(folder, "q.onnx")
        quarkq("quantize", model, "--config", "xint8", "--calib", calib, "-o", out, *more)
        expect_equal({node.op_type for node in onnx.load(out).graph.node} & {"Sigmoid", "HardSigmoid"}, {kept}, "gate")


@test()
def float_layers_are_written_only_for_targets_that_take_them():
    with temp_folder() as folder:
        command = ("analyze", plain(folder), "--config", "xint8", "--calib", samples(folder), "--min-cos", "0.5", "--write", os.path.join(folder, "s.yaml"))
        expect_error(run(*command), 2, "the target x1 accepts no float nodes", "--allow-float")
        quarkq(*command, "--allow-float")
        quarkq(*command, "--target", "none")


@test()
def tune_prefers_what_the_target_accepts():
    """Asked to leave a node float, every trial is refused: no goal is met, however good the outputs are."""
    with temp_folder() as folder:
        model, out = plain(folder), os.path.join(folder, "t.onnx")
        common = ("tune", model, "--calib", samples(folder), "--eval", samples(folder), "--metric", "cosine", "--goal", "value>=0.5", "-o", out, "--time", "1s", "--json")
        refused = run(*common, *REFUSED)
        report = json.loads(refused.stdout)
        expect_equal((refused.returncode, report["met"], report["trials"][0]["deployable"]["holds"]), (5, False, "no"), "refused trials")
        allowed = json.loads(quarkq(*common, *REFUSED, "--allow-float").stdout)
        expect_equal((allowed["met"], len(allowed["trials"])), (True, 1), "with --allow-float")
        accepted = json.loads(quarkq(*common, "--config", "xint8", "--require", "deployable").stdout)
        expect_equal((accepted["met"], accepted["trials"][0]["deployable"]["holds"]), (True, "yes"), "accepted trials")
