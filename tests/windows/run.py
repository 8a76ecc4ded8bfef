#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the Windows program under wine beside the Linux program: run.py [-k PART] prints "ok name", "FAIL name: why" or "skip name: why".

Needs wine64 and what scripts/build_windows.sh --tests built; skips without. The unit tests of the layers that depend on the system and of
vectorized loops run, too. docs/adr/0024-windows.md lists what wine does not show."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

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
SYSTEM_LIBRARIES = {"advapi32", "bcrypt", "kernel32", "msvcrt", "ntdll", "ole32", "psapi", "shell32", "user32", "ws2_32"}

_tests = []


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


# What was built.

@test
def loads_only_libraries_of_windows():
    for name in ("quarkq.exe", "quarkq.dll", "quarkq_ort_ops.dll"):
        text = succeeds(execute(["x86_64-w64-mingw32-objdump", "-p", os.path.join(BUILD, name)])).stdout.decode()
        names = {found.lower().removesuffix(".dll") for found in re.findall(r"DLL Name: (\S+)", text)}
        expect(names <= SYSTEM_LIBRARIES, f"{name} loads {sorted(names - SYSTEM_LIBRARIES)}")


@test
def libraries_export_only_their_interface():
    for name, wanted in (("quarkq.dll", "quarkq_call"), ("quarkq_ort_ops.dll", "RegisterCustomOps")):
        text = succeeds(execute(["x86_64-w64-mingw32-objdump", "-p", os.path.join(BUILD, name)])).stdout.decode()
        exports = re.findall(r"^\s+\[\s*\d+\]\s+(?:\+base\[\s*\d+\]\s+)?(?:[0-9a-f]{4,}\s+)?([A-Za-z_]\w*)$", text, re.M)
        expect(wanted in exports, f"{name} does not export {wanted}, but {exports}")
        # The static library of OpenMP marks its own functions for export.
        others = [one for one in exports if not re.match(r"quarkq_|GOMP_|GOACC_|omp_|acc_|gomp_", one) and one != wanted]
        expect(not others, f"{name} also exports {others[:5]}")


@test
def no_aligned_move_of_a_wide_vector():
    """GCC bug 54412: variables of 32 and 64 bytes on the stack are not aligned on Windows."""
    process = subprocess.Popen(["x86_64-w64-mingw32-objdump", "-d", "--no-show-raw-insn", WINDOWS], stdout=subprocess.PIPE, text=True)
    aligned = re.compile(r"\tvmov(aps|apd|dqa|dqa32|dqa64)\s+[^\n]*\([^\n]*%[yz]mm|\tvmov(aps|apd|dqa|dqa32|dqa64)\s+[^\n]*%[yz]mm[^\n]*\(")
    wide = re.compile(r"%[yz]mm")
    found, seen = [], 0
    for line in process.stdout:
        seen += wide.search(line) is not None
        if aligned.search(line):
            found.append(line.strip())
    expect(process.wait() == 0 and seen > 10000, f"only {seen} instructions on wide vectors were disassembled")
    expect(not found, f"{len(found)} aligned moves, such as {found[:2]}")


@test
def start_takes_at_most_a_second():
    succeeds(windows("--version"))  # wine's own server is there now
    result = succeeds(windows("help"))
    expect(b"quantize" in result.stdout and b"\r" not in result.stdout, "the help text is not that of Linux")
    seconds = fastest([WINE, WINDOWS, "help"]) - fastest([WINE, "cmd", "/c", "exit"])
    expect(seconds <= 1, f"{seconds:.2f} s more than an empty program")


@test
def unit_tests():
    runner = os.path.join(BUILD, "quarkq_tests")
    if not os.path.isfile(runner + ".exe"):
        raise Skip("scripts/build_windows.sh --tests builds them")
    if not os.path.islink(runner):
        os.symlink(WINE, runner)
    result = execute([sys.executable, os.path.join(ROOT, "scripts", "run_unit.py"), runner])
    text = result.stdout.decode(errors="replace")
    sys.stdout.write("".join(line + "\n" for line in text.splitlines() if re.match(r"(ok|skip|FAIL) ", line)))
    expect(text.count("\nok ") > 20, f"hardly a test ran: {text[-500:]}{result.stderr.decode(errors='replace')[-300:]}")


# The same results as on Linux.

@cases("list presets", "list options --json", "list diagnostics", "config show XINT8", "list targets --json")
def prints_the_same(arguments):
    expect(linux(*arguments.split()).stdout == succeeds(windows(*arguments.split())).stdout, "the text differs")


@cases(*PRESETS)
def digits_give_the_same_bytes(preset):
    with tempfile.TemporaryDirectory() as folder:
        first, second = on_both(folder, MODEL, CALIB, preset)
        expect(read(first) == read(second), "the models differ")


@cases(*NETWORKS)
def networks_give_the_same_bytes(network):
    model, calib = os.path.join(SHARED, "models", network + ".onnx"), os.path.join(SHARED, "golden", "inputs", network, "calib")
    if not os.path.isfile(model):
        raise Skip(f"../shared/models/{network}.onnx is not there")
    with tempfile.TemporaryDirectory() as folder:
        first, second = on_both(folder, model, calib)
        expect(read(first) == read(second), "the models differ")


@test
def statistics_and_merged_shards_are_the_same():
    with tempfile.TemporaryDirectory() as folder:
        for name, program in (("linux", linux), ("windows", windows)):
            os.makedirs(os.path.join(folder, name))
            parts = [os.path.join(folder, name, f"{i}.stats") for i in (0, 1)]
            for i, part in enumerate(parts):
                succeeds(program("calibrate", "--config", "XINT8", "--calib", CALIB, "--shard", f"{i}/2", "--isa", "avx2", "-o", part, MODEL))
            succeeds(program("merge", "-o", os.path.join(folder, name, "all.stats"), *parts))
        expect_same_files(os.path.join(folder, "linux"), os.path.join(folder, "windows"))


@test
def results_of_run_and_evaluate_are_the_same():
    with tempfile.TemporaryDirectory() as folder:
        for name, program in (("linux", linux), ("windows", windows)):
            succeeds(program("run", MODEL, "--inputs", EVAL, "--outputs", os.path.join(folder, name), "--isa", "avx2", "--limit", 32, "--quiet"))
        names = sorted(os.listdir(os.path.join(folder, "linux")))
        expect(names == sorted(os.listdir(os.path.join(folder, "windows"))) and len(names) == 32, f"{len(names)} results")
        compared = succeeds(windows("evaluate", "--baseline_results_folder", os.path.join(folder, "linux"), "--quantized_results_folder",
                                    os.path.join(folder, "windows"), "--min-cos", "0.999999"))
        expect(b"Mean cos similarity" in compared.stdout, compared.stdout.decode(errors="replace")[:200])


@test
def check_and_report_agree():
    with tempfile.TemporaryDirectory() as folder:
        model, page = os.path.join(folder, "out.onnx"), os.path.join(folder, "run.json")
        quantize(windows, MODEL, CALIB, model, "--report", page)
        expect(linux("check", model).stdout == succeeds(windows("check", model)).stdout, "check differs")
        for name, program in (("a.html", linux), ("b.html", windows)):
            succeeds(program("report", page, "-o", os.path.join(folder, name)))
        expect(read(os.path.join(folder, "a.html")) == read(os.path.join(folder, "b.html")), "the page differs")


# Paths and files of Windows.

@test
def takes_paths_of_windows():
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(windows_path(MODEL), windows_path(os.path.join(folder, "0.onnx"))), (MODEL.replace("/", "\\"), "1.onnx"),
                 ("\\\\?\\" + windows_path(MODEL), ".\\2.onnx")]
        for number, (model, output) in enumerate(pairs):
            succeeds(windows("quantize", "--config", "XINT8", "--calib", windows_path(CALIB), "-o", output, "--quiet", model, cwd=folder))
            expect(os.path.isfile(os.path.join(folder, f"{number}.onnx")), f"{output} was not written")


@test
def takes_unicode_and_long_paths():
    with tempfile.TemporaryDirectory() as folder:
        name = "\u6a21\u578b \u00fc\u00df \U0001f600"
        deep = os.path.join(folder, name, *(letter * 80 for letter in "abcd"))
        os.makedirs(deep)
        model = shutil.copy(MODEL, os.path.join(deep, name + ".onnx"))
        expect(len(model) > 300, f"{len(model)} characters")
        output = os.path.join(deep, "out.onnx")
        quantize(windows, model, CALIB, output)
        plain = os.path.join(folder, "plain.onnx")
        quantize(linux, model, CALIB, plain)
        expect(read(output) == read(plain), "the models differ")
        refused = windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", output, os.path.join(deep, name + "x.onnx"))
        fails(refused, 2, name + "x.onnx: no such file")


@test
def refuses_names_that_windows_changes():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("aux.onnx", "device on Windows"), ("nul.tar", "device on Windows"), ("out.", "removes dots"), ("a?b.onnx", "does not allow")):
            fails(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", os.path.join(folder, name), MODEL), 2, name.split("?")[0], text)
        expect(not os.listdir(folder), f"{os.listdir(folder)} were written")


@test
def a_byte_order_mark_and_carriage_returns_change_nothing():
    mark = b"\xef\xbb\xbf"
    settings = b"extends: XINT8\nquant_config:\n  activation:\n    symmetric: true\n"
    labels = read(os.path.join(DIGITS, "eval", "labels.csv"))
    with tempfile.TemporaryDirectory() as folder:
        plain, odd = (write(os.path.join(folder, name), text) for name, text in
                      (("a.yaml", settings), ("b.yaml", mark + settings.replace(b"\n", b"\r\n"))))
        shown = [windows("config", "show", path) for path in (plain, odd)]
        expect(shown[0].returncode == shown[1].returncode, f"exit codes {shown[0].returncode} and {shown[1].returncode}")
        expect(shown[0].stdout == shown[1].stdout, "the settings differ")
        odd_labels = write(os.path.join(folder, "labels.csv"), mark + labels.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        result = os.path.join(folder, "out.onnx")
        quantize(windows, MODEL, CALIB, result)
        scores = [succeeds(windows("evaluate", "--float", MODEL, "--quantized", result, "--data", EVAL, "--labels", path, "--limit", 64)).stdout
                  for path in (os.path.join(DIGITS, "eval", "labels.csv"), odd_labels)]
        expect(scores[0] == scores[1] and b"top-1" in scores[0].lower(), "the scores differ")


def is_case_ignored(folder):
    return os.path.exists(os.path.join(folder, "MODEL.ONNX"))


@test
def an_input_is_never_overwritten():
    with tempfile.TemporaryDirectory() as folder:
        model = shutil.copy(MODEL, os.path.join(folder, "model.onnx"))
        fails(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", os.path.join(folder, "MODEL.onnx") if is_case_ignored(folder) else model, model), 2,
              "never overwritten")
        expect(read(model) == read(MODEL), "the model was changed")


# The end of a run.

@test
def a_timeout_leaves_nothing():
    with tempfile.TemporaryDirectory() as folder:
        fails(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", os.path.join(folder, "out.onnx"), "--timeout", "0.01s", MODEL), 7,
              "--timeout")
        expect(not os.listdir(folder), f"{os.listdir(folder)} are left")


@test
def a_killed_run_leaves_what_the_next_one_removes():
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "out.onnx")
        left = write(os.path.join(folder, "out.onnx.part-7-0123456789abcdef"), b"half")
        quantize(windows, MODEL, CALIB, output)
        expect(not os.path.exists(left), "the file of a killed run is still there")


@test
def the_sandbox_is_refused():
    fails(windows("inspect", "--sandbox", MODEL), 1, "--sandbox", "Windows")


@test
def the_library_answers_in_c():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "call.exe")
        succeeds(execute(["x86_64-w64-mingw32-gcc-posix", "-std=c11", "-I", os.path.join(ROOT, "include"), os.path.join(HERE, "call_library.c"), "-o", program,
                          os.path.join(BUILD, "libquarkq.dll.a")]))
        shutil.copy(os.path.join(BUILD, "quarkq.dll"), folder)
        result = succeeds(execute([WINE, program, MODEL]))
        expect(b"0 digits" in result.stdout, result.stdout.decode(errors="replace"))


@test
def quantizing_takes_at_most_three_times_as_long():
    model, calib = (os.path.join(SHARED, *parts) for parts in
                    (("models", "efficientnet_lite0_224.onnx"), ("golden", "inputs", "efficientnet_lite0_224", "calib")))
    if not os.path.isfile(model):
        raise Skip("../shared is not there")
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, program, start in (("linux", [LINUX], [LINUX, "--version"]), ("windows", [WINE, WINDOWS], [WINE, WINDOWS, "--version"])):
            output = os.path.join(folder, name + ".onnx")
            seconds[name] = fastest([*program, "quantize", "--config", "XINT8", "--calib", calib, "-o", output, "--quiet", model]) - fastest(start)
    print(f"    without the start: linux {seconds['linux']:.2f} s, windows {seconds['windows']:.2f} s")
    expect(seconds["windows"] <= SLOWEST * seconds["linux"], f"{seconds}")


# What wine cannot show, or what is not tested yet.
NOT_TESTED = {"interrupt": "wine delivers Ctrl-C to no process without a console", "full_disk": "needs a file system of its own",
              "file_in_use": "needs a second Windows program that denies sharing", "read_only_results": "wine replaces files that are read-only", "network_paths": "wine has no server of such paths"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="", help="only tests whose names contain this")
    part = parser.parse_args().k
    if not os.path.isfile(WINDOWS):
        print("skip windows: build/windows/quarkq.exe is not there; scripts/build_windows.sh --tests builds it")
        return 0
    if shutil.which("wine64") is None and not os.path.isfile("/usr/lib/wine/wine64"):
        print("skip windows: wine64 is not installed (apt-get install wine64)")
        return 0
    failed = 0
    for name, function in _tests:
        if part not in name:
            continue
        try:
            function()
            print(f"ok windows.{name}", flush=True)
        except Skip as reason:
            print(f"skip windows.{name}: {reason}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL windows.{name}: {' '.join(str(error).split())}", flush=True)
    for name, why in NOT_TESTED.items():
        if part in name:
            print(f"skip windows.{name}: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
