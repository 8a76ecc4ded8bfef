# SPDX-License-Identifier: MIT
"""Random valid models over all operators (tests/fuzz/compare_ort.py) and mutated ones over all verbs (mutated_models.py), in short:
the scripts run longer, and their last results stand beside them."""
import json
import os
import sys

import numpy as np
from onnx import helper, numpy_helper

from fuzz_script import FUZZ, script
from harness import expect, quarkq, test

import random_operators

MODELS = int(os.environ.get("QUARKQ_COMPARED_MODELS", "1600"))
PARTS = 4
# Without a recipe: random numbers are not comparable, and what is of quarkq's own domains has test_ort_ops.py.
WITHOUT_RECIPE = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}


@test(cases=[(f"part {part}", part) for part in range(PARTS)])
def random_models_agree(case):
    count = MODELS // PARTS
    return script("compare_ort.py", "--first", 1000 + case[1] * count, "--models", count)


@test()
def mutated_models_are_survived():
    return script("mutated_models.py", "--first", 7000, "--models", 600)


@test()
def mutated_models_of_other_verbs_are_survived():
    return script("mutated_models.py", "--verbs", "program", "--first", 7000, "--models", 100)


@test()
def every_operator_has_a_recipe():
    rows = json.loads(quarkq("list", "ops", "--json").stdout)
    names = {row["name"] if row["domain"] == "ai.onnx" else f"{row['domain']}:{row['name']}" for row in rows if row["domain"] in ("ai.onnx", "com.microsoft") and row["since"] not in ("", "-")}
    missing = names - set(random_operators.names()) - WITHOUT_RECIPE
    expect(not missing, f"no recipe in tests/e2e/operators for {sorted(missing)}")


@test()
def only_saturated_pairs_are_explained():
    """What ONNX Runtime makes of bytes without VNNI is a reason, other values of the same call are none."""
    sys.path.append(FUZZ)
    import differences
    import explained
    import single_calls
    x, weights = np.full((1, 5), 255, np.uint8), np.full((5, 1), 100, np.int8)
    proto = helper.make_model(helper.make_graph([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "g", [], [], [numpy_helper.from_array(weights, "w")]))
    exact = {"y": np.full((1, 1), 5 * 25500, np.int32)}
    for wanted, is_explained in ((2 * 32767 + 25500, True), (2 * 32767, False), (5 * 25500 - 1, False)):
        call = single_calls.Call(proto, {"x": x}, {"y": np.full((1, 1), wanted, np.int32)})
        row = explained.find(call, differences.first_difference(exact, call.wanted))
        expect((row is not None) == is_explained, f"{wanted}: {row}")
    wrong = {"y": exact["y"] + 1}
    call = single_calls.Call(proto, {"x": x}, {"y": np.full((1, 1), 2 * 32767 + 25500, np.int32)})
    expect(explained.find(call, differences.first_difference(wrong, call.wanted)) is None, "values that are neither exact nor saturated")


@test(cases=["compare_ort.json", "newest_opsets.json", "forms.json", "mutated_models.json", "mutated_verbs.json"])
def the_last_results_have_no_findings(name):
    with open(os.path.join(FUZZ, name), encoding="utf-8") as file:
        found = json.load(file)["findings"]
    expect(found == 0, f"{name}: {found} findings")
