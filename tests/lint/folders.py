#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inside a layer, too, includes point one way: the folders of these layers stand on floors, and a folder includes only what stands
below it, or itself. layers.py checks what layers may include of each other."""
import sys

import layers
import ratchet
import sources

# Layer -> floors from the bottom up; folders are relative to src/. Folders of one floor do not include each other.
FLOORS = {
    "calib": [["calib"], ["calib/image", "calib/quark"], ["calib/reader"]],
    "exec": [["exec"], ["exec/kernels/shared"], ["exec/kernels/elementwise", "exec/kernels/reduce"],
             ["exec/kernels/control", "exec/kernels/image", "exec/kernels/matrix", "exec/kernels/norm", "exec/kernels/quantized",
              "exec/kernels/recurrent", "exec/kernels/shape", "exec/kernels/signal"]],
    # The order of the phases; what several of them share stands below.
    "plan": [["plan"], ["plan/lowering"]],
    "pass": [["pass"], ["pass/gptq"]],
    "rewrite": [["rewrite"], ["rewrite/convert"], ["rewrite/clean", "rewrite/simplify", "rewrite/optimize"], ["rewrite/fuse"],
                ["rewrite/equalize"], ["rewrite/hardware"]],
    "planning": [["planning"], ["planning/select"], ["planning/mark"], ["planning/calibrate"], ["planning/restructure"],
                 ["planning/constrain"], ["planning/tune"],
                 ["planning/round"]],
    "qdq": [["qdq"], ["qdq/write"], ["qdq/legalize"], ["qdq/import"], ["qdq/convert"]],
    "metrics": [["metrics/truth"], ["metrics/detect"], ["metrics"]],
    "pipeline": [["pipeline/run"], ["pipeline/report"], ["pipeline/report/html", "pipeline/rescue", "pipeline/ep_report"], ["pipeline/verbs"]],
}


def folder_of(path):
    return path.rpartition("/")[0]


def check(root, floors=None):
    height = {folder: (layer, number) for layer, rows in (floors or FLOORS).items() for number, row in enumerate(rows) for folder in row}
    findings = []
    for path in sources.files_below(root, "src"):
        if not path.endswith(sources.CODE_SUFFIXES):
            continue
        own = folder_of(path)[len("src/"):]
        layer = own.split("/")[0]
        if layer not in (floors or FLOORS):
            continue
        if own not in height:
            findings.append(f"{path}:1: the folder {own} has no floor in tests/lint/folders.py")
            continue
        for number, line in enumerate(sources.read_lines(root, path), 1):
            match = layers.INCLUDE.match(line)
            other = folder_of(match.group(2)) if match and match.group(1) == '"' else own
            if other != own and other.split("/")[0] == layer and other in height and height[other][1] >= height[own][1]:
                findings.append(f"{path}:{number}: {own} includes {other}, which does not stand below it")
    return findings


TEST_FLOORS = {"ops": [["ops"], ["ops/a", "ops/b"], ["ops/c"]]}
GOOD = {"src/ops/base.h": "\n", "src/ops/a/a.h": '#include "ops/base.h"\n#include "ops/a/other.h"\n#include <map>\n',
        "src/ops/c/c.h": '#include "ops/a/a.h"\n#include "ir/up.h"\n', "src/ir/up.h": '#include "ir/deep/a.h"\n'}
BAD = [("src/ops/up.h:1", {"src/ops/up.h": '#include "ops/a/a.h"\n'}), ("src/ops/b/b.h:1", {"src/ops/b/b.h": '#include "ops/a/a.h"\n'}),
       ("src/ops/d/d.h:1", {"src/ops/d/d.h": "\n"})]


def main():
    ok = sources.self_test("folders", lambda root: check(root, TEST_FLOORS), GOOD, BAD)
    return ratchet.report("folders", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
