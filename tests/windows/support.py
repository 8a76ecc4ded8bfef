# SPDX-License-Identifier: MIT
"""What the tests of the Windows program share: both programs, files, expectations."""
import os
import re
import subprocess
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
BUILD = os.path.join(ROOT, "build", "windows")
WINE = os.path.join(HERE, "wine.sh")
LINUX = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
WINDOWS = os.path.join(BUILD, "quarkq.exe")
DIGITS = os.path.join(ROOT, "examples", "digits")
MODEL, CALIB, EVAL = (os.path.join(DIGITS, *parts) for parts in (("digits.onnx",), ("calib",), ("eval", "inputs")))
SECONDS = 300
SLOWEST = 3  # times as long as on Linux
NETWORKS = ["resnet8_cifar10", "mobilenetv1_025_vww_96", "superres_x3"]
PRESETS = ["XINT8", "A8W8", "A16W8", "VINT8", "BF16", "BFP16"]
# Scales that depend on float sums differ in their last bits between the versions of oneDNN (ADR 0024); exponents do not.
NAME = "\u6a21\u578b \u00fc\u00df \U0001f600"
RUNTIME = "onnxruntime-1.32.0-cp312-cp312-win_amd64.whl"
RUNTIME_SHA256 = "efe7456952c243a05a53d5b8732953625144642c2f3989094277f6217f0c0c40"
TUNE = ["tune", MODEL, "--config", "XINT8", "--calib", CALIB, "--eval", EVAL, "--limit", 16, "--metric", "cosine", "--isa", "avx2", "--threads", 2, "--quiet"]
SYSTEM_LIBRARIES = {"advapi32", "bcrypt", "kernel32", "msvcrt", "ntdll", "ole32", "psapi", "shell32", "user32", "ws2_32"}

_tests = []  # (name, function)


class Skip(Exception):
    """This test cannot run here; the text says why."""


def test(function):
    _tests.append((function.__name__, function))
    return function


def cases(*labels):
    def register(function):
        _tests.extend((f"{function.__name__}[{label}]", lambda label=label: function(label)) for label in labels)
        return function
    return register


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def execute(command, **options):
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False, **options)


def linux(*arguments, **options):
    return execute([LINUX, *arguments], **options)


def windows(*arguments, **options):
    return execute([WINE, WINDOWS, *arguments], **options)


def succeeds(result):
    expect(result.returncode == 0, f"exit code {result.returncode}: {result.stderr.decode(errors='replace')[-400:]}")
    return result


def fails(result, code, *texts):
    error = result.stderr.decode(errors="replace")
    expect(result.returncode == code and all(text in error for text in texts), f"exit code {result.returncode}, expected {code} and {texts}: {error[-400:]}")


def fastest(command, times=3):
    """Seconds of the fastest run: other processes may take the cores."""
    best = SECONDS
    for _ in range(times):
        begin = time.monotonic()
        succeeds(execute(command))
        best = min(best, time.monotonic() - begin)
    return best


def windows_path(path):
    return "Z:" + os.path.abspath(path).replace("/", "\\")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
    return path


def quantize(program, model, calib, output, *more, config="XINT8"):
    return succeeds(program("quantize", "--config", config, "--calib", calib, "-o", output, "--isa", "avx2", "--threads", 2, "--quiet", *more, model))


def on_both(folder, model, calib, config="XINT8"):
    """Paths of the results of both programs, with the same name: messages and metadata may contain it."""
    paths = []
    for name, program in (("linux", linux), ("windows", windows)):
        os.makedirs(os.path.join(folder, name))
        paths.append(os.path.join(folder, name, "out.onnx"))
        quantize(program, model, calib, paths[-1], config=config)
    return paths


def expect_same_files(first, second):
    for folder in (first, second):
        expect(os.path.isdir(folder), f"{folder} is not there")
    names = sorted(os.listdir(first))
    expect(names == sorted(os.listdir(second)), f"files {names}, and on Windows {sorted(os.listdir(second))}")
    for name in names:
        expect(read(os.path.join(first, name)) == read(os.path.join(second, name)), f"{name} differs")


def compiled(folder, source, *more):
    """A small program for Windows from a file of this folder."""
    program = os.path.join(folder, source.removesuffix(".c") + ".exe")
    succeeds(execute(["x86_64-w64-mingw32-gcc-posix", "-std=c11", "-O1", "-Wall", "-Werror", "-municode" if "hold" in source else "-O1", "-I",
                      os.path.join(ROOT, "include"), os.path.join(HERE, source), "-o", program, *more]))
    return program


def tree(folder):
    """{path below the folder: content}"""
    found = {}
    for place, _, names in os.walk(folder):
        found.update({os.path.relpath(os.path.join(place, name), folder): read(os.path.join(place, name)) for name in names})
    return found


def onnxruntime_dll():
    """ONNX Runtime for Windows, fetched once from the index of Python packages."""
    place = os.path.join(ROOT, "build", "deps", "onnxruntime-windows")
    library = os.path.join(place, "onnxruntime.dll")
    if not os.path.isfile(library):
        os.makedirs(place, exist_ok=True)
        wheel = os.path.join(place, RUNTIME)
        done = execute([sys.executable, os.path.join(ROOT, "third_party", "fetch_archive.py"), "onnxruntime", RUNTIME, RUNTIME_SHA256, wheel])
        if done.returncode != 0:
            raise Skip(f"ONNX Runtime for Windows cannot be fetched: {done.stderr.decode(errors='replace').strip()[-200:]}")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if re.fullmatch(r"onnxruntime/capi/onnxruntime\w*\.dll", name):
                    write(os.path.join(place, os.path.basename(name)), archive.read(name))
        os.remove(wheel)
    return {**os.environ, "QUARKQ_ONNXRUNTIME": windows_path(library)}


def tests():
    """The registered tests as (name, function)."""
    return list(_tests)
