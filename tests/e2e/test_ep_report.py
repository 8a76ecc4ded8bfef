# SPDX-License-Identifier: MIT
"""quarkq check --ep-report: what a compiler did with a model, next to the prediction."""
import json
import os
import re
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quarkq, run, shared, temp_folder, test
from reference import make_model, save_samples, weights
from schema import misfits

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = os.path.join(ROOT, "docs", "schemas", "check_ep_report.schema.json")
CPU, EDGE, NPU = "CPU", "VITIS_EP_CPU", "NPU"


def report_of(model, device_of):
    """The report that a provider would write: each reader of a DequantizeLinear has a copy of its own."""
    readers, nodes, made = {}, [], []
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for node in model.graph.node:
        if node.op_type == "Constant":
            continue
        copies = max(len(readers.get(node.output[0], [])), 1) if node.op_type == "DequantizeLinear" else 1
        for copy in range(copies):
            output = node.output[0] + "/duplicated" * (copy > 0) + f"_token_{copy}" * (copy > 1)
            made.append((node, [name or "VAIP_NOT_EXISTS" for name in node.input], [output, *node.output[1:]]))
    for node, inputs, outputs in made:
        nodes.append({"input": inputs, "output": outputs, "opType": node.op_type, "comment": node.name, "device": device_of(node)})
    return with_counts(nodes)


def with_counts(nodes, subgraphs=1):
    devices = {}
    for node in nodes:
        devices.setdefault(node["device"], []).append("::" + node["opType"])
    stat = [{"name": "all", "nodeNum": len(nodes), "supportedOpType": sorted({"::" + node["opType"] for node in nodes})}]
    stat += [{"name": name, "nodeNum": len(ops), "supportedOpType": sorted(set(ops))} for name, ops in sorted(devices.items())]
    parts = [{"device": NPU, "count": subgraphs}, {"device": "Actually running on NPU", "count": subgraphs}]
    return {"deviceStat": stat, "nodeStat": nodes, **({"subgraphStat": parts} if NPU in devices else {})}


def edges_on_cpu(model, on_cpu=()):
    """Everything on the NPU but the first Q, the last DQ, and these operators."""
    inputs, outputs = {value.name for value in model.graph.input}, {value.name for value in model.graph.output}

    def device(node):
        if node.op_type in on_cpu:
            return CPU
        return EDGE if node.op_type == "QuantizeLinear" and node.input[0] in inputs or node.output[0] in outputs else NPU
    return device


def quantized(folder):
    """An XINT8 model of two Convs with pools after them."""
    path, out = os.path.join(folder, "net.onnx"), os.path.join(folder, "q.onnx")
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("MaxPool", ["b"], ["c"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["c", "w"], ["d"], "second", pads=[1, 1, 1, 1]), helper.make_node("GlobalAveragePool", ["d"], ["y"], "mean")]
    onnx.save(make_model(nodes, [("x", [1, 3, 8, 8])], [("y", [1, 4, 1, 1])], [weights("v", 4, 3, 3, 3), weights("w", 4, 4, 3, 3)]), path)
    quarkq("quantize", path, "--config", "xint8", "--calib", save_samples(os.path.join(folder, "calib")), "-o", out)
    return out, onnx.load(out)


def saved(folder, report, name="vitisai_ep_report.json"):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(report if isinstance(report, str) else json.dumps(report, indent=1))
    return path


def checked(model, *options, code=0):
    """The report as JSON, which fits its schema and adds up."""
    result = run("check", model, "--json", *options)
    expect_equal(result.returncode, code, f"exit code: {result.stderr}")
    report = json.loads(result.stdout)
    with open(SCHEMA) as file:
        found = misfits(report, json.load(file))
    expect(not found, found[:5])
    outcomes = [node["outcome"] for node in report["nodes"]]
    expect_equal(outcomes.count("agrees"), report["agreeing"], "agreeing")
    expect_equal(sum(one["count"] for one in report["differences"]), len(outcomes) - outcomes.count("agrees") - report["absent"], "differences")
    return report


@test()
def full_agreement():
    with temp_folder() as folder:
        path, model = quantized(folder)
        file = saved(folder, report_of(model, edges_on_cpu(model)))
        report = checked(path, "--ep-report", file, "--min-npu", "100%", "--max-partitions", "1")
        expect_equal((report["target"], report["agreement"], report["differences"], report["absent"]), ("x1", 1, [], 0), "agreement")
        expect_equal(report["real"]["npu"], report["predicted"]["npu"], "nodes on the NPU")
        expect_equal(report["real"]["total"], report["predicted"]["total"], "nodes")
        text = quarkq("check", path, "--ep-report", file).stdout
        expect("agreement with the prediction: 100.0 %" in text, text)


@test()
def a_partial_fallback_misses_the_goal_and_names_the_row():
    with temp_folder() as folder:
        path, model = quantized(folder)
        file = saved(folder, report_of(model, edges_on_cpu(model, on_cpu=("MaxPool",))))
        log = saved(folder, f"xir::Op{{name = {next(node.output[0] for node in model.graph.node if node.op_type == 'MaxPool')}, type = pool}}"
                    " is partitioned to CPU as : doesn't supported by target [AMD]\n", "compile.log")
        report = checked(path, "--target", "x1", "--ep-report", file, "--ep-report", log, "--min-npu", "99%", code=6)
        found = report["differences"]
        expect_equal([(one["op"], one["outcome"], one["reason"]["rule"], one["reason"]["grade"]) for one in found],
                     [("MaxPool", "fell-back", "operator", "A")], "differences")
        expect("doesn't supported by target" in found[0]["compiler_text"], found)
        expect(report["agreement"] < 1 and "--min-npu" in report["missed_goals"][0], report["missed_goals"])
        checked(path, "--target", "x1", "--ep-report", file, "--min-npu", "50%")
        text = run("check", path, "--target", "x1", "--ep-report", file).stdout
        expect("1 x MaxPool: fell back, predicted to run" in text and "RAI/ops_support.rst" in text, text)


@test()
def nothing_placed():
    with temp_folder() as folder:
        path, model = quantized(folder)
        file = saved(folder, report_of(model, lambda node: EDGE if "Linear" in node.op_type else CPU))
        report = checked(path, "--ep-report", file, "--min-npu", "1%", code=6)
        expect_equal((report["real"]["npu"], report["real"]["npu_share"], report["regions"]["real"]), (0, 0, []), "nothing")
        expect(any("target-options x1" in note for note in report["notes"]), report["notes"])
        learned = os.path.join(folder, "mine.yaml")
        quarkq("check", path, "--ep-report", file, "--learn", learned)
        with open(learned) as found:
            expect("operators:" not in found.read(), "facts from a model that was not placed at all")


@test()
def a_report_of_another_model():
    with temp_folder() as folder:
        path, _ = quantized(folder)
        other = helper.make_graph([helper.make_node("Abs", ["in"], ["mid"]), helper.make_node("Neg", ["mid"], ["out"])], "g",
                                  [helper.make_tensor_value_info("in", TensorProto.FLOAT, [4])],
                                  [helper.make_tensor_value_info("out", TensorProto.FLOAT, [4])])
        file = saved(folder, report_of(helper.make_model(other), lambda node: NPU))
        result = run("check", path, "--ep-report", file, "--learn", os.path.join(folder, "mine.yaml"))
        expect_equal(result.returncode, 4, "exit code")
        for words in (file, "another model", "0 of its 2 nodes", "pass the model file that was compiled"):
            expect(words in result.stderr, result.stderr)
        expect(not os.path.exists(os.path.join(folder, "mine.yaml")), "facts of a report that was rejected")


@test()
def damaged_reports():
    with temp_folder() as folder:
        path, model = quantized(folder)
        good = report_of(model, edges_on_cpu(model))
        text = json.dumps(good, indent=1)
        cases = [("cut off", text[:len(text) // 2], r"line \d+, column \d+: found the end of the file"),
                 ("fewer nodes", json.dumps({**good, "nodeStat": good["nodeStat"][:-3]}), r"nodeStat: found \d+ nodes, allowed is the \d+ nodes"),
                 ("no nodes", json.dumps({"deviceStat": good["deviceStat"]}), "nodeStat: found nothing"),
                 ("negative", text.replace('"nodeNum": ', '"nodeNum": -', 1), r"deviceStat\[0\].nodeNum: found -\d+"),
                 ("empty", "", "found no report of a compiler")]
        for name, content, words in cases:
            result = run("check", path, "--ep-report", saved(folder, content))
            expect_equal(result.returncode, 4, f"{name}: {result.stderr}")
            expect(re.search(words, result.stderr), f"{name}: {result.stderr}")
        expect_equal(run("check", path, "--ep-report", os.path.join(folder, "missing.json")).returncode, 2, "exit code")
        expect_equal(run("check", path, "--learn", os.path.join(folder, "m.yaml")).returncode, 2, "--learn without a report")


@test()
def a_machine_improves_the_prediction():
    with temp_folder() as folder:
        path, model = quantized(folder)
        file, mine = saved(folder, report_of(model, edges_on_cpu(model, on_cpu=("MaxPool",)))), os.path.join(folder, "mine.yaml")
        before = checked(path, "--target", "x1", "--ep-report", file, "--learn", mine, "--device", "PHX", "--driver", "32.0.203.280", "--compiler", "1.7.1")
        expect(before["agreement"] < 1, before["agreement"])
        after = checked(path, "--target", mine, "--ep-report", file, "--min-npu", "50%")
        expect_equal((after["agreement"], after["differences"]), (1, []), "agreement")
        rows = [row for row in json.loads(quarkq("list", "target-ops", mine, "--json").stdout) if row["name"] == "MaxPool" and row["grade"] == "seen"]
        expect_equal([(row["verdict"], row["type"]) for row in rows], [("falls-back", "xint8")], "the fact")
        expect_equal(rows[0]["source"], "q.onnx on PHX, driver 32.0.203.280, compiler 1.7.1", "source")
        predicted = json.loads(quarkq("check", path, "--target", mine, "--json").stdout)
        expect_equal(predicted["predicted"]["cpu"], before["real"]["cpu"], "operators on the CPU in the next prediction")
        # The Mul that rescales an average pool has no Q/DQ before it, and shares its place. Learning again builds on the file and does not lengthen the chain.
        file, more = saved(folder, report_of(model, edges_on_cpu(model, on_cpu=("MaxPool", "GlobalAveragePool", "Mul")))), os.path.join(folder, "more.yaml")
        quarkq("check", path, "--target", mine, "--ep-report", file, "--learn", more)
        with open(more) as found:
            text = found.read()
        expect("extends: x1\n" in text and "op: MaxPool" in text and "op: GlobalAveragePool" in text, text)
        result = run("check", path, "--target", mine, "--ep-report", file, "--learn", mine)
        expect_equal(result.returncode, 2, "a target is never overwritten")


@test()
def the_page_shows_both_placements():
    with temp_folder() as folder:
        path, model = quantized(folder)
        file, page = saved(folder, report_of(model, edges_on_cpu(model, on_cpu=("MaxPool",)))), os.path.join(folder, "page.html")
        quarkq("check", path, "--ep-report", file, "--report", page)
        with open(page) as found:
            text = found.read()
        for words in ("predicted placement", "reported placement", "Predicted regions", "Reported regions", "MaxPool", "fell-back"):
            expect(words in text, f"{words} is missing")
        expect("<script" not in text, "a page without scripts")


@test()
def partition_files_and_logs():
    with temp_folder() as folder:
        path, model = quantized(folder)
        placed = [node.output[0] for node in model.graph.node if edges_on_cpu(model)(node) == NPU]
        context = saved(folder, {"metaDef": [{"device": "DPU", "nodes": placed}], "config": {"onnxPath": "q.onnx"}}, "context.json")
        report = checked(path, "--ep-report", context)
        expect_equal((report["agreement"], report["compiled_model"]), (1, "q.onnx"), "context.json")
        log = saved(folder, "[Vitis AI EP] No. of Operators :   CPU     2    NPU   398\n[Vitis AI EP] No. of Subgraphs :   NPU     1 Actually running on NPU     1\n",
                    "compile.log")
        report = checked(path, "--ep-report", log, "--min-npu", "99%")
        expect_equal((report["has_nodes"], report["real"]["npu"], report["real"]["subgraphs_running"], report["agreement"]), (False, 398, 1, None), "log")
        expect_equal(run("check", path, "--ep-report", log, "--learn", os.path.join(folder, "m.yaml")).returncode, 2, "counts teach nothing")


@test()
def options_go_together():
    with temp_folder() as folder:
        path, model = quantized(folder)
        file, out = saved(folder, report_of(model, edges_on_cpu(model))), os.path.join(folder, "out.json")
        result = run("check", path, "--ep-report", file, f"--json={out}")
        expect("agreement with the prediction" in result.stdout and os.path.getsize(out) > 0, result.stdout)
        expect_equal(run("check", path, "--ep-report", file, "--require", "deployable").returncode, 0, "--require is about the prediction")
        for option in ("--learn", "--device", "--driver", "--compiler"):
            result = run("check", path, option, "x")
            expect_equal(result.returncode, 2, option)
            expect("need --ep-report" in result.stderr, result.stderr)
        for option in ("--learn", "--report"):
            expect_equal(run("check", path, "--ep-report", file, option, "-").returncode, 2, f"{option} -")
            expect_equal(run("check", path, "--ep-report", file, option, file).returncode, 2, f"{option} never overwrites a report")
        expect_equal(run("check", path, "--ep-report", file, "--target", "x3").returncode, 2, "unknown target")
        expect_equal(run("check", path, "--ep-report", file, "--min-npu", "many").returncode, 2, "no share")


@test()
def damaged_reports_of_any_kind_are_data_errors():
    """A byte changed or a value replaced: the report is read as it is, or refused; nothing else happens."""
    with temp_folder() as folder:
        path, model = quantized(folder)
        text, rng, codes = json.dumps(report_of(model, edges_on_cpu(model))), np.random.default_rng(7), {}
        values = ["null", "-1", "1e999", "[]", "{}", '"x"', "[[[[", "99999999999999999999", ""]
        for _ in range(60):
            at = int(rng.integers(len(text)))
            size = int(rng.integers(1, 9))
            result = run("check", path, "--ep-report", saved(folder, text[:at] + values[int(rng.integers(len(values)))] + text[at + size:]), "--json")
            codes[result.returncode] = codes.get(result.returncode, 0) + 1
            expect(result.returncode in (0, 4), f"exit code {result.returncode} at {at}: {result.stderr}")
            expect(result.returncode == 0 or result.stderr.startswith("quarkq: error: " + folder), result.stderr)
        return ", ".join(f"exit code {code}: {count}" for code, count in sorted(codes.items()))


@test(cases=["resnet8_cifar10", "mobilenetv1_025_vww_96", "vit_digits", "nanodet_m_416", "lstr_360x640", "gtcrn_stream"])
def names_of_shared_networks_are_found_through_the_graph(name):
    """Every tensor but the graph's inputs, outputs and weights has a name that only the compiler knows."""
    path = os.path.join(shared("models"), name + ".onnx")
    model = onnx.load(path)
    kept = {value.name for value in [*model.graph.input, *model.graph.output, *model.graph.initializer]}
    report = report_of(model, lambda node: "VAIML")
    for entry in report["nodeStat"]:
        for key in ("input", "output"):
            entry[key] = [tensor if tensor in kept or tensor == "VAIP_NOT_EXISTS" else "vaip:" + tensor for tensor in entry[key]]
    with temp_folder() as folder:
        found = json.loads(quarkq("check", path, "--target", "vaiml-bf16", "--ep-report", saved(folder, report), "--json").stdout)
    expect(found["unmatched"] <= len(report["nodeStat"]) // 20, f"{found['unmatched']} of {len(report['nodeStat'])} entries have no node")
    return f"{len(report['nodeStat'])} entries, {found['unmatched']} without a node, {found['absent']} of {len(found['nodes'])} operators absent"


def chain(length):
    """Conv and Relu in turn, with Q/DQ around each."""
    one, zero = numpy_helper.from_array(np.float32(0.25), "s"), numpy_helper.from_array(np.int8(0), "z")
    weight = numpy_helper.from_array(np.ones((1, 1, 1, 1), np.int8), "w")
    more = dict(strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], kernel_shape=[1, 1], group=1)
    nodes, value = [], "x"
    for i in range(length):
        nodes += [helper.make_node("QuantizeLinear", [value, "s", "z"], [f"q{i}"], f"q{i}"), helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], f"d{i}"),
                  helper.make_node("DequantizeLinear", ["w", "s", "z"], [f"w{i}"], f"w{i}"), helper.make_node("Conv", [f"d{i}", f"w{i}"], [f"y{i}"], f"y{i}", **more)]
        value = f"y{i}"
    nodes += [helper.make_node("QuantizeLinear", [value, "s", "z"], ["last"], "last"), helper.make_node("DequantizeLinear", ["last", "s", "z"], ["out"], "out")]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 4, 4]) for name in ("x", "out")]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], [one, zero, weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@test()
def twenty_thousand_nodes_take_less_than_two_seconds():
    with temp_folder() as folder:
        model, path = chain(5000), os.path.join(folder, "long.onnx")
        onnx.save(model, path)
        report = report_of(model, edges_on_cpu(model))
        for entry in report["nodeStat"]:  # Every name is one of the compiler's own: the graph alone identifies the nodes.
            entry["output"] = [name if name == "out" else "vaip:" + name for name in entry["output"]]
            entry["input"] = [name if name in ("x", "s", "z", "w") else "vaip:" + name for name in entry["input"]]
        file = saved(folder, report)
        start = time.time()
        found = json.loads(quarkq("check", path, "--ep-report", file, "--target", "x1", "--json").stdout)
        seconds = time.time() - start
        expect_equal((found["agreement"], found["compared"], found["real"]["total"]), (1, 5000, 20002), "agreement")
        expect(seconds < 2, f"took {seconds:.2f} s")
        return f"{len(report['nodeStat'])} nodes, {os.path.getsize(file) >> 20} MB: {seconds:.2f} s"
