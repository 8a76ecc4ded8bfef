#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a GoogleTest binary and prints one line for each test: run_unit.py [--jobs N] BINARY [GTEST_OPTION...].

"ok name", "skip name", or "FAIL name" with what the test had printed above it. When the binary crashes, the test it was in is
the one that failed, and the binary is started again for the tests that had not run yet. With several jobs each runs whole suites,
whose tests may share what the first of them makes.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import threading

BEGIN = re.compile(r"^\[ RUN      \] (\S+)")
END = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),?(?: |$)")
MAX_CRASHES = 20
printing = threading.Lock()  # what a failed test had printed stays above its line


def list_tests(binary, options):
    listed = subprocess.run([binary, "--gtest_list_tests", *options], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"FAIL {os.path.basename(binary)}: cannot list its tests: {listed.stderr.strip()[-2000:]}")
    suite, names = "", []
    for line in listed.stdout.splitlines():
        text = line.split("#")[0].rstrip()
        if text.startswith("  "):
            names.append(suite + text.strip())
        elif text.endswith("."):
            suite = text
    return [name for name in names if not re.search(r"(^|[./])DISABLED_", name)]


def say(line, above=()):
    with printing:
        sys.stdout.write("".join("    " + text for text in above) + line + "\n")
        sys.stdout.flush()


def run_once(binary, options, names, folder):
    """Runs `names` with `folder` for temporary files; returns those that have ended, and whether one failed."""
    done, failed, current, printed = set(), False, None, []
    command = [binary, "--gtest_color=no", *options]
    flags = os.path.join(folder, "tests")
    with open(flags, "w", encoding="utf-8") as file:  # thousands of names are longer than an argument may be
        file.write("--gtest_filter=" + ":".join(names) + "\n")
    command.append(f"--gtest_flagfile={flags}")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env={**os.environ, "TEST_TMPDIR": folder})
    for line in process.stdout:
        begin, end = BEGIN.match(line), END.match(line)
        if begin:
            current, printed = begin.group(1), []
        elif end and end.group(2) == current:
            done.add(current)
            outcome, current = end.group(1), None
            if outcome == "FAILED":
                failed = True
                say(f"FAIL {end.group(2)}: see above", printed)
            else:
                reason = ": " + printed[-1].strip() if outcome == "SKIPPED" and printed else ""
                say(("skip " if outcome == "SKIPPED" else "ok ") + end.group(2) + reason)
        elif current or process.poll() not in (None, 0, 1):
            printed.append(line)
        else:
            printed = (printed + [line])[-40:]
    status = process.wait()
    if status not in (0, 1) or (status == 1 and not failed):
        name = current or os.path.basename(binary)
        what = f"signal {-status}" if status < 0 else f"exit status {status}"
        say(f"FAIL {name}: the test program ended with {what}", printed[-60:])
        failed = True
        done.add(name)
    return done, failed


def run_part(binary, options, names):
    """Whether all of `names` ran and did not fail."""
    left, any_failed = names, False
    for _ in range(MAX_CRASHES):
        with tempfile.TemporaryDirectory(prefix="quarkq-unit-") as folder:  # of its own: runs may go on at the same time
            done, failed = run_once(binary, options, left, folder)
        any_failed |= failed
        ran, left = done & set(left), [name for name in left if name not in done]
        if not left or not ran:
            break
    for name in left:
        say(f"FAIL {name}: did not run")
    return not any_failed and not left


def parts_of(names, count):
    """Suites in turn to each of `count` parts; none is empty."""
    suites = {}
    for name in names:
        suites.setdefault(name.rsplit(".", 1)[0], []).append(name)
    parts = [[] for _ in range(count)]
    for number, suite in enumerate(suites.values()):
        parts[number % count] += suite
    return [part for part in parts if part]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("binary")
    arguments, options = parser.parse_known_args()
    binary, jobs = arguments.binary, arguments.jobs
    names = list_tests(binary, options)
    if not names:
        sys.exit(f"FAIL {os.path.basename(binary)}: holds no tests")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        good = list(pool.map(lambda part: run_part(binary, options, part), parts_of(names, jobs)))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
