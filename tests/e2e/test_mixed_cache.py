# SPDX-License-Identifier: MIT
"""SensitivityCacheFile of AutoMixprecision, and its metric names and algorithm form."""
import json
import os

from harness import expect, expect_equal, quarkq, read_bytes, temp_folder, test
from test_tune import CALIB, MODEL


def quantize(folder, name, *arguments):
    """(bytes of the model, its report)"""
    out, report = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".json")
    quarkq("quantize", MODEL, "--config", "a16w8", "--calib", CALIB, "--set", "include_auto_mp=true", *arguments, "-o", out, "--report", report,
           "--quiet")
    with open(report, encoding="utf-8") as file:
        return read_bytes(out), json.load(file)


def mixed(**options):
    return ["--set", "AutoMixprecision=" + json.dumps({"TargetLayerConfig": {"input_tensors": "Int8Spec"}, **options})]


def finding(report, name):
    return [one["text"] for one in report["findings"] if one["id"] == name]


@test()
def scores_are_written_once_and_read_again():
    with temp_folder() as folder:
        cache = os.path.join(folder, "cache.json")
        options = mixed(MetricThreshold=10, MetricDefault="l2", SensitivityCacheFile=cache)
        plain, _ = quantize(folder, "plain", *mixed(MetricThreshold=10, MetricDefault="l2"))
        first, _ = quantize(folder, "first", *options)
        with open(cache, encoding="utf-8") as file:
            written = json.load(file)
        scores = [row["score"] for row in written["results"]]
        expect(len(scores) > 1 and scores == sorted(scores), f"scores {scores}")
        expect_equal(sorted(written["results"][0]), sorted(["name", "candidate_nodes", "score", "all_config_scores", "best_config_index", "enabled"]),
                     "keys of a row")
        stamp = os.stat(cache).st_mtime_ns
        second, _ = quantize(folder, "second", *options)
        expect_equal(os.stat(cache).st_mtime_ns, stamp, "time of the cache")
        expect(first == second == plain, "the cache changes the result")


@test()
def rows_that_are_not_enabled_keep_their_formats():
    with temp_folder() as folder:
        cache = os.path.join(folder, "cache.json")
        options = mixed(SensitivityCacheFile=cache)
        _, all_of_them = quantize(folder, "first", *options)
        with open(cache, encoding="utf-8") as file:
            written = json.load(file)
        written["results"][0]["enabled"] = False
        with open(cache, "w", encoding="utf-8") as file:
            json.dump(written, file)
        _, fewer = quantize(folder, "second", *options)
        count = len(written["results"])
        expect_equal(finding(all_of_them, "mixed-precision"), [f"promoted {count} of {count} candidate nodes"], "without an edit")
        expect_equal(finding(fewer, "mixed-precision"), [f"promoted {count - 1} of {count} candidate nodes"], "with a row left out")


@test()
def a_cache_of_something_else_is_made_anew_but_its_choices_count():
    with temp_folder() as folder:
        cache = os.path.join(folder, "cache.json")
        quantize(folder, "first", *mixed(SensitivityCacheFile=cache))
        with open(cache, encoding="utf-8") as file:
            written = json.load(file)
        own = written["cache_key"]
        written["cache_key"] = "0" * 64  # as the reference's, which is SHA-256
        written["results"][0].update(enabled=False, score=-1, all_config_scores=[-1])
        with open(cache, "w", encoding="utf-8") as file:
            json.dump(written, file)
        _, report = quantize(folder, "second", *mixed(SensitivityCacheFile=cache))
        expect(finding(report, "sensitivity-cache"), str(report["findings"]))
        with open(cache, encoding="utf-8") as file:
            again = json.load(file)
        expect_equal(again["cache_key"], own, "key")
        expect(min(row["score"] for row in again["results"]) >= 0, "a score of the foreign cache is kept")
        expect_equal([row["enabled"] for row in again["results"]].count(False), 1, "rows left out")


@test(cases=["l2", "kl", "cosine", "sqnr", "psnr"])
def metrics_have_the_names_of_the_reference(metric):
    with temp_folder() as folder:
        settings = os.path.join(folder, "settings.json")
        with open(settings, "w", encoding="utf-8") as file:  # as its dictionary form writes algorithms
            json.dump({"global_config": {"input_tensors": {"data_type": "Int16", "symmetric": True, "scale_type": "ScaleType.Float32",
                                                           "calibration_method": "CalibMethod.MinMax", "quant_granularity": "QuantGranularity.Tensor"},
                                         "weight": {"data_type": "Int8", "symmetric": True, "scale_type": "ScaleType.Float32",
                                                    "calibration_method": "CalibMethod.MinMax", "quant_granularity": "QuantGranularity.Tensor"}},
                       "specific_layer_config": [], "layer_type_config": [], "exclude": [], "use_external_data_format": False,
                       "algo_config": [{"name": "auto_mixprecision", "target_layer_config": {"input_tensors": "Int8Spec"}, "metric_default": metric,
                                        "metric_threshold": 1000, "include_layers": [], "exclude_layers": [], "worker_num": 2}]}, file)
        done = quarkq("quantize", MODEL, "--config", settings, "--calib", CALIB, "-o", os.path.join(folder, "out.onnx"))
        expect("promoted" in done.stdout + done.stderr, done.stdout + done.stderr)
