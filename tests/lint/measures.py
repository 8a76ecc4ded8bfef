#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures of the whole tree: trees of settings that are read outside config, quantizers asked for by name, and lines of tests for
each line of source."""
import math
import re
import sys

import ratchet
import sources

CONFIG_NODE = re.compile(r"\bconfig::Node\b|\bsettings(?:_|\(\))?\.\w+(?:\.|->)node\b")
QUANTIZER_NAME = re.compile(r"\bQuantizer::k\w+")
# The table of traits, the choice of the quantizer, and the bits in which fields.def says who reads an option.
KNOW_QUANTIZERS = ("src/config/settings.cpp", "src/config/resolve_defaults.cpp", "src/config/fields.h",
                   "src/config/resolve.cpp", "src/config/settings.h")
TEST_RATIO = 0.8  # lines of tests for a line of source; ratchet.txt has the hundredths that are still missing


def check_config_nodes(root):
    """Settings leave `config` as values of their own types; only it reads trees of YAML."""
    findings = []
    for path in sources.files_below(root, "src", "tools"):
        if not path.endswith(sources.CODE_SUFFIXES) or path.startswith("src/config/"):
            continue
        lines = [number for number, line in enumerate(sources.read_lines(root, path), 1) if CONFIG_NODE.search(line.partition("//")[0])]
        if lines:
            findings.append(f"{path}:{lines[0]}: names config::Node in {len(lines)} line{'s' if len(lines) > 1 else ''}")
    return findings


def check_quantizer_names(root):
    """What a quantizer does is a column of its row in config/settings.cpp, so that no other code asks which one it is."""
    findings = []
    for path in sources.files_below(root, "src", "tools"):
        if not path.endswith(sources.CODE_SUFFIXES) or path in KNOW_QUANTIZERS:
            continue
        findings += [f"{path}:{number}: asks for a quantizer by its name; give config/settings.h a member"
                     for number, line in enumerate(sources.read_lines(root, path), 1) if QUANTIZER_NAME.search(line.partition("//")[0])]
    return findings


# A second implementation of headers whose tests are written once, for every system (ADR 0024).
SECOND = "src/base/platform/windows/"


def count_lines(root, *folders):
    return sum(len(sources.read_lines(root, path)) for path in sources.files_below(root, *folders)
               if path.endswith((".cpp", ".h", ".def", ".py")) and not path.startswith(SECOND))


def test_ratio(root):
    source = count_lines(root, "src", "include", "tools")
    return count_lines(root, "tests") / source if source else 0.0


def check_test_ratio(root):
    """One finding for each hundredth that is missing."""
    ratio = test_ratio(root)
    missing = max(0, math.ceil(100 * (TEST_RATIO - ratio) - 1e-9))
    return [f"tests:1: {ratio:.3f} lines of tests for a line of source, {TEST_RATIO} are wanted"] * missing


def main():
    ok = sources.self_test("config_nodes", check_config_nodes, {"src/plan/a.cpp": "// no config::Node here\n", "src/config/a.h": "config::Node a;\n"},
                           [("src/plan/b.cpp:2", {"src/plan/b.cpp": "\nconfig::Node a;\n"})])
    ok &= sources.self_test("quantizer_names", check_quantizer_names, {"src/config/fields.h": "Quantizer::kCpu\n", "src/plan/a.cpp": "// Quantizer::kCpu\n"},
                            [("src/plan/b.cpp:1", {"src/plan/b.cpp": "if (q == Quantizer::kCpu) f();\n"})])
    ok &= sources.report("quantizer_names", check_quantizer_names(sources.ROOT))
    ok &= ratchet.report("config_nodes", check_config_nodes(sources.ROOT))
    ok &= sources.self_test("test_ratio", check_test_ratio, {"src/a.cpp": "a\n" * 10, "tests/a.cpp": "a\n" * 8},
                            [("tests:1", {"src/b.cpp": "a\n"})])
    ok &= ratchet.report("test_ratio", check_test_ratio(sources.ROOT))
    print(f"    {test_ratio(sources.ROOT):.3f} lines of tests for a line of source, {TEST_RATIO} are wanted")
    return ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
