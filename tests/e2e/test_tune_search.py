# SPDX-License-Identifier: MIT
"""quarkq tune --search: files of the reference's AutoSearchPro and AutoSearch."""
import json
import os

from harness import expect, expect_equal, quarkq, read_bytes, run, temp_folder, test
from test_tune import CALIB, EVAL, LABELS, MODEL

SAMPLES = ["--calib", CALIB, "--eval", EVAL]
# The space that the reference has for A8W8, with fewer steps of training.
PRO = {
    "search_space": {
        "activation": ["Int8Spec"],
        "activation_params": {"symmetric": [True, False], "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile"],
                              "only_if": "activation"},
        "weight": ["Int8Spec"], "weight_params": {"symmetric": [True], "quant_granularity": ["Tensor"], "only_if": "weight"},
        "algorithms": ["adaround", "adaquant"],
        "adaquant_params": {"num_iterations": {"type": "int", "low": 10, "high": 30, "step": 10},
                            "learning_rate": {"type": "float", "low": 1e-6, "high": 1e-4, "log": True}, "batch_size": [2], "early_stop": [True],
                            "only_if": {"algorithms": "adaquant"}},
        "adaround_params": {"num_iterations": {"type": "int", "low": 10, "high": 30, "step": 10},
                            "learning_rate": {"type": "float", "low": 1e-2, "high": 1e-1, "log": True}, "only_if": {"algorithms": "adaround"}},
        "cle_algo": ["cle", None], "cle_params": {"cle_steps": [-1, 1], "only_if": {"cle_algo": "cle"}},
        "specific_layer_config": [None], "layer_type_config": [None], "exclude": [None], "use_external_data_format": [False],
        "OptimizeModel": [True], "AlignSlice": [False], "FoldRelu": [True], "AlignConcat": [True]},
    "n_trials": 4, "n_jobs": 1, "output_dir": "./output", "temp_dir": "./temp_dir", "search_algo": "TPE", "search_evaluator": None,
    "search_metric": None, "direction": "minimize", "base_framework": "onnx", "study_storage_db": "auto_search.db",
    "load_study_if_exists": True, "study_name": "AutoSearch", "model_input": None, "calib_data_reader": None, "eval_data_reader": None,
    "two_stage_search": True, "plot_results": False}
# As the guide to the reference's first search has it, smaller.
FIRST = {
    "search_space": {"calibrate_method": ["PowerOfTwoMethod.MinMSE", "CalibrationMethod.Percentile"], "activation_type": ["QuantType.QInt8"],
                     "weight_type": ["QuantType.QInt8"], "include_cle": [False, True], "include_fast_ft": [False],
                     "extra_options": {"ActivationSymmetric": [True], "Percentile": [99.99, 99.9],
                                       "FastFinetune": {"NumIterations": [10], "OptimAlgorithm": ["adaround"]}}},
    "search_metric": "cos", "search_algo": "grid_search", "search_metric_tolerance": 20000.0,
    "search_stop_condition": {"find_n_candidates": -1, "iteration_limit": 10000, "time_limit": -1}}


def searched(folder, search, *arguments):
    path = os.path.join(folder, "search.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(search, file)
    done = run("tune", MODEL, "--search", path, *SAMPLES, *arguments, "--json")
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else None, done.stderr


@test()
def two_stages_and_what_has_no_counterpart():
    with temp_folder() as folder:
        out, again = os.path.join(folder, "out.onnx"), os.path.join(folder, "again.onnx")
        code, report, said = searched(folder, PRO, "-o", out)
        expect_equal(code, 0, said)
        steps = [trial["step"] for trial in report["trials"]]
        expect_equal((steps.count("search"), steps.count("search-training")), (6 * 3, 4), "trials of the stages")
        expect_equal([trial["why_not"] for trial in report["trials"]], [""] * len(steps), "failures")
        expect_equal(report["metric"]["name"], "l2", "the reference's metric")
        best = report["trials"][report["best"]]
        expect_equal(best["value"], min(trial["value"] for trial in report["trials"]), "value of the best")
        expect_equal([one["subject"] for one in report["findings"]], ["search_algo"], "what is left out")
        quarkq("quantize", MODEL, "--config", report["settings"], "--calib", CALIB, "-o", again)
        expect(read_bytes(out) == read_bytes(again), "quantize with the settings found makes another model")


@test()
def training_is_on_top_of_the_best_of_the_first_stage():
    with temp_folder() as folder:
        _, report, _ = searched(folder, PRO, "-o", os.path.join(folder, "out.onnx"))
        first = min((trial for trial in report["trials"] if trial["step"] == "search"), key=lambda trial: trial["value"])
        specs = [one for one in first["settings"] if one.startswith("global_config=")]
        for trial in report["trials"]:
            if trial["step"] != "search":
                expect_equal([one for one in trial["settings"] if one.startswith("global_config=")], specs, trial["name"])
                expect("ada" in next(one for one in trial["settings"] if one.startswith("algo_config=")), str(trial["settings"]))


@test()
def fields_and_options_are_combined():
    with temp_folder() as folder:
        code, report, said = searched(folder, FIRST, "-o", os.path.join(folder, "out.onnx"))
        expect_equal(code, 0, said)
        expect_equal(len(report["trials"]), 6, "MinMSE, and Percentile twice, with and without cle")
        expect_equal(report["metric"]["name"], "cosine", "the file's metric")


@test()
def a_search_ends_at_the_goal():
    with temp_folder() as folder:
        code, report, said = searched(folder, FIRST, "-o", os.path.join(folder, "out.onnx"), "--labels", LABELS, "--metric", "top1", "--goal",
                                      "drop<=50%")
        expect_equal((code, len(report["trials"])), (0, 1), said)


@test()
def keys_of_the_user_stay():
    with temp_folder() as folder:
        _, report, _ = searched(folder, FIRST, "-o", os.path.join(folder, "out.onnx"), "--set", "include_cle=false")
        expect_equal(len(report["trials"]), 3, "trials")
        expect(not any("include_cle" in one for trial in report["trials"] for one in trial["settings"]), str(report["trials"]))


@test()
def a_dry_run_counts_the_trials():
    with temp_folder() as folder:
        path = os.path.join(folder, "search.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(PRO, file)
        plan = json.loads(quarkq("plan", MODEL, "--search", path, *SAMPLES, "-o", os.path.join(folder, "out.onnx"), "--json").stdout)
        expect_equal([(step["name"], len(step["trials"])) for step in plan["steps"]], [("search", 18), ("search-training", 4)], "steps")
        expect_equal([one["subject"] for one in plan["findings"]], ["search_algo"], "findings")


@test(cases=[("unknown key", {"search_space": {"calibrate_methode": ["MinMax"]}}, "calibrate_method"),
             ("wrong value", {"search_space": {"calibrate_method": ["MinMaximum"]}}, "MinMaximum"),
             ("wrong spec", {"search_space": {"activation": ["Int8"], "weight": ["Int8Spec"]}}, "no spec class"),
             ("a preset beside specs", PRO, "--config")])
def wrong_files_are_refused_before_anything_runs(case):
    name, search, words = case
    with temp_folder() as folder:
        more = ["--config", "xint8"] if name == "a preset beside specs" else []
        code, _, said = searched(folder, search, *more, "-o", os.path.join(folder, "out.onnx"))
        expect_equal(code, 2, "exit code")
        expect(words in said or "only one of the two" in said, said)
        expect_equal(os.listdir(folder), ["search.json"], "what is left")
