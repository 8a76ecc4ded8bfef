# SPDX-License-Identifier: MIT
"""Recipes run from the network's wheel to a record, and every recorded result is complete. $QUARKQ_RECIPES=all runs all of them.

The parts of scores and intervals have tests with known answers."""
import json
import math
import os
import subprocess
import sys

import numpy as np

from harness import QUARKQ, ROOT, Skip, expect, expect_equal, temp_folder, test
from schema import misfits

RECIPES = os.path.join(ROOT, "recipes")
RESULTS = os.path.join(RECIPES, "results")
UNAVAILABLE = 3  # of recipes/run.py: the package index cannot be reached or does not have a wheel
FAST = ["digits", "keyword-spotting", "line-direction", "super-resolution"]
RECORDED = sorted(name[:-5] for name in os.listdir(RESULTS))
FLOAT, ORT = "float", "ONNX Runtime"

sys.path.insert(0, RECIPES)
from _lib import compare, intervals


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check_record(record):
    found = misfits(record, read(os.path.join(RECIPES, "result.schema.json")))
    expect(not found, f"{record['recipe']}: {found[:5]}")
    names = {score["name"] for score in record["scores"]}
    rows = record["rows"]
    expect_equal([row["name"] for row in rows[:2]], [FLOAT, ORT], "the first rows")
    expect(any(row.get("error") is None and row["name"] not in (FLOAT, ORT) for row in rows), "no preset has a result")
    for row in rows[1:]:
        expect(row["error"] or set(row["scores"]) == names, f"{row['name']}: scores {row.get('scores')} of {names}")
        expect(row["error"] or row["name"] == ORT or row["deployable"], f"{row['name']}: nothing about the target")
    for row in rows:
        for name, score in row.get("scores", {}).items():
            expect(score["low"] <= score["value"] + 1e-4 and score["value"] <= score["high"] + 1e-4, f"{row['name']}, {name}: {score} is not within its interval")


@test(cases=RECORDED)
def the_record_is_complete(name):
    record = read(os.path.join(RESULTS, name + ".json"))
    check_record(record)
    expect_equal(record["recipe"], name, "name of the recipe")
    expect(record["samples"]["evaluation"] >= record["samples"]["groups"] >= 8, f"too few groups: {record['samples']}")


@test(cases=RECORDED if os.environ.get("QUARKQ_RECIPES") == "all" else FAST)
def the_recipe_runs(name):
    """The scores agree with the recorded ones: their intervals overlap."""
    with temp_folder() as folder:
        result = subprocess.run([sys.executable, os.path.join(RECIPES, "run.py"), name, "--output", folder], capture_output=True, text=True, check=False,
                                timeout=3000, stdin=subprocess.DEVNULL, env={**os.environ, "QUARKQ": QUARKQ})
        if result.returncode == UNAVAILABLE:
            raise Skip(f"no package index or wheel: {result.stderr.strip()[-200:]}")
        expect_equal(result.returncode, 0, f"exit code: {result.stderr[-1000:]}")
        made = read(os.path.join(folder, name + ".json"))
    check_record(made)
    recorded = {row["name"]: row for row in read(os.path.join(RESULTS, name + ".json"))["rows"]}
    for row in made["rows"]:
        for key, score in row.get("scores", {}).items():
            old = recorded[row["name"]]["scores"][key]
            expect(score["low"] <= old["high"] and old["low"] <= score["high"], f"{row['name']}, {key}: {score}, recorded is {old}")
    last = made["rows"][-1]
    return f"{last['name']}: " + ", ".join(f"{key} {score['value']}" for key, score in last["scores"].items())


@test()
def unknown_names_are_listed():
    result = subprocess.run([sys.executable, os.path.join(RECIPES, "run.py"), "nonsense"], capture_output=True, text=True, check=False)
    expect(result.returncode == 1 and "nonsense" in result.stderr and "digits" in result.stdout, f"{result.returncode}: {result.stderr}")
    listed = subprocess.run([sys.executable, os.path.join(RECIPES, "run.py"), "--list"], capture_output=True, text=True, check=True).stdout.split()
    expect_equal(sorted(listed), RECORDED, "recipes with a record")


@test()
def intervals_have_their_width():
    """Of a share over n independent samples: about 1.96 standard errors; of equal samples in one group: the group's."""
    random = np.random.default_rng(3)
    right = [(float(one), 1.0) for one in random.random(400) < 0.8]
    names = [str(number) for number in range(400)]
    found = intervals.score(right, names, True)
    error = 1.96 * math.sqrt(found["value"] * (1 - found["value"]) / 400)
    expect(abs((found["high"] - found["low"]) / (2 * error) - 1) < 0.1, f"{found}, expected +- {error}")
    grouped = intervals.score(right * 4, names * 4, True)
    expect(abs(grouped["high"] - found["high"]) < 0.005, f"copies of samples make the interval narrower: {grouped}, {found}")
    expect_equal(intervals.score([(1.0, 1.0)] * 60, names[:60], True), {"value": 1.0, "low": round(0.025 ** (1 / 60), 4), "high": 1.0}, "all right")
    expect_equal(intervals.score([(0.0, 1.0)] * 60, names[:60], True)["high"], round(1 - 0.025 ** (1 / 60), 4), "all wrong")


@test()
def differences_are_paired():
    """Both sides vary together: the interval of the difference is far narrower than both."""
    random = np.random.default_rng(4)
    base = random.normal(10, 5, 100)
    names = [str(number) for number in range(100)]
    one, other = ([(float(value), 1.0) for value in values] for values in (base + 0.5, base + random.normal(0, 0.1, 100)))
    found = intervals.difference(one, other, names)
    expect(0.4 < found["low"] < found["value"] < found["high"] < 0.6, f"{found}")


TEXTS = [("", "abc", 0.0), ("abc", "abc", 3.0), ("axc", "abc", 2.0), ("ac", "abc", 2.0), ("abcd", "abc", 2.0), ("xyzuvw", "abc", 0.0)]


@test(cases=TEXTS)
def characters_are_counted(case):
    found, wanted, right = case
    expect_equal(compare.characters(found, wanted), (right, float(len(wanted))), f"{found} for {wanted}")


@test()
def ctc_is_read():
    expect_equal(compare.ctc([0, 1, 1, 0, 1, 2, 2, 0], "ab"), "aab", "text")


@test()
def boxes_are_paired_once():
    box = np.array([[0, 0, 10, 10], [0, 0, 10, 10], [20, 20, 30, 30]], np.float32)
    kinds = np.array([0, 0, 1])
    expect_equal(compare.box_f1((box, kinds), (box[:1], kinds[:1])), (2.0, 4.0), "a box of two equal ones")
    expect_equal(compare.box_f1((box[2:], kinds[:1]), (box[2:], kinds[2:])), (0.0, 2.0), "another class")
    expect_equal(compare.box_f1((box[:0], kinds[:0]), (box, kinds)), (0.0, 3.0), "no box")
    kept, classes = compare.suppressed(box, np.array([0.9, 0.8, 0.05]), kinds, 0.1)
    expect_equal((kept.tolist(), classes.tolist()), ([[0, 0, 10, 10]], [0]), "suppressed")
