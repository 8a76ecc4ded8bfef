# SPDX-License-Identifier: MIT
"""The wheel in a fresh environment: what it brings, how long it takes, what type checkers see."""
import glob
import os
import subprocess
import sys
import time

from harness import ROOT, Skip, expect, expect_equal, shared, temp_folder, test
from samples import DIGITS, DIGITS_MODEL

MOST_SECONDS, MOST_MEGABYTES = 30, 40


def wheel():
    found = glob.glob(os.path.join(ROOT, "dist", "quarkq-*linux*.whl"))
    expect_equal(len(found), 1, "wheels in dist")
    return found[0]


def command(*arguments, **options):
    return subprocess.run([*map(str, arguments)], check=True, capture_output=True, text=True, **options).stdout


@test()
def wheel_is_small_and_for_every_python():
    name = os.path.basename(wheel())
    expect("-py3-none-manylinux_" in name, name)
    expect(os.path.getsize(wheel()) <= MOST_MEGABYTES << 20, f"{os.path.getsize(wheel())} bytes")
    return f"{os.path.getsize(wheel()) >> 20} MB"


@test()
def installed_and_done_with_photos_in_half_a_minute():
    """pip install, then the main job: photos in, quantized model out."""
    model, photos = shared("models", "mobilenetv1_025_vww_96.onnx"), shared("data", "calib")
    with temp_folder() as folder:
        environment = os.path.join(folder, "env")
        command(sys.executable, "-m", "venv", environment)
        start = time.perf_counter()
        command(f"{environment}/bin/python", "-m", "pip", "install", "--disable-pip-version-check", wheel())
        installed = time.perf_counter()
        output = os.path.join(folder, "q.onnx")
        command(f"{environment}/bin/quarkq", "quantize", "--config", "xint8", "--calib", photos, "--preprocess", "imagenet", "-o", output, model)
        seconds = time.perf_counter() - start
        expect(os.path.getsize(output) > 0, "no output")
        expect_equal(command(f"{environment}/bin/python", "-m", "quarkq", "--version").split()[0], "quarkq", "what the module says")
    expect(seconds <= MOST_SECONDS, f"{seconds:.1f} s, {MOST_SECONDS} expected at most")
    return f"{installed - start:.1f} s to install, {seconds - (installed - start):.1f} s for the photos"


@test()
def exit_codes_of_the_program_pass_through():
    program = os.path.join(os.path.dirname(sys.executable), "quarkq")
    result = subprocess.run([program, "quantize", "--config", "xint9", DIGITS_MODEL], capture_output=True, text=True, check=False)
    expect_equal(result.returncode, 2, "exit code")
    expect(result.stderr.startswith("quarkq: error:"), result.stderr)


TYPED = """
from typing import Iterator

import numpy as np

import quarkq


def samples() -> Iterator["np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]:
    for _ in range(8):
        yield np.zeros((1, 1, 8, 8), np.float32)


def agree(sample: int, expected: quarkq.Arrays, found: quarkq.Arrays) -> float:
    return float(all((expected[name].argmax() == found[name].argmax()) for name in expected))


def show(now: quarkq.Progress) -> None:
    print(now.phase, now.done, now.total)


report = quarkq.quantize("model.onnx", config="xint8", data=samples(), metric=agree, require=["metric>=0.9"], progress=show)
grade: str | None = report.grade
for finding in report.warnings:
    print(finding.id, finding.text)
try:
    results = quarkq.run("model.onnx", samples())
    print(results[0]["y"].shape)
except quarkq.QuarkqError as error:
    print(error.exit_code, error.diagnostics)
"""


@test()
def example_passes_strict_type_checks():
    with temp_folder() as folder:
        path = os.path.join(folder, "example.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TYPED)
        result = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.join(folder, "cache"), path],
                                capture_output=True, text=True, check=False, cwd=folder)
        if "No module named mypy" in result.stderr:
            raise Skip("mypy is not installed")
        expect_equal(result.returncode, 0, result.stdout)


@test()
def every_file_is_python_3_9():
    import ast
    for path in glob.glob(os.path.join(ROOT, "python", "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            ast.parse(file.read(), path, feature_version=(3, 9))


@test()
def nothing_leaks_into_the_environment():
    code = "import os, quarkq; quarkq.version(); print(os.environ.get('GOMP_SPINCOUNT'))"
    expect_equal(command(sys.executable, "-c", code, cwd=DIGITS).strip(), "None", "GOMP_SPINCOUNT")


@test()
def the_version_is_an_attribute():
    import quarkq
    expect_equal(quarkq.__version__, quarkq.version(), "quarkq.__version__")


def quickstart(*arguments):
    return subprocess.run([os.path.join(ROOT, "quickstart.sh"), *arguments], cwd="/", capture_output=True, text=True, check=False)


@test()
def quickstart_takes_the_program_out_of_a_wheel():
    done = quickstart("--wheel", wheel())
    expect_equal(done.returncode, 0, done.stderr)
    expect("It works" in done.stdout and "building" not in done.stdout, done.stdout)
    expect("build/quickstart/wheel/quarkq/bin/quarkq quantize" in done.stdout, "the command to run next names the unpacked program")


@test(cases=[("no such file", ["--wheel", "/nowhere.whl"], 1, "no such wheel"),
             ("no such folder", ["--wheel", "/nowhere/at/all.whl"], 1, "no such wheel"), ("not a wheel", ["--wheel", __file__], 1, "is not a wheel"),
             ("no name", ["--wheel"], 2, "quickstart.sh [--wheel FILE | --build]"), ("unknown", ["--fast"], 2, "--build")])
def quickstart_says_what_is_wrong(case):
    _, arguments, status, message = case
    done = quickstart(*arguments)
    expect_equal(done.returncode, status, done.stderr)
    expect(message in done.stderr, done.stderr)
