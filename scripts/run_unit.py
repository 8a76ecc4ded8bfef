#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a GoogleTest binary and prints one line for each test: run_unit.py BINARY [GTEST_OPTION...].

"ok name", "skip name", or "FAIL name" with what the test had printed above it. When the binary crashes, the test it was in is
the one that failed, and the binary is started again for the tests that had not run yet.
"""
import os
import re
import subprocess
import sys
import tempfile

BEGIN = re.compile(r"^\[ RUN      \] (\S+)")
END = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),?(?: |$)")
MAX_CRASHES = 20


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


def run_once(binary, options, names, folder):
    """Runs `names` with `folder` for temporary files; returns those that have ended, and whether one failed."""
    done, failed, current, printed = set(), False, None, []
    command = [binary, "--gtest_color=no", *options]
    if names is not None:  # in a file: thousands of names are longer than an argument may be
        flags = os.path.join(folder, "tests")
        with open(flags, "w", encoding="utf-8") as file:
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
                sys.stdout.write("".join("    " + text for text in printed))
                print(f"FAIL {end.group(2)}: see above")
            else:
                reason = ": " + printed[-1].strip() if outcome == "SKIPPED" and printed else ""
                print(("skip " if outcome == "SKIPPED" else "ok ") + end.group(2) + reason, flush=True)
        elif current or process.poll() not in (None, 0, 1):
            printed.append(line)
        else:
            printed = (printed + [line])[-40:]
    status = process.wait()
    if status not in (0, 1) or (status == 1 and not failed):
        name = current or os.path.basename(binary)
        sys.stdout.write("".join("    " + text for text in printed[-60:]))
        what = f"signal {-status}" if status < 0 else f"exit status {status}"
        print(f"FAIL {name}: the test program ended with {what}", flush=True)
        failed = True
        done.add(name)
    return done, failed


def main():
    binary, options = sys.argv[1], sys.argv[2:]
    left = list_tests(binary, options)
    if not left:
        sys.exit(f"FAIL {os.path.basename(binary)}: holds no tests")
    names, any_failed = None, False
    for _ in range(MAX_CRASHES):
        with tempfile.TemporaryDirectory(prefix="quarkq-unit-") as folder:  # of its own: runs may go on at the same time
            done, failed = run_once(binary, options, names, folder)
        any_failed |= failed
        left = [name for name in left if name not in done]
        if not left or not done & set(list_tests(binary, options)):
            break
        names = left
    for name in left:
        print(f"FAIL {name}: did not run")
    sys.exit(1 if any_failed or left else 0)


if __name__ == "__main__":
    main()
