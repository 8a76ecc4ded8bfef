# SPDX-License-Identifier: MIT
"""First contact: options, help, names, verdict, progress, JSON, exit codes."""
import json
import os
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

from harness import QUARKQ, ROOT, expect, expect_equal, on_terminal, quarkq, run, temp_folder, test
from reference import make_model, save_samples, weights
from test_cli import VERBS, small

EXAMPLE = os.path.join(ROOT, "examples", "digits")
DIGITS = [os.path.join(EXAMPLE, "digits.onnx"), "-c", "xint8", "--calib", os.path.join(EXAMPLE, "calib")]


def two_convs(folder):
    """Named and unnamed nodes, a BatchNormalization that is folded, a Constant."""
    one = helper.make_tensor("value", 1, [], [1.0])
    stored = [weights("w1", 4, 3, 3, 3), weights("w2", 4, 4, 3, 3)] + [weights(name, 4) for name in ("s", "b", "m")]
    stored.append(onnx.numpy_helper.from_array(np.ones(4, np.float32), "v"))
    nodes = [helper.make_node("Conv", ["x", "w1"], ["first"], name="conv_one"),
             helper.make_node("BatchNormalization", ["first", "s", "b", "m", "v"], ["normed"], name="norm"),
             helper.make_node("Relu", ["normed"], ["relu"], name="act"),
             helper.make_node("Conv", ["relu", "w2"], ["second"]),
             helper.make_node("Constant", [], ["one"], name="constant", value=one),
             helper.make_node("Add", ["second", "one"], ["y"], name="sum")]
    path = os.path.join(folder, "two.onnx")
    onnx.save(make_model(nodes, [("x", [1, 3, 12, 12])], [("y", [1, 4, 8, 8])], stored), path)
    return path, save_samples(os.path.join(folder, "calib"), shape=(1, 3, 12, 12)), os.path.join(folder, "out.onnx")


# ---- options and help -------------------------------------------------------------------------------------------------------------

@test(cases=VERBS)
def help_verb(verb):
    expect_equal(quarkq("help", verb).stdout, quarkq(verb, "-h").stdout, "help VERB and VERB -h")


@test()
def bare_program_prints_help():
    result = run()
    expect_equal(result.returncode, 2, "exit code")
    expect(result.stderr.startswith(quarkq("help").stdout), f"it prints {result.stderr!r}")
    expect_equal(quarkq("-V").stdout, quarkq("--version").stdout, "-V")


@test(cases=[("quantize --confg xint8 m.onnx", "--confg", "--config"), ("quantize m.onnx -c xint8 --calb d", "--calb", "--calib"),
             ("config show xint8 --jsn", "--jsn", "--json"), ("evaluate a b --min-coss 1", "--min-coss", "--min-cos"), ("run m.onnx -Z", "-Z", "")])
def unknown_option(case):
    line, wrong, right = case
    result = run(*line.split())
    expect_equal(result.returncode, 2, "exit code")
    expect(f"{wrong}: unknown option" in result.stderr, result.stderr)
    expect(not right or f"did you mean {right}?" in result.stderr, result.stderr)
    expect("usage: quarkq " + line.split()[0] in result.stderr, result.stderr)


@test()
def quiet_before_or_after_the_verb():
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        for arguments in (["-q", "quantize", *DIGITS, "-o", out], ["quantize", *DIGITS, "-o", out, "-q"]):
            result = quarkq(*arguments)
            expect_equal((result.stdout, result.stderr), ("", ""), "stdout and stderr")


@test()
def verbose_times_the_passes():
    with temp_folder() as folder:
        text = quarkq("quantize", "-v", *DIGITS, "-o", os.path.join(folder, "out.onnx")).stdout
    expect(re.search(r"^calibrate-activations +\d", text, re.M), text)


# ---- JSON -------------------------------------------------------------------------------------------------------------------------

def json_commands(folder):
    out, stats = os.path.join(folder, "out.onnx"), os.path.join(folder, "digits.stats")
    quarkq("quantize", *DIGITS, "-o", out, "-q")
    calib = DIGITS[-1]
    return {"quantize": [*DIGITS, "-o", os.path.join(folder, "o.onnx")], "calibrate": [*DIGITS, "-o", stats], "merge": [stats, "-o", stats + "2"],
            "optimize": [DIGITS[0], "-o", os.path.join(folder, "f.onnx")], "run": [out, "--inputs", calib, "--outputs", os.path.join(folder, "r")],
            "evaluate": [calib, calib], "inspect": [out], "check": [out], "analyze": [*DIGITS], "list": ["presets"], "config": ["show", "xint8"]}


@test()
def json_is_the_same_in_every_verb():
    with temp_folder() as folder:
        for verb, arguments in json_commands(folder).items():
            path = os.path.join(folder, verb + ".json")
            shown = json.loads(quarkq(verb, *arguments, "--json").stdout)
            expect_equal(type(json.loads(quarkq(verb, *arguments, "--json=-").stdout)), type(shown), f"{verb}: --json=-")
            result = quarkq(verb, *arguments, f"--json={path}")
            with open(path) as file:
                expect_equal(type(json.load(file)), type(shown), f"{verb}: --json=FILE")
            expect(not result.stdout.startswith("{"), f"{verb}: --json=FILE prints {result.stdout!r}")
        expect(not os.path.exists("-"), "a file named - was made")


@test()
def json_swallows_no_option():
    with temp_folder() as folder:
        calib, path = DIGITS[-1], os.path.join(folder, "e.json")
        printed = json.loads(quarkq("evaluate", "--json", "--details", calib, calib).stdout)
        quarkq("evaluate", "--json", path, calib, calib)  # as scripts write it
        with open(path) as file:
            expect_equal(json.load(file)["min_cosine"], printed["min_cosine"], "a value")


@test(cases=["quantize", "optimize", "calibrate"])
def binary_results_need_a_file(verb):
    result = run(verb, *DIGITS, "-o", "-")
    expect_equal(result.returncode, 2, "exit code")
    expect("--output: found -" in result.stderr, result.stderr)


# ---- exit codes -------------------------------------------------------------------------------------------------------------------

MODEL, DATA = DIGITS[0], DIGITS[-1]
MISSING = [("quantize no.onnx -c xint8", 2), ("calibrate no.onnx -c xint8 -o s", 2), ("optimize no.onnx -o o", 2), ("run no.onnx --inputs i --outputs o", 2),
           ("inspect no.onnx", 2), ("check no.onnx", 2), ("analyze no.onnx -c xint8", 2), (f"evaluate --float no.onnx --quantized {MODEL} --data {DATA}", 2),
           ("report no.json", 2), ("config show no.yaml", 2), (f"quantize {MODEL} -c no.yaml", 2), (f"quantize {MODEL} -c xint8 --calib no", 4),
           (f"quantize {MODEL} -c xint8 --stats no", 4), (f"quantize {MODEL} -c xint8 --calib {DATA} --eval no", 4), ("merge no -o s", 4),
           (f"run {MODEL} --inputs no --outputs o", 4), (f"evaluate no {DATA}", 4), (f"evaluate {DATA} {DATA} --labels no", 4),
           (f"quantize {MODEL} -c xint8 --calib {DATA} -o no/o.onnx", 1), (f"calibrate {MODEL} -c xint8 --calib {DATA} -o no/s", 1), (f"optimize {MODEL} -o no/o", 1)]


@test(cases=MISSING)
def what_is_not_there_has_one_code(case):
    line, wanted = case
    with temp_folder() as folder:
        result = run(*line.split(), cwd=folder)
        expect_equal((result.returncode, os.listdir(folder)), (wanted, []), f"exit code and files with {result.stderr!r}")
    expect(re.search(r"\bno\b", result.stderr), result.stderr)


# ---- progress ---------------------------------------------------------------------------------------------------------------------

@test(cases=["40", "60", "80", "132"])
def one_line_that_fits(columns):
    with temp_folder() as folder:
        _, text = on_terminal([QUARKQ, "quantize", *DIGITS, "-o", os.path.join(folder, "out.onnx"), "--log-level", "info"], int(columns))
    drawn = [part for part in re.split(r"\r\x1b\[K", text) if part and "\n" not in part]
    expect(drawn, f"no progress in {text!r}")
    longest = max(drawn, key=len)
    expect(len(longest) < int(columns), f"{len(longest)} characters: {longest!r}")
    expect(any("(7 of 13)" in line for line in drawn), f"no phase k of n in {drawn}")
    return longest


# ---- names ------------------------------------------------------------------------------------------------------------------------

@test(cases=["conv_one", "first", "second", "node conv_one (Conv)", "node second (Conv)"])
def names_that_exclude_takes(name):
    with temp_folder() as folder:
        model, calib, out = two_convs(folder)
        report = json.loads(quarkq("quantize", model, "-c", "xint8", "--calib", calib, "-o", out, "--set", f'exclude=["{name}"]', "--json").stdout)
    expect_equal(report["operators"]["Conv"], {"total": 2, "quantized": 1}, "Conv nodes")


@test(cases=["exclude=[conv_on]", "nodes_to_quantize=[conv_on]", "input_nodes=[conv_on]"])
def unknown_names_are_errors(setting):
    with temp_folder() as folder:
        model, calib, out = two_convs(folder)
        for quiet in ([], ["-q"]):
            result = run("quantize", model, "-c", "a8w8", "--calib", calib, "-o", out, "--set", setting, *quiet)
            expect_equal(result.returncode, 2, f"exit code with {result.stderr!r}")
            expect("conv_on" in result.stderr and "did you mean conv_one?" in result.stderr, result.stderr)
        warned = quarkq("quantize", model, "-c", "a8w8", "--calib", calib, "-o", out, "--set", setting, "--compat", "quark-0.13")
        expect("[node-unknown]" in warned.stderr or "nodes_to_quantize" in setting, warned.stderr)


@test()
def names_of_tensor_settings():
    with temp_folder() as folder:
        model, calib, out = two_convs(folder)
        arguments = ["quantize", model, "-c", "a8w8", "--calib", calib, "-o", out, "--json", "--set"]
        typed = json.loads(quarkq(*arguments, "TensorQuantOverrides={relu: [{quant_type: QuantType.QInt16}]}").stdout)
        inside = json.loads(quarkq(*arguments, "TensorQuantOverrides={normed: [{quant_type: QuantType.QInt16}]}").stdout)
        unknown = run(*arguments, "TensorQuantOverrides={rel: [{quant_type: QuantType.QInt16}]}")
    expect_equal(typed["tensors"].get("activation INT16"), 1, f"16-bit activations of {typed['tensors']}")
    expect("override-no-effect" in {finding["id"] for finding in inside["findings"]}, f"findings {inside['findings']}")
    expect_equal((unknown.returncode, "did you mean relu?" in unknown.stderr), (2, True), unknown.stderr)


@test()
def names_and_counts_are_those_of_the_file():
    with temp_folder() as folder:
        model, calib, out = two_convs(folder)
        report = json.loads(quarkq("quantize", model, "-c", "xint8", "--calib", calib, "-o", out, "--json").stdout)
        expect_equal(report["nodes"], {"total": 5, "selected": 5, "folded": 0}, "nodes without the Constant, with what was folded")
        layers = json.loads(quarkq("analyze", model, "-c", "xint8", "--calib", calib, "--json").stdout)["layers"]
        named = {"node conv_one (Conv)", "node norm (BatchNormalization)", "node act (Relu)", "node second (Conv)", "node sum (Add)"}
        found = {tensor["node"] for tensor in report["worst_tensors"]} | {layer["node"] for layer in layers}
    expect(found and found <= named, f"nodes {found}")


@test()
def inspect_lists_the_nodes_of_a_float_model():
    with temp_folder() as folder:
        model, _, _ = two_convs(folder)
        text = quarkq("inspect", model, "--nodes").stdout
        report = json.loads(quarkq("inspect", model, "--nodes", "--json").stdout)
    for name in ("conv_one", "norm", "second", "sum"):
        expect(re.search(rf"^{name} ", text, re.M), f"{name} is not in {text}")
    first = report["node_list"][0]
    expect_equal((first["name"], first["op"], first["parameters"], first["macs"]), ("conv_one", "Conv", 108, 10800), "the first node")
    expect_equal(first["outputs"], [{"name": "first", "type": "FLOAT[1,4,10,10]"}], "its output")
    expect_equal(report["macs"], 10800 + 4 * 4 * 9 * 64, "all multiply-accumulates")


@test()
def external_data_counts():
    with temp_folder() as folder:
        model, calib, out = small(folder)
        other = os.path.join(folder, "external.onnx")
        onnx.save(onnx.load(model), other, save_as_external_data=True, location="w.data", size_threshold=0)
        size = os.path.getsize(other) + os.path.getsize(os.path.join(folder, "w.data"))
        inspected = json.loads(quarkq("inspect", other, "--json").stdout)
        expect_equal(inspected["file_bytes"] + inspected["external_bytes"], size, "bytes that inspect counts")
        report = json.loads(quarkq("quantize", other, "-c", "xint8", "--calib", calib, "-o", out, "--json").stdout)
        expect_equal(report["bytes"]["input"], size, "bytes that quantize counts")


# ---- preflight and diagnostics ----------------------------------------------------------------------------------------------------

@test()
def missing_samples_show_at_once():
    with temp_folder() as folder:
        model, _, out = small(folder)
        result = run("quantize", model, "-c", "xint8", "-o", out)
    expect_equal((result.returncode, "--calib DIR" in result.stderr, "quarkq: select" in result.stderr), (4, True, False), f"code, remedy, phases in {result.stderr!r}")


@test()
def read_only_folder_shows_at_once():
    with temp_folder() as folder:
        if os.geteuid() == 0:
            out = "/proc/out.onnx"  # root may write anywhere else
        else:
            os.chmod(folder, 0o500)
            out = os.path.join(folder, "out.onnx")
        result = run("quantize", *DIGITS, "-o", out)
        os.chmod(folder, 0o700)
    expect_equal((result.returncode, "quarkq: select" in result.stderr), (1, False), f"code and phases in {result.stderr!r}")


@test()
def every_diagnostic_is_a_row():
    rows = json.loads(quarkq("list", "diagnostics", "--json").stdout)
    names = [row["name"] for row in rows]
    expect_equal(names, sorted(set(names)), "ids, sorted and unique")
    sources = ""
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        for file in files:
            if file.endswith((".cpp", ".h")):
                with open(os.path.join(folder, file)) as source:
                    sources += source.read()
    for row in rows:
        expect(f'"{row["name"]}"' in sources, f"nothing reports {row['name']}")
        expect(row["severity"] in ("warning", "notice") and row["meaning"] and not row["meaning"].endswith("."), f"row {row}")


@test()
def diagnostic_reference_is_current():
    made = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "diagnostic_reference.py"), QUARKQ], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(ROOT, "docs", "diagnostics.md")) as file:
        expect_equal(file.read() == made, True, "docs/diagnostics.md is what scripts/diagnostic_reference.py makes")


@test()
def findings_are_folded_with_a_count():
    with temp_folder() as folder:
        model, calib, out = two_convs(folder)
        arguments = ["quantize", model, "-c", "a8w8", "--calib", calib, "-o", out, "--compat", "quark-0.13", "--set", "exclude=[a, b, c]"]
        folded, all_of_them = quarkq(*arguments).stderr, quarkq(*arguments, "-v").stderr
    lines = [line for line in folded.splitlines() if "[node-unknown]" in line]
    expect_equal(len(lines), 1, "lines of three findings")
    expect("and 2 others like this" in lines[0] and "inspect MODEL --nodes" in lines[0], f"count and remedy in {lines[0]!r}")
    expect_equal(all_of_them.count("[node-unknown]"), 3, "lines with -v")


@test()
def simulated_softmax_is_valid():
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Softmax", ["c"], ["y"], axis=-1)]
    with temp_folder() as folder:
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(make_model(nodes, [("x", [1, 3, 12, 12])], [("y", [1, 4, 10, 10])], [weights("w", 4, 3, 3, 3)]), path)
        calib = save_samples(os.path.join(folder, "calib"), shape=(1, 3, 12, 12))
        quarkq("quantize", path, "-c", "xint8", "--calib", calib, "-o", out, "--set", "ConvertSoftmaxToDPUVersion=true")
        refused = run("quantize", path, "-c", "xint8", "--calib", calib, "-o", out, "--set", "activation_type=QuantType.QInt16")
    if refused.returncode:
        expect("ConvertOpsetVersion=21" in refused.stderr and len(refused.stderr) < 2000, f"remedy in {refused.stderr!r}")


# ---- verdict ----------------------------------------------------------------------------------------------------------------------

@test()
def verdict_and_next_step():
    with temp_folder() as folder:
        arguments = ["quantize", *DIGITS, "-o", os.path.join(folder, "out.onnx")]
        text = quarkq(*arguments).stdout
        report = json.loads(quarkq(*arguments, "--json", "--verify", "16").stdout)
        verdict = report["verdict"]
        expect(re.search(r"^verdict +(good|fair|poor): ", text, re.M) and re.search(r"^next +\S", text, re.M), text)
        expect(verdict["grade"] in ("good", "fair", "poor") and verdict["why"] and verdict["next"], f"verdict {verdict}")
        expect_equal(report["compared"]["samples"], min(16, report["samples"]), "samples compared with --verify 16")
        if verdict["next"].startswith("quarkq check"):
            run(*verdict["next"].split()[1:])
    return f"{verdict['grade']}, {verdict['why']}; {verdict['next']}"


@test()
def outputs_near_zero_are_told_apart():
    """A Sigmoid far below zero: cosines of rounding noise say nothing, and no output collapsed."""
    stored = [weights("w", 4, 3, 3, 3), onnx.numpy_helper.from_array(np.array([-16.0], np.float32), "low")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Add", ["c", "low"], ["a"]), helper.make_node("Sigmoid", ["a"], ["y"])]
    with temp_folder() as folder:
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(make_model(nodes, [("x", [1, 3, 12, 12])], [("y", [1, 4, 10, 10])], stored), path)
        calib = save_samples(os.path.join(folder, "calib"), shape=(1, 3, 12, 12))
        report = json.loads(quarkq("quantize", path, "-c", "xint8", "--calib", calib, "-o", out, "--json").stdout)
    ids = {finding["id"] for finding in report["findings"]}
    expect_equal((report["outputs"][0]["near_zero"], report["verdict"]), (True, None), "near zero, verdict")
    expect("output-near-zero" in ids and "output-collapsed" not in ids, f"findings {ids}")
