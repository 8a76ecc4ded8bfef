# SPDX-License-Identifier: MIT
"""quarkq check --target: what of a model would run on an NPU."""
import datetime
import glob
import json
import os
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, quarkq, run, shared, temp_folder, test
from reference import conv_model, save_samples
from schema import misfits

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = os.path.join(ROOT, "docs", "schemas", "check_target.schema.json")
TARGETS = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(ROOT, "configs", "targets", "*.yaml"))
                 if not path.endswith("-ops.yaml"))


def checked(model, target, *options):
    """The report of a model that is judged, which fits its schema and adds up."""
    result = run("check", model, "--target", target, "--json", *options)
    expect(result.returncode in (0, 6), f"exit code {result.returncode}: {result.stderr}")
    report = json.loads(result.stdout)
    with open(SCHEMA) as file:
        found = misfits(report, json.load(file))
    expect(not found, f"{target}: {found[:5]}")
    for name in ("predicted", "unblocked", "if_unknown_runs"):
        counts = report[name]
        expect_equal(counts["npu"] + counts["cpu"] + counts["vitis_ep_cpu"], counts["total"], f"{name} of {target}")
    expect_equal(sum(report["operators"].values()), len(report["nodes"]), "operators by verdict")
    running = sum(region["nodes"] for region in report["regions"] if region["running"])
    if target != "ort-cpu":
        expect_equal(running, report["unblocked"]["npu"], "nodes in regions")
    expect_equal(len(report["regions"]), report["unblocked"]["subgraphs"], "regions")
    expect_equal(sum(row["count"] for row in report["fallbacks"]), len(report["nodes"]) - report["operators"]["runs"], "fallbacks")
    expect(all(node["reason"] < len(report["reasons"]) for node in report["nodes"]), "a reason that is not there")
    expect_equal(report["blocked"], report["verdict"] == "blocked", "blocked")
    return report


def float_model(folder, attributes=True):
    path = os.path.join(folder, "net.onnx")
    more = dict(strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], kernel_shape=[3, 3], group=1) if attributes else {}
    weights = [numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), name) for name in ("v", "w")]
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], "first", **more), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Conv", ["b", "w"], ["y"], "second", **more)]
    shape = [1, 4, 8, 8]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape if attributes or name == "x" else None) for name in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@test()
def the_first_line_is_the_verdict():
    with temp_folder() as folder:
        lines = quarkq("check", float_model(folder), "--target", "vaiml-bf16").stdout.splitlines()
        expect(lines[0].endswith("runs: 3 of 3 nodes on the VAIML, 1 region"), lines[0])
        expect("CPU 0, VAIML 3, VITIS_EP_CPU 0; subgraphs 1, running 1" in lines[2], lines[2])


@test()
def missing_attributes_crash_x2():
    with temp_folder() as folder:
        model = float_model(folder, attributes=False)
        report = checked(model, "x2")
        expect_equal(report["verdict"], "blocked", "verdict")
        first = report["findings"][0]
        expect_equal((first["rule"], first["effect"], first["grade"], first["remedy"]),
                     ("conv-implicit-attributes", "crash", "C", "explicit-conv-attributes"), "first finding")
        expect_equal(first["nodes"], ["first", "second"], "its nodes")
        expect_equal(run("check", model, "--target", "x2").returncode, 0, "exit code without goals")


@test()
def pads_of_an_unknown_width_need_a_shape():
    """No rewrite can write them out, so the remedy is not that of other Convs."""
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], "conv", auto_pad="SAME_UPPER", kernel_shape=[3, 3])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, "width"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")])
    with temp_folder() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
        found = [one for one in checked(path, "x2")["findings"] if one["rule"] == "conv-implicit-attributes"]
    expect_equal([(one["remedy"], "--shape" in one["remedy_text"], "SAME_UPPER of an input without a fixed size" in one["text"]) for one in found],
                 [("static-shapes", True, True)], "finding")


@test()
def goals_decide_the_exit_code():
    with temp_folder() as folder:
        model = float_model(folder)
        quarkq("check", model, "--target", "vaiml-bf16", "--min-npu", "95%", "--max-partitions", "1")
        result = run("check", float_model(folder, attributes=False), "--target", "x2", "--min-npu", "95%")
        expect_equal(result.returncode, 6, "exit code")
        expect("0.0 %" in result.stderr and "95.0 %" in result.stderr, result.stderr)
        result = run("check", model, "--target", "vaiml-bf16", "--max-partitions", "0")
        expect_equal(result.returncode, 6, "exit code")
        expect("1 regions" in result.stderr or "1 region" in result.stderr, result.stderr)
        for share in ("95", "0.95"):
            quarkq("check", model, "--target", "vaiml-bf16", "--min-npu", share)
        for share in ("many", "195%", "-1"):
            expect_equal(run("check", model, "--target", "vaiml-bf16", "--min-npu=" + share).returncode, 2, share)


@test()
def what_quantize_writes_is_known():
    with temp_folder() as folder:
        model, out = os.path.join(folder, "net.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(conv_model(), model)
        for preset, target, types in (("xint8", "x1", "xint8"), ("a8w8", "x2", "a8w8"), ("a16w8", "x2", "a16w8"), ("vint8", "gen2-vint8", "xint8")):
            quarkq("quantize", model, "--config", preset, "--calib", save_samples(os.path.join(folder, "calib")), "-o", out)
            report = checked(out, target)
            expect_equal(report["model_type"], types, preset)
            expect(report["predicted"]["total"] > len(report["nodes"]), "Q/DQ are not counted")


@test()
def the_page_holds_the_regions():
    with temp_folder() as folder:
        page = os.path.join(folder, "page.html")
        quarkq("check", float_model(folder), "--target", "x1", "--report", page)
        with open(page) as file:
            text = file.read()
        expect("Regions" in text and "first (Conv)" in text and "<script" not in text, text[:500])
        expect_equal(run("check", float_model(folder), "--target", "x1", "--report", "-").returncode, 2, "exit code")


@test()
def a_users_file_is_a_target():
    with temp_folder() as folder:
        model, mine = float_model(folder), os.path.join(folder, "mine.yaml")
        with open(mine, "w") as file:
            file.write("format: 1\nextends: vaiml-bf16\noperators: [{op: Relu, falls_back: [bf16], grade: C, source: measured here}]\n")
        report = checked(model, mine)
        expect_equal(report["operators"]["falls-back"], 1, "Relu")
        expect_equal(report["predicted"]["subgraphs"], 2, "regions")
        rows = json.loads(quarkq("list", "target-ops", mine, "--json").stdout)
        expect_equal([row["verdict"] for row in rows if row["name"] == "Relu" and row["type"] == "bf16"], ["falls-back"], "listing")
        with open(mine, "a") as file:
            file.write("typos: []\n")
        result = run("check", model, "--target", mine)
        expect_equal(result.returncode, 2, "exit code")
        expect("typos" in result.stderr and "types" in result.stderr, result.stderr)


@test()
def an_unknown_target_is_named():
    with temp_folder() as folder:
        result = run("check", float_model(folder), "--target", "x3")
        expect_equal(result.returncode, 2, "exit code")
        expect("x2" in result.stderr, result.stderr)


@test()
def sources_have_ages():
    today = datetime.date.today()
    for target in json.loads(quarkq("list", "targets", "--json").stdout):
        rows = json.loads(quarkq("list", "target-sources", target["name"], "--json").stdout)
        expect(rows and all(row["date"] and row["basis"] in ("published", "read") and int(row["facts"]) > 0 for row in rows), rows)
        expect_equal(target["newest_source"], max(row["date"] for row in rows), f"newest source of {target['name']}")
        age = (today - datetime.date.fromisoformat(target["newest_source"])).days
        expect(abs(int(target["age_days"]) - max(age, 0)) <= 1, f"{target['name']}: {target['age_days']} days, expected {age}")
    expect("age_days" in quarkq("list", "targets").stdout, "the ages are printed")


@test()
def a_script_lists_old_sources():
    script = [sys.executable, os.path.join(ROOT, "scripts", "target_ages.py"), os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))]
    result = subprocess.run([*script, "x1", "--today", "2026-12-07", "--most-days", "30"], capture_output=True, text=True, check=False)
    expect_equal(result.returncode, 0, result.stderr)
    expect("x1" in result.stdout and "newest 2026-11-27" in result.stdout and ": 10 days; oldest" in result.stdout, result.stdout)
    result = subprocess.run([*script, "--today", "2027-12-07", "--most-days", "30"], capture_output=True, text=True, check=False)
    expect_equal(result.returncode, 1, "exit code")
    expect_equal(len(result.stdout.splitlines()), len(TARGETS), "a line per target")
    expect("older than 30 days: " in result.stderr and "sources.def" in result.stderr, result.stderr)


@test(cases=["target-ops", "target-rules", "target-options"])
def listings_of_a_target(what):
    for target in TARGETS:
        rows = json.loads(quarkq("list", what, target, "--json").stdout)
        expect(rows or what == "target-options", f"{what} of {target} is empty")
        for row in rows:
            expect(row["grade"] in "ABCD" and row["source"], f"{row} has no evidence")
    expect_equal(run("list", what).returncode, 2, "exit code without a target")
    expect_equal(run("list", "presets", "x1").returncode, 2, "exit code with a target too many")


@test()
def targets_are_listed():
    rows = json.loads(quarkq("list", "targets", "--json").stdout)
    expect_equal([row["name"] for row in rows], TARGETS, "names")


@test(cases=TARGETS)
def shared_models(target):
    models = sorted(glob.glob(os.path.join(shared("models"), "*.onnx")))
    verdicts = {}
    for model in models:
        start = time.time()
        report = checked(model, target)
        expect(time.time() - start < 20, f"{model} took {time.time() - start:.1f} s")
        verdicts[report["verdict"]] = verdicts.get(report["verdict"], 0) + 1
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))


@test(cases=["x1", "x2", "gen2-vint8"])
def quantized_shared_models(target):
    golden = shared("models")
    with temp_folder() as folder:
        for name in ("resnet8_cifar10", "mobilenetv1_025_vww_96", "squeezenet1_1"):
            out = os.path.join(folder, name + ".onnx")
            preset = {"x1": "xint8", "x2": "a8w8", "gen2-vint8": "vint8"}[target]
            quarkq("quantize", os.path.join(golden, name + ".onnx"), "--config", preset, "--set", "UseRandomData=true", "-o", out)
            report = checked(out, target)
            expect(report["unblocked"]["npu"] > 0, f"{name}: {report['findings'][:3]}")
