#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the end-to-end tests: harness.py [MODULE...] [-k PART] prints "ok name", "FAIL name: why" or "skip name: why" for each test.

A test is a function marked with @test(); it fails by raising, and skips by raising Skip. @test(cases=[...]) makes one test of
each case, which the function gets as its argument. The program under test is $QUARKQ, by default build/release/quarkq.
"""
import argparse
import concurrent.futures
import contextlib
import fcntl
import importlib
import io
import multiprocessing
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
TIMEOUT_SECONDS = 300

if __name__ == "__main__":
    sys.modules["harness"] = sys.modules["__main__"]  # the tests import this very module

_tests = []


class Skip(Exception):
    """This test cannot run here; the text says why."""


class Failure(AssertionError):
    """The program did not do what it should; the text says what was expected."""


def test(cases=None):
    def register(function):
        module = function.__module__
        for case in cases if cases is not None else [None]:
            label = case if isinstance(case, str) else case[0] if isinstance(case, tuple) else getattr(case, "name", None)
            name = f"{module}.{function.__name__}" + (f"[{label}]" if label else "")
            _tests.append((name, function, () if case is None else (case,)))
        return function
    return register


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what}: found {found!r}, expected {wanted!r}")


def expect_error(result, code, *texts):
    """A run that ended with this exit code and said all of the texts."""
    expect(result.returncode == code and all(text in result.stderr for text in texts), f"exit code {result.returncode}: {result.stderr}")


def shared(*parts):
    """A path below ../shared; skips the test when it is not there."""
    path = os.path.join(SHARED, *parts)
    if not os.path.exists(path):
        raise Skip(f"../shared/{'/'.join(parts)} is not there")
    return path


def temp_folder():
    return tempfile.TemporaryDirectory(prefix="quarkq-e2e-")


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def contents(folder):
    """The bytes of every file below `folder`, by relative path."""
    paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): read_bytes(path) for path in paths}


def run(*arguments, **options):
    """The program's CompletedProcess (text); never fails by itself. Sanitizers may write their report to stderr."""
    return subprocess.run([QUARKQ, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT_SECONDS, check=False, **options)


def quarkq(*arguments, **options):
    """Like run(), but the program must succeed."""
    result = run(*arguments, **options)
    if result.returncode != 0:
        raise Failure(f"`quarkq {' '.join(map(str, arguments))}` ended with {result.returncode}, expected 0: "
                      f"{result.stderr.strip().splitlines()[-3:]}")
    return result


def on_terminal(command, columns=80, environment=None, whole=False, cwd=None):
    """(exit code, what it writes) of a command whose stderr, and stdout when `whole`, is a terminal that wide. Without stdout the rest
    is thrown away."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}  # as many CI systems set it
    process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=theirs if whole else subprocess.DEVNULL, stderr=theirs, cwd=cwd,
                               env={**variables, "TERM": "xterm", **(environment or {})})
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says EIO at the end
            break
        if not part:
            break
        text += part
    process.wait()
    os.close(ours)
    return process.returncode, text.decode(errors="replace").replace("\r\n", "\n")


def quantize(model, output, calib, config, *more):
    return quarkq("quantize", "--config", config, "--calib", calib, "-o", output, *more, model)


def run_model(model, inputs, outputs, *more):
    return quarkq("run", model, "--inputs", inputs, "--outputs", outputs, "--quiet", *more)


def one_line(error):
    text = " ".join(str(error).split())
    return text if len(text) < 600 else text[:600] + " ..."


def run_one(name, function, arguments):
    """Returns whether the test did not fail."""
    try:
        notes = function(*arguments)
    except Skip as reason:
        print(f"skip {name}: {reason}", flush=True)
        return True
    except subprocess.TimeoutExpired as error:
        print(f"FAIL {name}: {one_line(error)}", flush=True)
        return False
    except Exception as error:  # whatever a test raises is its failure
        if not isinstance(error, Failure):
            print("".join("    " + line for line in traceback.format_exc().splitlines(keepends=True)))
        print(f"FAIL {name}: {type(error).__name__ + ': ' if not isinstance(error, Failure) else ''}{one_line(error)}", flush=True)
        return False
    print(f"ok {name}" + (f": {notes}" if notes else ""), flush=True)
    return True


def captured(number):
    """(what test `number` printed, whether it did not fail, the seconds it took)"""
    begin = time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()) as text:
        good = run_one(*_tests[number])
    return text.getvalue(), good, time.monotonic() - begin


def run_all(numbers, jobs):
    """Outcomes in order. Processes, not threads: tests change the environment, the working folder and what they import."""
    if jobs == 1:
        yield from map(captured, numbers)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(captured, numbers)


def print_slowest(times, count):
    files = {}
    for name, seconds in times.items():
        files[name.split(".")[0]] = files.get(name.split(".")[0], 0) + seconds
    for kind in (times, files):
        for name, seconds in sorted(kind.items(), key=lambda one: -one[1])[:count]:
            print(f"{seconds:8.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="test_*.py files or names; all when none is given")
    parser.add_argument("-k", dest="part", default="", help="only tests whose name contains this")
    parser.add_argument("--jobs", type=int, default=1, help="tests that run at once (of run_tests.sh: one for each core)")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="print the N tests that took longest, and the time of each file")
    arguments = parser.parse_args()
    names = [os.path.splitext(os.path.basename(module))[0] for module in arguments.modules]
    names = names or sorted(entry[:-3] for entry in os.listdir(HERE) if entry.startswith("test_") and entry.endswith(".py"))
    sys.path.insert(0, HERE)
    if not os.access(QUARKQ, os.X_OK):
        sys.exit(f"FAIL harness: {QUARKQ} is not there; build it first")
    for name in names:
        importlib.import_module(name)
    chosen = [number for number, entry in enumerate(_tests) if arguments.part in entry[0]]
    if not chosen:
        sys.exit("FAIL harness: no test has that name")
    outcomes, times = [], {}
    for number, (text, good, seconds) in zip(chosen, run_all(chosen, arguments.jobs)):
        print(text, end="", flush=True)
        outcomes.append(good)
        times[_tests[number][0]] = seconds
    print_slowest(times, arguments.slowest)
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()
