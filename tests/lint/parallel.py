#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops over threads under src/ are written with base/parallel.h: an exception that leaves a parallel region or a thread ends the process."""
import re
import sys

import ratchet
import sources

REGION = re.compile(r"^\s*#\s*pragma\s+omp\s+(?!simd\b|declare\s+simd\b)(\w+)|_Pragma\s*\(\s*\"omp\s+(?!simd\b)(\w+)")
THREAD = re.compile(r"\bstd::(j?thread\b(?!::)|async\b)")
# What it is written with, and what cannot throw: an empty region, and threads whose bodies turn exceptions into results or allocate nothing.
REGIONS_OF = ("src/base/parallel.cpp", "src/exec/environment.cpp")
THREADS_OF = ("src/base/parallel.cpp", "src/base/residency.h", "src/calib/read_ahead.h", "src/calib/read_ahead.cpp")


def check(root):
    findings = []
    for path in sources.files_below(root, "src"):
        if not path.endswith(sources.CODE_SUFFIXES):
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            code = line.partition("//")[0]
            if REGION.search(code) and path not in REGIONS_OF:
                findings.append(f"{path}:{number}: a parallel region of its own; use parallel_for() or parallel_pieces() of base/parallel.h")
            if THREAD.search(code) and path not in THREADS_OF:
                findings.append(f"{path}:{number}: a thread of its own; use on_threads() of base/parallel.h")
    return findings


GOOD = {"src/base/parallel.cpp": "#pragma omp parallel for\n  std::jthread a;\n", "src/a/a.cpp": "#pragma omp simd\n// #pragma omp parallel\n",
        "src/a/b.cpp": "int n = std::thread::hardware_concurrency();\n"}
BAD = [("src/a/c.cpp:2", {"src/a/c.cpp": "int a;\n#pragma omp parallel for schedule(static)\n"}),
       ("src/a/c.cpp:1", {"src/a/c.cpp": "  # pragma omp for\n"}), ("src/a/c.cpp:1", {"src/a/c.cpp": "#pragma omp critical(a)\n"}),
       ("src/a/d.h:1", {"src/a/d.h": "std::thread thread_;\n"}), ("src/a/d.h:1", {"src/a/d.h": "auto a = std::async(f);\n"})]


def main():
    ok = sources.self_test("parallel", check, GOOD, BAD)
    return ratchet.report("parallel", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
