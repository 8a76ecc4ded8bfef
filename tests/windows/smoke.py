#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the installed wheel on real Windows (.github/workflows/ci.yml), or on any other system: smoke.py

Needs quarkq and numpy. With onnxruntime it runs results there, too. Each test prints "ok smoke.name", "skip smoke.name: why" or
"FAIL smoke.name: why"."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

import numpy
import quarkq

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "examples", "digits")
MODEL, CALIB, INPUTS, LABELS = (os.path.join(DIGITS, *parts) for parts in (("digits.onnx",), ("calib",), ("eval", "inputs"), ("eval", "labels.csv")))
NAME = "\u6a21\u578b \u00fc\u00df"
LEAST_TOP1 = 0.95

_tests = []


class Skip(Exception):
    """This test cannot run here; the text says why."""


def test(function):
    _tests.append(function)
    return function


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def program(*arguments, code=0):
    """What the console script of the wheel prints."""
    command = shutil.which("quarkq") or quarkq.program()
    done = subprocess.run([command, *arguments], capture_output=True, encoding="utf-8", errors="replace", timeout=600, check=False)
    expect(done.returncode == code, f"exit code {done.returncode}, expected {code}: {done.stderr[-400:]}")
    return done.stdout


@test
def the_program_answers(_):
    expect(quarkq.__version__ in program("--version"), "another version than that of the package")
    expect("XINT8" in program("list", "presets"), "no preset is listed")


@test
def names_outside_of_ascii_work(folder):
    model = shutil.copy(MODEL, os.path.join(folder, NAME + ".onnx"))
    result, log = os.path.join(folder, NAME, "out.onnx"), os.path.join(folder, NAME + ".log")
    os.makedirs(os.path.dirname(result))
    program("quantize", "--config", "xint8", "--calib", CALIB, "--log-file", log, "-o", result, model)
    program("run", result, "--inputs", CALIB, "--outputs", os.path.join(folder, NAME, "results"), "--limit", "2")
    expect(os.path.isfile(result) and os.path.getsize(log) > 0, "the model or the log is missing")
    expect(len(os.listdir(os.path.join(folder, NAME, "results"))) == 2, "results are missing")


@test
def a_missing_model_is_named(folder):
    program("quantize", "--config", "xint8", "--calib", CALIB, os.path.join(folder, NAME + ".onnx"), code=2)


@test
def python_quantizes_and_checks(folder):
    result = os.path.join(folder, "out.onnx")
    report = quarkq.quantize(MODEL, result, config="xint8", data=CALIB)
    expect(report.deployable is not False and os.path.isfile(result), f"not deployable: {report}")
    expect("out.onnx" in program("check", result), "check names no file")
    values = list(quarkq.run(result, CALIB))
    expect(len(values) > 10, f"only {len(values)} results")


@test
def accuracy_is_kept(folder):
    result = os.path.join(folder, "out.onnx")
    quarkq.quantize(MODEL, result, config="a8w8", data=CALIB)
    program("evaluate", "--float", MODEL, "--quantized", result, "--data", INPUTS, "--labels", LABELS, "--min-top1", str(LEAST_TOP1))


@test
def onnxruntime_runs_the_results(folder):
    if importlib.util.find_spec("onnxruntime") is None:
        raise Skip("onnxruntime is not installed")
    import onnxruntime  # pylint: disable=import-outside-toplevel
    for config, needs_operators in (("xint8", False), ("bf16", True)):
        result = os.path.join(folder, config + ".onnx")
        quarkq.quantize(MODEL, result, config=config, data=CALIB)
        options = onnxruntime.SessionOptions()
        if needs_operators:
            options.register_custom_ops_library(quarkq.ort_ops_library())
        session = onnxruntime.InferenceSession(result, options, providers=["CPUExecutionProvider"])
        one = session.get_inputs()[0]
        values = session.run(None, {one.name: numpy.zeros([1, 1, 8, 8], numpy.float32)})
        expect(numpy.isfinite(values[0]).all(), f"{config}: a result is not finite")


def main():
    failed = 0
    for function in _tests:
        name = "smoke." + function.__name__
        try:
            with tempfile.TemporaryDirectory() as folder:
                function(folder)
            print(f"ok {name}", flush=True)
        except Skip as reason:
            print(f"skip {name}: {reason}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {name}: {' '.join(str(error).split())}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
