#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/results.md and its plot are what scripts/results_page.py draws from recipes/results, each recipe has its three files and a
record, and no file below recipes names an address: wheels are named by name, version and SHA-256."""
import json
import os
import re
import sys

import ratchet
import sources

sys.path.insert(0, os.path.join(sources.ROOT, "scripts"))
import results_page

PAGE, PLOT = "docs/results.md", "docs/images/results.svg"
NAMES = ("README.md", "recipe.py", "settings.yaml")
ADDRESS = re.compile(r"https?://")


def recipes(root):
    folder = os.path.join(root, "recipes")
    return sorted(name for name in os.listdir(folder) if not name.startswith(("_", ".")) and name != "results" and os.path.isdir(os.path.join(folder, name)))


def check(root):
    if not os.path.isdir(os.path.join(root, "recipes")):
        return []
    findings = []
    for name in recipes(root):
        findings += [f"recipes/{name}:1: {file} is missing" for file in NAMES if not os.path.isfile(os.path.join(root, "recipes", name, file))]
        if not os.path.isfile(os.path.join(root, "recipes", "results", name + ".json")):
            findings.append(f"recipes/{name}:1: it has no record; run recipes/run.py {name}")
    for path in sources.files_below(root, "recipes"):
        findings += [f"{path}:{number}: an address; name a wheel of the index" for number, line in enumerate(sources.read_lines(root, path), 1) if ADDRESS.search(line)]
    return findings + [f"{path}:1: differs from what scripts/results_page.py draws; run the script" for path, text in results_page.draw(root).items()
                       if results_page.read(root, path) != text]


SHARE = {"value": 0.5, "low": 0.25, "high": 0.75}
RECORD = {"recipe": "a", "kind": "classifier", "network": "a.onnx", "source": "a script", "licence": "MIT", "data": "numbers",
          "samples": {"calibration": 1, "evaluation": 4, "groups": 4}, "scores": [{"name": "top-1", "against": "truth", "better": "higher", "is_share": True, "unit": ""}],
          "rows": [{"name": "float", "bytes": 2000, "scores": {"top-1": SHARE}}, {"name": "ONNX Runtime", "error": "no | shape"},
                   {"name": "A8W8", "error": None, "bytes": 200000, "deployable": "in parts", "why": "an LSTM", "target": "x2", "placed_nodes": 1, "nodes": 2, "processor_seconds": 0.1,
                    "peak_rss_mib": 20.0, "scores": {"top-1": SHARE}, "minus_onnx_runtime": {"top-1": SHARE}}],
          "machine": {"cpu": "x", "cores": 2, "load_before": 0, "load_after": 0, "onnxruntime": "1", "quarkq": "0", "commit": "0"}}


def tree(record):
    """A tree with one recipe, whose page is drawn from the record."""
    files = {f"recipes/a/{name}": "\n" for name in NAMES} | {"recipes/results/a.json": json.dumps(record)}
    return {**files, PAGE: results_page.page([record]), PLOT: results_page.plot([record])}


GOOD = tree(RECORD)
BAD = [(PAGE, {"recipes/results/a.json": json.dumps({**RECORD, "data": "others"})}), (PAGE, {PAGE: GOOD[PAGE] + "more\n"}), (PLOT, {PLOT: "<svg/>"}),
       ("recipes/b:1", {f"recipes/b/{name}": "\n" for name in NAMES}), ("recipes/c:1", {"recipes/c/recipe.py": "\n", "recipes/results/c.json": json.dumps(RECORD)}),
       ("recipes/a/recipe.py:2", {"recipes/a/recipe.py": "\nurl = 'http" + "s://example.org'\n"})]


def main():
    ok = sources.self_test("results", check, GOOD, BAD)
    return ratchet.report("results", check(sources.ROOT)) and ok


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
