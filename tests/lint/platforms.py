#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No code outside of src/base/platform asks which operating system it is compiled for (ADR 0024). layers.py keeps its headers there.

Neither does it use std::filesystem, whose conversions from std::string read another encoding than UTF-8 on Windows, nor streams of files, which
are opened by such names. base/paths.h and base/file_system.h have functions for both."""
import re
import sys

import ratchet
import sources

NAMES = r"(_WIN32|_WIN64|WIN32|__MINGW\w*|_MSC_VER|__CYGWIN__|__linux__|__linux|linux|__unix__|__unix|__APPLE__|__BSD__|__ANDROID__)"
SYSTEM = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|elifdef|elifndef)\b.*\b" + NAMES + r"\b")
PLACE = "src/base/platform/"
PATHS = re.compile(r"\bstd::filesystem\b|\bstd::[io]?fstream\b|^\s*#\s*include\s*<(filesystem|fstream)>|(?<![\w.>:])(std::|::)?fopen\(")
READS_PATHS = ("src/base/paths.cpp", "src/base/file_system.cpp")


def check(root):
    findings = []
    for path in sources.files_below(root, "src", "include", "tools"):
        if not path.endswith(sources.CODE_SUFFIXES) or path.startswith(PLACE):
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            if SYSTEM.search(line):
                findings.append(f"{path}:{number}: depends on the operating system; add a function to {PLACE}, with an implementation for each system")
            if path not in READS_PATHS and PATHS.search(line.split("//")[0]):
                findings.append(f"{path}:{number}: reads names of files as another encoding than UTF-8 on Windows; use base/paths.h or base/file_system.h")
    return findings


GOOD = {"src/base/platform/posix/a.cpp": "#ifdef __linux__\n#endif\n", "src/ir/a.cpp": "#ifdef __AVX2__\n// #ifdef _WIN32\n#if WIN32_LEAN\n",
        "include/quarkq/a.h": "#ifdef __GNUC__\n", "src/base/paths.cpp": "std::filesystem::path a;\n", "tools/a.cpp": "int a;  // not std::filesystem\n"}
BAD = [("src/ir/b.cpp:2", {"src/ir/b.cpp": "int a;\n#ifdef _WIN32\n"}), ("tools/quarkq/b.cpp:1", {"tools/quarkq/b.cpp": "#if defined(__linux__)\n"}),
       ("include/quarkq/b.h:1", {"include/quarkq/b.h": "  # ifndef _MSC_VER\n"}), ("src/ir/b.cpp:1", {"src/ir/b.cpp": "std::filesystem::remove(name);\n"}),
       ("src/ir/b.cpp:1", {"src/ir/b.cpp": "#include <fstream>\n"}), ("tools/b.cpp:1", {"tools/b.cpp": "FILE* file = std::fopen(name, mode);\n"})]


def main():
    ok = sources.self_test("platforms", check, GOOD, BAD)
    return ratchet.report("platforms", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
