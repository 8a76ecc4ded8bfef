# SPDX-License-Identifier: MIT
"""Files in use, full disks, signals, and the end of a run."""
import contextlib
import fcntl
import os
import pty
import shutil
import subprocess
import tempfile
import termios
import time

from support import (BUILD, CALIB, EVAL, MODEL, WINDOWS, WINE, Skip, cases, compiled, execute, expect, fails, quantize, read, succeeds, test, tree, windows,
    windows_path, write)


@contextlib.contextmanager
def held(folder, path):
    """Another program of Windows has the file open and shares it with nobody."""
    with subprocess.Popen([WINE, compiled(folder, "hold_file.c"), windows_path(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            expect(process.stdout.readline().strip() == b"held", "the file is not held")
            yield
        finally:
            process.stdin.close()


@test
def a_file_in_use_is_named_and_stays():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        old = write(os.path.join(folder, "out.onnx"), b"old")
        with held(other, old):
            fails(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", old, MODEL), 1, "out.onnx")
        expect(tree(folder) == {"out.onnx": b"old"}, f"{sorted(tree(folder))} are there, or the old file was changed")
        model = shutil.copy(MODEL, os.path.join(folder, "model.onnx"))
        with held(other, model):
            refused = windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", old, model)
            expect(refused.returncode in (1, 2, 3) and b"model.onnx" in refused.stderr, f"{refused.returncode}: {refused.stderr[-300:]}")
        quantize(windows, model, CALIB, old)


@test
def inputs_that_are_read_only_are_read():
    with tempfile.TemporaryDirectory() as folder:
        model = shutil.copy(MODEL, os.path.join(folder, "model.onnx"))
        calib = shutil.copytree(CALIB, os.path.join(folder, "calib"))
        for path in [model, *(os.path.join(calib, name) for name in os.listdir(calib))]:
            os.chmod(path, 0o444)
        quantize(windows, model, calib, os.path.join(folder, "out.onnx"))


@contextlib.contextmanager
def small_disk(kilobytes):
    with tempfile.TemporaryDirectory() as folder:
        mounted = execute(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", folder])
        if mounted.returncode != 0:
            raise Skip("a small file system needs rights to mount it")
        try:
            yield folder
        finally:
            execute(["umount", folder])


@cases("the model", "its weights", "results", "statistics")
def a_full_disk_is_reported_and_leaves_nothing(kind):
    with small_disk(8) as folder:
        old = write(os.path.join(folder, "out.onnx"), b"old")
        commands = {"the model": ["quantize", "--config", "BF16", "--calib", CALIB, "-o", old, MODEL],
                    "its weights": ["quantize", "--config", "BF16", "--calib", CALIB, "--set", "use_external_data_format=true", "-o", old, MODEL],
                    "results": ["run", MODEL, "--inputs", EVAL, "--outputs", os.path.join(folder, "results")],
                    "statistics": ["calibrate", "--config", "A8W8", "--calib", CALIB, "-o", os.path.join(folder, "out.stats"), MODEL]}
        fails(windows(*commands[kind]), 1, "No space left on device")
        left = [name for name in tree(folder) if name.endswith(".part") or ".part-" in name]
        expect(read(old) == b"old" and not left, f"{left} are left, or the old file was changed")


def wait_for(found, seconds=60):
    begin = time.monotonic()
    while not found():
        expect(time.monotonic() - begin < seconds, "the run does not begin")
        time.sleep(0.05)


@test
def ctrl_c_ends_a_run():
    """In a console of its own, which wine makes from a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        master, slave = pty.openpty()
        log, output = os.path.join(folder, "run.log"), os.path.join(folder, "out.onnx")
        command = [WINE, WINDOWS, "quantize", "--config", "XINT8_ADAROUND", "--calib", CALIB, "--set", "FastFinetune.NumIterations=10000000", "--log-file", log, "-o", output,
                   MODEL]

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(list(map(str, command)), stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)  # pylint: disable=subprocess-popen-preexec-fn
        os.close(slave)
        try:
            wait_for(lambda: os.path.exists(log) and b"tune" in read(log))
            os.write(master, b"\x03")
            code = process.wait(60)
        except subprocess.TimeoutExpired:
            raise AssertionError("the run goes on") from None
        finally:
            process.kill()
            process.wait()
            os.close(master)
        expect(code == 130, f"exit code {code}, expected 130")
        left = [name for name in os.listdir(folder) if not name.startswith("run.log")]
        expect(not left, f"{left} are left")


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
        program = compiled(folder, "call_library.c", os.path.join(BUILD, "libquarkq.dll.a"))
        shutil.copy(os.path.join(BUILD, "quarkq.dll"), folder)
        result = succeeds(execute([WINE, program, MODEL]))
        expect(b"0 digits" in result.stdout, result.stdout.decode(errors="replace"))
