# SPDX-License-Identifier: MIT
"""What was built: which libraries it loads and exports, how it moves vectors, how long it takes."""
import os
import re
import subprocess
import sys
import tempfile

from support import (BUILD, LINUX, ROOT, SHARED, SLOWEST, SYSTEM_LIBRARIES, WINDOWS, WINE, Skip, execute, expect, fastest, succeeds, test, windows)


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
def threads_of_openmp_spin_for_a_bounded_time():
    for given, wanted in (({}, "1000"), ({"GOMP_SPINCOUNT": "77"}, "77")):
        shown = succeeds(windows("--version", env={**os.environ, **given, "OMP_DISPLAY_ENV": "verbose"})).stderr.decode()
        expect(f"GOMP_SPINCOUNT = '{wanted}'" in shown, f"expected {wanted}: {shown[-300:]}")


@test
def unit_tests():
    runner = os.path.join(BUILD, "tests", "quarkq_tests")
    if not os.path.isfile(runner + ".exe"):
        raise Skip("scripts/build_windows.sh --tests builds them")
    if not os.path.islink(runner):
        os.symlink(WINE, runner)
    result = execute([sys.executable, os.path.join(ROOT, "scripts", "run_unit.py"), runner])
    text = result.stdout.decode(errors="replace")
    sys.stdout.write("".join(line + "\n" for line in text.splitlines() if re.match(r"(ok|skip|FAIL) ", line)))
    expect(text.count("\nok ") > 20, f"hardly a test ran: {text[-500:]}{result.stderr.decode(errors='replace')[-300:]}")


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
