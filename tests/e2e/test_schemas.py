# SPDX-License-Identifier: MIT
"""Every JSON output fits its schema under docs/schemas, and the generated option reference is that of the program."""
import json
import os
import subprocess
import sys

from harness import QUARKQ, ROOT, expect, expect_equal, quarkq, temp_folder, test
from schema import misfits

EXAMPLE = os.path.join(ROOT, "examples", "digits")
MODEL, CALIB = os.path.join(EXAMPLE, "digits.onnx"), os.path.join(EXAMPLE, "calib")


def check(name, text):
    with open(os.path.join(ROOT, "docs", "schemas", name + ".schema.json")) as file:
        schema = json.load(file)
    found = misfits(json.loads(text), schema)
    expect(not found, f"{name}: {found[:5]}")


def quantized(folder, preset="xint8"):
    out = os.path.join(folder, preset + ".onnx")
    return out, quarkq("quantize", MODEL, "--config", preset, "--calib", CALIB, "-o", out, "--json").stdout


@test(cases=["xint8", "a8w8", "bfp16", "matmul_nbits", "xint8_adaround"])
def quantize(preset):
    with temp_folder() as folder:
        more = ["--set", "FastFinetune.NumIterations=5"] if preset.endswith("adaround") else []
        path = os.path.join(folder, "report.json")
        text = quarkq("quantize", MODEL, "--config", preset, "--calib", CALIB, "-o", os.path.join(folder, "o.onnx"), "--json", "--report", path, *more).stdout
        check("quantize", text)
        with open(path) as file:
            check("quantize", file.read())


@test()
def statistics():
    with temp_folder() as folder:
        parts = [os.path.join(folder, f"{i}.qstats") for i in (1, 2)]
        for i, part in enumerate(parts):
            check("calibrate", quarkq("calibrate", MODEL, "--config", "xint8", "--calib", CALIB, "--shard", f"{i}/2", "-o", part, "--json").stdout)
        check("calibrate", quarkq("merge", *parts, "-o", os.path.join(folder, "all.qstats"), "--json").stdout)


@test()
def convert():
    with temp_folder() as folder:
        model, out = quantized(folder)[0], os.path.join(folder, "c.onnx")
        check("convert", quarkq("convert", model, out, "--pass", "qdq-to-qoperator", "--json").stdout)
        check("convert", quarkq("convert", model, "--pass", f"weight-histograms:folder={folder}", "--json").stdout)


@test()
def optimize():
    with temp_folder() as folder:
        check("optimize", quarkq("optimize", MODEL, "--config", "xint8", "-o", os.path.join(folder, "o.onnx"), "--json").stdout)


@test()
def imported():
    with temp_folder() as folder:
        model, out = quantized(folder)[0], os.path.join(folder, "i.onnx")
        check("import", quarkq("import", model, "-o", out, "--json").stdout)
        check("import", quarkq("import", model, "-o", out, "--target", "x2", "--json").stdout)


@test()
def run_and_evaluate():
    with temp_folder() as folder:
        out, _ = quantized(folder)
        folders = [os.path.join(folder, name) for name in ("float", "xint8")]
        for model, results in zip((MODEL, out), folders):
            check("run", quarkq("run", model, "--inputs", CALIB, "--outputs", results, "--limit", "3", "--json").stdout)
        path = os.path.join(folder, "evaluate.json")
        quarkq("evaluate", *folders, "--json", path)
        with open(path) as file:
            check("evaluate", file.read())
        quarkq("evaluate", "--float", MODEL, "--quantized", out, "--data", CALIB, "--limit", "3", "--layers", "--json", path)
        with open(path) as file:
            check("evaluate", file.read())


@test(cases=["float", "xint8", "a8w8", "bf16"])
def inspect(preset):
    with temp_folder() as folder:
        model = MODEL if preset == "float" else quantized(folder, preset)[0]
        for flags in ([], ["--nodes", "--scales"]):
            check("inspect", quarkq("inspect", model, "--json", *flags).stdout)


@test()
def explain():
    check("explain", quarkq("inspect", MODEL, "--why", "conv1", "--config", "xint8", "--json").stdout)


@test()
def check_limits():
    with temp_folder() as folder:
        out, path = quantized(folder)[0], os.path.join(folder, "check.json")
        quarkq("check", out, "--json", path)
        with open(path) as file:
            check("check", file.read())


TUNING = [MODEL, "--config", "xint8", "--calib", CALIB, "--eval", os.path.join(EXAMPLE, "eval", "inputs"), "--metric", "top1", "--labels",
          os.path.join(EXAMPLE, "eval", "labels.csv")]


@test()
def tuning():
    with temp_folder() as folder:
        path = os.path.join(folder, "report.json")
        check("tune", quarkq("tune", *TUNING, "--goal", "drop<=50%", "-o", os.path.join(folder, "o.onnx"), "--json", "--report", path).stdout)
        with open(path) as file:
            check("tune", file.read())
        check("plan", quarkq("plan", *TUNING, "--json").stdout)


@test()
def scores():
    inputs, labels = os.path.join(EXAMPLE, "eval", "inputs"), os.path.join(EXAMPLE, "eval", "labels.csv")
    check("score", quarkq("evaluate", MODEL, "--data", inputs, "--metric", "top1", "--labels", labels, "--json").stdout)
    check("score", quarkq("evaluate", "--float", MODEL, "--quantized", MODEL, "--data", inputs, "--metric", "top1", "--metric", "cosine", "--labels",
                          labels, "--json").stdout)


@test()
def check_on_target():
    check("check_target", quarkq("check", MODEL, "--target", "x2", "--json").stdout)
    with temp_folder() as folder:
        log = os.path.join(folder, "compile.log")
        with open(log, "w") as file:
            file.write("[Vitis AI EP] No. of Operators : CPU 2 NPU 5\n")
        check("check_ep_report", quarkq("check", MODEL, "--target", "x2", "--ep-report", log, "--json").stdout)


@test()
def analyze():
    check("analyze", quarkq("analyze", MODEL, "--config", "a8w8", "--calib", CALIB, "--json").stdout)


@test(cases=["quantize", "calibrate", "analyze"])
def forecast(verb):
    with temp_folder() as folder:
        more = [] if verb == "analyze" else ["-o", os.path.join(folder, "nothing.bin")]
        check("forecast", quarkq(verb, MODEL, "--config", "xint8", "--calib", CALIB, "--dry-run", "--json", *more).stdout)


@test(cases=["presets", "options", "passes", "conversions", "ops", "formats", "calibrators", "metrics", "heads", "quirks", "targets", "remedies"])
def listing(what):
    check("list", quarkq("list", what, "--json").stdout)


@test()
def config():
    with temp_folder() as folder:
        path = os.path.join(folder, "settings.yaml")
        with open(path, "w") as file:
            file.write("preset: XINT8\nexclude: [conv1]\n")
        check("config", quarkq("config", "show", path, "--json").stdout)
        check("config", quarkq("config", "check", path, "--json").stdout)


@test()
def api():
    check("api", quarkq("list", "api", "--json").stdout)


@test()
def every_schema_is_tested():
    with open(__file__) as file:
        source = file.read()
    for name in os.listdir(os.path.join(ROOT, "docs", "schemas")):
        expect(f'check("{name.split(".")[0]}"' in source, f"no test of {name}")


@test()
def target_reference_is_current():
    path = os.path.join(ROOT, "docs", "targets.md")
    made = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "target_reference.py"), QUARKQ, path], capture_output=True, text=True, check=True).stdout
    with open(path) as file:
        expect_equal(file.read() == made, True, "docs/targets.md is what scripts/target_reference.py makes")


@test()
def option_reference_is_current():
    made = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "option_reference.py"), QUARKQ], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(ROOT, "docs", "options.md")) as file:
        expect_equal(file.read() == made, True, "docs/options.md is what scripts/option_reference.py makes")
