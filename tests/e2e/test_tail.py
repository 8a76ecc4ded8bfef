# SPDX-License-Identifier: MIT
"""The nodes after the last layers as a model of their own, and every verb on the pair as one model."""
import json
import os
import re
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, read_bytes, run, shared, temp_folder, test
from reference import session
from target_network import detector, network, samples, weight

X1 = ["--config", "xint8", "--target", "x1"]
FEED = {"x": np.random.default_rng(5).random((1, 3, 8, 8), dtype=np.float32)}


def report_of(folder):
    with open(os.path.join(folder, "r.json")) as file:
        return json.load(file)


def quantized(folder, model, *options):
    """(path of the body, report)"""
    out = os.path.join(folder, "out.onnx")
    quarkq("quantize", model, *X1, "--calib", samples(folder), "-o", out, "--report", os.path.join(folder, "r.json"), *options)
    return out, report_of(folder)


def outputs_of(path):
    return [one.name for one in onnx.load(path).graph.output]


def pair_results(body, tail, feed=None):
    """Outputs of both by name, in ONNX Runtime."""
    values = dict(feed or FEED)
    for path in (body, tail):
        part = session(path)
        values.update(zip([one.name for one in part.get_outputs()], part.run(None, {one.name: values[one.name] for one in part.get_inputs()})))
    return values


def classifier(folder):
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("GlobalAveragePool", ["b"], ["p"], "pool"), helper.make_node("Flatten", ["p"], ["f"], "flat"),
             helper.make_node("Gemm", ["f", "w"], ["logits"], "fc", transB=1), helper.make_node("Softmax", ["logits"], ["y"], "prob", axis=1)]
    return saved(folder, "classifier", nodes, [("y", [1, 10])], [weight("v", 8, 3, 3, 3, seed=1), weight("w", 10, 8, seed=2)])


def saved(folder, name, nodes, outputs, weights):
    value = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)  # noqa: E731
    graph = helper.make_graph(nodes, "g", [value("x", [1, 3, 8, 8])], [value(*one) for one in outputs], weights)
    path = os.path.join(folder, name + ".onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def detector_with_nms(folder):
    """Boxes and scores of 64 places; the best boxes are selected in the graph, in an If as exporters write it."""
    ints = lambda name, *values: numpy_helper.from_array(np.array(values, np.int64), name)  # noqa: E731
    weights = [weight("v", 8, 3, 3, 3, seed=1), weight("boxes_w", 4, 8, 1, 1, seed=2), weight("scores_w", 2, 8, 1, 1, seed=3), ints("four", 1, 4, 64),
               ints("two", 1, 2, 64), ints("most", 5), numpy_helper.from_array(np.array([0.5], np.float32), "iou"), ints("zero", 0)]
    select = helper.make_graph([helper.make_node("NonMaxSuppression", ["b4", "s2", "most", "iou"], ["chosen"], "nms")], "then", [],
                               [helper.make_tensor_value_info("chosen", TensorProto.INT64, ["n", 3])])
    none = helper.make_graph([helper.make_node("Constant", [], ["none"], value=numpy_helper.from_array(np.zeros((0, 3), np.int64)))], "else", [],
                             [helper.make_tensor_value_info("none", TensorProto.INT64, ["n", 3])])
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "trunk", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Conv", ["b", "boxes_w"], ["boxes"], "box_head"), helper.make_node("Conv", ["b", "scores_w"], ["scores"], "score_head"),
             helper.make_node("Reshape", ["boxes", "four"], ["b3"], "r1"), helper.make_node("Transpose", ["b3"], ["b4"], "t1", perm=[0, 2, 1]),
             helper.make_node("Reshape", ["scores", "two"], ["s1"], "r2"), helper.make_node("Sigmoid", ["s1"], ["s2"], "sigmoid"),
             helper.make_node("ReduceMax", ["s2"], ["m"], "best", keepdims=0), helper.make_node("Greater", ["m", "low"], ["any"], "is_any"),
             helper.make_node("If", ["any"], ["kept"], "if", then_branch=select, else_branch=none)]
    weights.append(numpy_helper.from_array(np.array(0.1, np.float32), "low"))
    return saved(folder, "nms", nodes, [("kept", ["n", 3], TensorProto.INT64), ("s2", [1, 2, 64])], weights)


@test(cases=["quantize", "optimize"])
def a_tail_becomes_a_model_of_its_own(verb):
    with temp_folder() as folder:
        model, out = detector(folder), os.path.join(folder, "out.onnx")
        before = session(model).run(None, FEED)
        config = ["--config", "xint8", "--calib", samples(folder)] if verb == "quantize" else []
        quarkq(verb, model, *config, "--set", "legalize.tail=cut", "-o", out, f"--json={folder}/r.json")
        tail = report_of(folder)["tail"]
        expect_equal(tail, os.path.join(folder, "out_tail.onnx"), "path of the tail")
        onnx.checker.check_model(tail, full_check=True)
        expect_equal(outputs_of(out), ["b", "boxes", "scores"], "outputs of the network")
        expect_equal([one.name for one in session(tail).get_inputs()], ["boxes", "scores"], "inputs of the tail")
        error = np.abs(pair_results(out, tail)["y"] - before[0]).max()
        expect(error < (0.1 if verb == "quantize" else 1e-5), f"the two models differ from the whole one by {error}")
        expect(not any("Linear" in node.op_type for node in onnx.load(tail).graph.node), "the tail is quantized")
        named = {one.key: one.value for one in onnx.load(out).metadata_props}
        expect_equal(named["quarkq.outputs"], "y\nb", "what the body says of the pair")


@test()
def x2_cuts_only_when_it_is_asked_for():
    """It runs float nodes on the CPU, from one file."""
    with temp_folder() as folder:
        model, out = detector(folder), os.path.join(folder, "out.onnx")
        for target, tail in (([], None), (["--target", "x2"], os.path.join(folder, "out_tail.onnx"))):
            quarkq("quantize", model, "--config", "a8w8", *target, "--calib", samples(folder), "-o", out, "--report", os.path.join(folder, "r.json"))
            expect_equal(report_of(folder).get("tail"), tail, f"tail with {target}")


@test()
def x1_cuts_what_it_does_not_run():
    with temp_folder() as folder:
        joined = os.path.join(folder, "joined.onnx")
        out, report = quantized(folder, detector(folder), "--joined", joined)
        expect_equal((report["tail"], report["tail_nodes"], report["joined"]), (os.path.join(folder, "out_tail.onnx"), 6, joined), "report")
        expect_equal([one["name"] for one in report["outputs"]], ["y", "b"], "the outputs that are judged")
        expect(report["target"]["verdict"] == "runs" and all(one["cosine"] > 0.98 for one in report["outputs"]), f"found {report['outputs']}")
        onnx.checker.check_model(joined, full_check=True)
        expect_equal(outputs_of(joined), ["y", "b"], "outputs of the joined model")
        alone = pair_results(out, report["tail"])
        for name, value in zip(("y", "b"), session(joined).run(None, FEED)):
            np.testing.assert_allclose(value, alone[name], rtol=1e-5, atol=1e-5)
        said = run("quantize", detector(folder), *X1, "--calib", samples(folder), "-o", out).stdout
        line = f"cut        the last 6 nodes are in {report['tail']} (float, runs on the CPU); outputs and order are unchanged for the pair"
        expect(line in " ".join(said.split()).replace("cut the", "cut        the"), f"the summary is {said}")


@test(cases=["x1", "x2", "keep"])
def a_softmax_is_cut_where_the_target_may_not_run_it(case):
    with temp_folder() as folder:
        out, model = os.path.join(folder, "out.onnx"), classifier(folder)
        options = {"x1": X1, "x2": ["--target", "x2"], "keep": [*X1, "--set", "legalize.tail=keep"]}[case]
        result = run("quantize", model, *options, "--calib", samples(folder), "-o", out)
        expect_equal(result.returncode, 0, result.stderr)
        expect_equal(outputs_of(out), ["logits"] if case == "x1" else ["y"], "outputs of the body")
        tail = os.path.join(folder, "out_tail.onnx")
        expect_equal(os.path.exists(tail), case == "x1", "a tail")
        if case == "x1":
            expect_equal([node.op_type for node in onnx.load(tail).graph.node], ["Softmax"], "the tail")
            expect("node prob (Softmax)" in result.stderr and "[tail-cut]" in result.stderr, f"found {result.stderr}")


@test()
def selection_in_the_graph_works():
    with temp_folder() as folder:
        model = detector_with_nms(folder)
        out, report = quantized(folder, model, "--joined", os.path.join(folder, "j.onnx"))
        expect_equal(outputs_of(report["joined"]), ["kept", "s2"], "outputs of the joined model")
        onnx.checker.check_model(report["joined"], full_check=True)
        # ONNX Runtime 1.23 ends in its optimizer where a branch captures what comes from Q/DQ through a Transpose.
        alone, both = pair_results(out, report["tail"]), session(report["joined"], optimize=False).run(None, FEED)
        expect_equal(both[0].tolist(), alone["kept"].tolist(), "selected boxes")
        expect_equal([one["name"] for one in report["outputs"]], ["s2"], "floating-point outputs that are judged")
        quarkq("evaluate", "--float", model, "--quantized", out, "--data", samples(folder))


@test()
def the_body_is_judged_where_the_pair_has_only_integers():
    with temp_folder() as folder:
        nodes = [helper.make_node("Conv", ["x", "v"], ["logits"], "conv", pads=[1, 1, 1, 1]), helper.make_node("Softmax", ["logits"], ["p"], "prob", axis=1),
                 helper.make_node("ArgMax", ["p"], ["classes"], "best", axis=1, keepdims=0)]
        model = saved(folder, "segments", nodes, [("classes", [1, 8, 8], TensorProto.INT64)], [weight("v", 5, 3, 3, 3, seed=1)])
        out, report = quantized(folder, model)
        expect_equal([node.op_type for node in onnx.load(report["tail"]).graph.node], ["Softmax", "ArgMax"], "the tail")
        expect_equal([one["name"] for one in report["outputs"]], ["logits"], "the outputs that are judged")
        same = (pair_results(out, report["tail"])["classes"] == session(model).run(None, FEED)[0]).mean()
        expect(same > 0.9, f"{same:.2f} of the pixels have the same class")


@test()
def a_rescue_judges_the_pair_of_each_trial():
    model, calib = shared("models", "mlsd_tiny_320.onnx"), shared("golden", "inputs", "mlsd_tiny_320", "calib")
    with temp_folder() as folder:
        out, report = os.path.join(folder, "out.onnx"), os.path.join(folder, "r.json")
        quarkq("quantize", model, *X1, "--calib", calib, "-o", out, "--report", report)
        expect_equal([one["name"] for one in report_of(folder)["outputs"]], ["Identity_1", "Identity_2"], "the outputs that are judged")


@test()
def verbs_take_the_pair_as_one_model():
    with temp_folder() as folder:
        model, joined, data = detector(folder), os.path.join(folder, "joined.onnx"), samples(folder)
        out, _ = quantized(folder, model, "--joined", joined)
        for path, name in ((out, "pair"), (joined, "joined")):
            result = run("run", path, "--inputs", data, "--outputs", os.path.join(folder, name))
            expect_equal(("[tail-joined]" in result.stderr, "out_tail.onnx" in result.stderr), (name == "pair",) * 2, f"what run says: {result.stderr}")
            evaluated = json.loads(quarkq("evaluate", "--float", model, "--quantized", path, "--data", data, "--json", "-").stdout)
            expect_equal([one["name"] for one in evaluated["outputs"]], ["y", "b"], "outputs that evaluate compares")
        for output in ("y", "b"):
            for file in os.listdir(os.path.join(folder, "pair", output)):
                expect_equal(read_bytes(os.path.join(folder, "pair", output, file)), read_bytes(os.path.join(folder, "joined", output, file)), f"{output} of {file}")
        scored = [json.loads(quarkq("evaluate", "--float", model, path, "--data", data, "--metric", "cosine", "--json").stdout)["metrics"] for path in (out, joined)]
        expect_equal(scored[0], scored[1], "scores of the pair and of the joined model")
        again = os.path.join(folder, "again.onnx")
        quarkq("quantize", out, "--requantize", "--config", "a8w8", "--calib", data, "-o", again)
        expect_equal(outputs_of(again), ["y", "b"], "outputs of the pair quantized again")
        expect(not any(one.key == "quarkq.outputs" for one in onnx.load(again).metadata_props), "a whole model is marked as a body")


@test()
def a_missing_tail_is_named():
    with temp_folder() as folder:
        model, data = detector(folder), samples(folder)
        out, report = quantized(folder, model)
        os.remove(report["tail"])
        result = run("run", out, "--inputs", data, "--outputs", os.path.join(folder, "results"))
        expect_equal(result.returncode, 0, result.stderr)
        expect("[tail-missing]" in result.stderr and "out_tail.onnx" in result.stderr, f"found {result.stderr}")
        expect_equal(sorted(os.listdir(os.path.join(folder, "results"))), ["b", "boxes", "scores"], "outputs of the body")
        expect_error(run("evaluate", "--float", model, "--quantized", out, "--data", data), 2, "out.onnx", "outputs")


@test()
def a_pair_can_be_renamed():
    with temp_folder() as folder:
        out, report = quantized(folder, detector(folder))
        written = read_bytes(out)
        body, moved = os.path.join(folder, "new", "body.onnx"), os.path.join(folder, "new", "body_tail.onnx")
        os.mkdir(os.path.dirname(body))
        os.rename(out, body)
        os.rename(report["tail"], moved)
        result = run("run", body, "--inputs", samples(folder), "--outputs", os.path.join(folder, "results"))
        expect("[tail-joined]" in result.stderr and sorted(os.listdir(os.path.join(folder, "results"))) == ["b", "y"], f"found {result.stderr}")
        quarkq("quantize", os.path.join(folder, "detector.onnx"), *X1, "--calib", samples(folder), "-o", os.path.join(folder, "other.onnx"))
        expect(read_bytes(os.path.join(folder, "other.onnx")) == written, "the bytes depend on the name of the file")


@test()
def a_tail_of_another_model_is_refused():
    with temp_folder() as folder:
        out, report = quantized(folder, detector(folder))
        shutil.copy(classifier(folder), report["tail"])
        result = run("run", out, "--inputs", samples(folder), "--outputs", os.path.join(folder, "results"))
        expect(result.returncode != 0 and "out_tail.onnx: the tail does not read boxes" in result.stderr, f"found {result.stderr}")


@test()
def inputs_are_never_overwritten():
    with temp_folder() as folder:
        model, data = os.path.join(folder, "out_tail.onnx"), samples(folder)
        shutil.move(detector(folder), model)
        before = read_bytes(model)
        out, joined = os.path.join(folder, "out.onnx"), os.path.join(folder, "j.onnx")
        refused = run("quantize", model, *X1, "--calib", data, "-o", out)
        expect(refused.returncode != 0 and "out_tail.onnx" in refused.stderr, f"found {refused.stderr}")
        expect(read_bytes(model) == before and not os.path.exists(out), "an input was replaced, or a body has no tail")
        for name in (model, os.path.join(folder, "other_tail.onnx"), os.path.join(folder, "other.onnx")):
            refused = run("quantize", model, *X1, "--calib", data, "-o", os.path.join(folder, "other.onnx"), "--joined", name)
            expect(refused.returncode != 0 and os.path.basename(name) in refused.stderr, f"found {refused.stderr}")
        failed = run("quantize", model, *X1, "--calib", data, "-o", joined, "--require", "cos>=1")
        expect_equal(failed.returncode, 5, failed.stderr)
        expect_equal(sorted(os.listdir(folder)), ["calib", "out_tail.onnx"], "files after a run that wrote nothing")


@test()
def the_deployed_session_runs_both():
    with temp_folder() as folder:
        deploy = os.path.join(folder, "deploy")
        out, report = quantized(folder, detector(folder), "--deploy", deploy)
        with open(os.path.join(deploy, "session.py")) as file:
            code = file.read()
        with open(os.path.join(deploy, "deployment.md")) as file:
            page = file.read()
        expect("```python\n" + code + "```" in page and "out_tail.onnx (float) runs on the CPU" in page, f"the page is {page}")
        for path in (out, report["tail"]):
            shutil.copy(path, deploy)
        here = os.getcwd()
        names = {}
        try:
            os.chdir(deploy)
            exec(re.sub(r'providers=\["VitisAIExecutionProvider"\], provider_options=\[provider_options\]', 'providers=["CPUExecutionProvider"]', code), names)
        finally:
            os.chdir(here)
        found, wanted = names["run"](FEED), pair_results(out, report["tail"])
        expect_equal(list(found), ["y", "b"], "outputs and their order")
        for name in found:
            np.testing.assert_allclose(found[name], wanted[name], rtol=0.05, atol=0.05)
        expect(onnxruntime.__version__, "the provider of the page is replaced by the CPU")


@test()
def tune_keeps_the_tail():
    with temp_folder() as folder:
        model, out = detector(folder), os.path.join(folder, "out.onnx")
        data, held_back = samples(folder), os.path.join(folder, "held")
        shutil.copytree(data, held_back)
        quarkq("tune", model, *X1, "--calib", data, "--eval", held_back, "--metric", "cosine", "--goal", "value>=0.5", "-o", out)
        expect_equal(session(os.path.join(folder, "out_tail.onnx")).get_outputs()[0].name, "y", "output of the tail")
        np.testing.assert_allclose(pair_results(out, os.path.join(folder, "out_tail.onnx"))["y"], session(model).run(None, FEED)[0], atol=0.2)
        expect_equal(sorted(os.listdir(folder)), ["calib", "detector.onnx", "held", "out.onnx", "out.yaml", "out_tail.onnx"], "files of tune")


@test()
def what_has_no_tail_is_not_cut():
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        result = run("quantize", network(folder, batch=1), "--config", "xint8", "--calib", samples(folder), "--set", "legalize.tail=cut", "-o", out)
        expect_equal(result.returncode, 0, result.stderr)
        expect("[no-tail]" in result.stderr, f"found {result.stderr}")
        expect(not os.path.exists(os.path.join(folder, "out_tail.onnx")), "a tail was written")
        refused = run("quantize", network(folder, batch=1), "--config", "xint8", "--set", "legalize.tail=off", "-o", out)
        expect("legalize.tail: found off, allowed is auto or keep or float or cut" in refused.stderr, f"found {refused.stderr}")
