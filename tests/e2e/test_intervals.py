# SPDX-License-Identifier: MIT
"""Scores have error bars, gates apply to them with --confidence, and tune keeps a step only if it is better beyond noise."""
import json
import os

import numpy as np

from harness import expect, expect_equal, expect_error, quantize, quarkq, run, temp_folder, test
from reference import DIGITS

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")


def labelled(folder, right, count, name="results", classes=4, seed=0):
    """Results of which the first `right` of `count` have the right class, and their labels."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    results = os.path.join(folder, name)
    os.makedirs(results)
    for i, label in enumerate(labels):
        scores = generator.uniform(0, 0.5, classes)
        scores[label if i < right else (label + 1) % classes] = 1
        np.save(os.path.join(results, f"{i:05d}.npy"), scores[np.newaxis].astype(np.float32))
    truth = os.path.join(folder, "labels.npy")
    np.save(truth, labels.astype(np.int64))
    return results, truth


def score(*arguments):
    report = json.loads(quarkq("evaluate", *arguments, "--json").stdout)
    return {row["name"]: row for row in report["metrics"]}, report


def bootstrap(values, rounds=4000):
    """The 95 % interval of a mean by numpy."""
    values = np.asarray(values, float)
    rows = np.random.default_rng(1).integers(0, len(values), (rounds, len(values)))
    return np.quantile(values[rows].mean(axis=1), [0.025, 0.975])


@test()
def a_share_has_the_interval_of_numpys_bootstrap():
    with temp_folder() as folder:
        results, truth = labelled(folder, 150, 200)
        row, report = score(results, "--metric", "top1", "--metric", "f1", "--metric", "bits", "--labels", truth)
        low, high = bootstrap([1] * 150 + [0] * 50)
        found = row["top1"]["interval"]
        expect(abs(found["low"] - low) <= 0.011 and abs(found["high"] - high) <= 0.011, f"{found}, numpy {low} to {high}")
        for name, one in row.items():
            expect(one["interval"]["low"] < one["value"] < one["interval"]["high"], f"{name}: {one}")
            expect_equal((one["baseline_interval"], one["difference"]), (None, None), "of the baseline that is not there")
        expect_equal(report["confidence"], 0.95, "confidence")
        text = quarkq("evaluate", results, "--metric", "top1", "--labels", truth).stdout
        expect("95 % interval" in text and f"{found['low']:.4g} to {found['high']:.4g}" in text, text)
        again = quarkq("evaluate", results, "--metric", "top1", "--metric", "f1", "--metric", "bits", "--labels", truth, "--json", "--threads", "1").stdout
        expect_equal(json.loads(again), report, "the same with one thread")
        return f"{found['low']:.4f} to {found['high']:.4f}, numpy {low:.4f} to {high:.4f}"


@test()
def two_sides_are_compared_in_pairs():
    with temp_folder() as folder:
        baseline, truth = labelled(folder, 150, 200, "baseline")
        for right, mcnemar, differs in ((150, 1, False), (147, 0.25, False), (140, 2 * 0.5**10, True)):
            results, _ = labelled(folder, right, 200, f"results{right}")
            row = score(baseline, results, "--metric", "top1", "--labels", truth)[0]["top1"]
            found = row["difference"]
            expect_equal((row["baseline"], round(found["value"], 9)), (0.75, round((right - 150) / 200, 9)), "values")
            expect(abs(found["mcnemar"] - mcnemar) < 1e-12, f"{found}, expected p {mcnemar}")
            expect((found["high"] < 0) == differs, f"{right} of 200: {found}")
            expect(found["high"] - found["low"] < row["interval"]["high"] - row["interval"]["low"], "pairs are no narrower than one side")
            report = json.loads(quarkq("evaluate", baseline, results, "--labels", truth, "--json").stdout)["accuracy"]
            top = report["top"][0]
            expect_equal((top["difference"], top["quantized_interval"], report["confidence"]), (found, row["interval"], 0.95), "accuracy of the comparison")
        text = quarkq("evaluate", baseline, results, "--labels", truth).stdout
        expect("Top-1 difference: -0.05 (" in text and "95 % interval" in text and "95 % intervals of the means: cos " in text, text)


@test()
def sides_of_other_samples_have_no_difference():
    with temp_folder() as folder:
        baseline, truth = labelled(folder, 8, 12, "baseline")
        results, _ = labelled(folder, 8, 12, "results")
        os.rename(os.path.join(results, "00011.npy"), os.path.join(results, "00012.npy"))
        expect_equal(score(baseline, results, "--metric", "top1", "--labels", truth)[0]["top1"]["difference"], None, "difference")


@test()
def gates_apply_to_the_end_of_the_interval():
    with temp_folder() as folder:
        results, truth = labelled(folder, 156, 200)  # 0.78
        base = ["evaluate", results, "--metric", "top1", "--labels", truth]
        expect_equal(run(*base, "--require", "top1>=0.75").returncode, 0, "the value passes")
        expect_equal(run(*base, "--require", "top1>=0.70", "--confidence", "0.95").returncode, 0, "the interval passes")
        expect_error(run(*base, "--require", "top1>=0.75", "--confidence", "0.95"), 5, "not enough samples to tell, there are 200, about 810 are enough")
        expect_error(run(*base, "--require", "top1>=0.79", "--confidence", "0.95"), 5, "top1 is 0.78, required is at least 0.79")
        expect_error(run(*base, "--require", "top1<=0.80", "--confidence", "0.95"), 5, "required is at most 0.8: not enough samples")
        expect_equal(run(*base, "--require", "top1>=0.76", "--confidence", "0.5").returncode, 0, "a narrower interval")
        expect_error(run(*base, "--require", "top1>=0.75", "--confidence", "1"), 2, "--confidence")
        pairs = ["evaluate", results, results, "--labels", truth, "--min-top1", "0.75"]
        expect_equal(run(*pairs).returncode, 0, "--min-top1 by the value")
        expect_error(run(*pairs, "--confidence", "0.95"), 5, "top-1 of the quantized model is 0.78 with a 95 % interval of")


@test()
def so_many_samples_are_enough():
    """What the message of the gate promises."""
    with temp_folder() as folder:
        results, truth = labelled(folder, 632, 810)
        expect_equal(run("evaluate", results, "--metric", "top1", "--labels", truth, "--require", "top1>=0.75", "--confidence", "0.95").returncode, 0, "exit code")


@test()
def one_sample_or_a_command_has_no_interval():
    with temp_folder() as folder:
        results, truth = labelled(folder, 1, 1)
        row = score(results, "--metric", "top1", "--labels", truth, "--metric-cmd", "echo 0.5")[0]
        expect_equal([row[name]["interval"] for name in ("top1", "command")], [None, None], "intervals")
        base = ["evaluate", results, "--metric-cmd", "echo 0.5", "--require", "command>=0.4"]
        expect_equal(run(*base).returncode, 0, "by the value")
        expect_error(run(*base, "--confidence", "0.95"), 5, "without an interval")


@test()
def all_right_is_not_certain():
    with temp_folder() as folder:
        results, truth = labelled(folder, 20, 20)
        found = score(results, "--metric", "top1", "--labels", truth)[0]["top1"]["interval"]
        expect(abs(found["low"] - 0.025 ** (1 / 20)) < 1e-9 and found["high"] == 1, str(found))


@test()
def models_have_intervals_too():
    with temp_folder() as folder:
        out = os.path.join(folder, "q.onnx")
        quantize(MODEL, out, CALIB, "xint8")
        rows = score("--float", MODEL, "--quantized", out, "--data", EVAL, "--labels", LABELS, "--metric", "top1", "--metric", "sqnr")[0]
        expect(rows["top1"]["difference"]["mcnemar"] <= 1 and rows["top1"]["baseline_interval"]["low"] < rows["top1"]["baseline"], str(rows["top1"]))
        expect(rows["sqnr"]["interval"]["low"] < rows["sqnr"]["value"] < rows["sqnr"]["interval"]["high"], str(rows["sqnr"]))
        report = json.loads(quarkq("evaluate", "--float", MODEL, "--quantized", out, "--data", EVAL, "--json").stdout)
        for name, interval in report["intervals"].items():
            expect(interval["low"] <= report[name] <= interval["high"], f"{name}: {report[name]} {interval}")
        narrow = ["evaluate", "--float", MODEL, "--quantized", out, "--data", EVAL, "--confidence", "0.8"]
        expect("\n80 % intervals of the means: cos " in quarkq(*narrow).stdout, "the confidence is not printed")
        least = json.loads(quarkq(*narrow, "--json").stdout)
        low, wide = least["intervals"]["mean_l2"], report["intervals"]["mean_l2"]
        expect(wide["low"] < low["low"] < low["high"] < wide["high"] and least["confidence"] == 0.8, f"{wide} {low}")


def tuned(folder, *more):
    out, path = os.path.join(folder, "out.onnx"), os.path.join(folder, "report.json")
    done = run("tune", MODEL, "--config", "xint8", "--calib", CALIB, "--eval", EVAL, "-o", out, "--report", path, *more)
    with open(path, encoding="utf-8") as file:
        return done, json.load(file)


@test(cases=[["--metric", "top1", "--labels", LABELS], ["--metric", "cosine"]])
def tune_keeps_a_step_only_beyond_noise(metric):
    with temp_folder() as folder:
        done, report = tuned(folder, *metric)
        expect_equal(done.returncode, 0, done.stderr)
        best, within = None, 0
        for trial in report["trials"]:
            if trial["why_not"]:
                continue
            expect(trial["interval"]["low"] <= trial["value"] <= trial["interval"]["high"], str(trial))
            if best is not None and not trial["accepted"]:
                within += trial["value"] > best["value"] and trial["gain"]["low"] <= 0
            if not trial["accepted"]:
                continue
            if best is not None:
                beyond = trial["gain"]["low"] > 0 and (trial["gain"]["mcnemar"] or 0) <= 0.05
                cheaper = trial["value"] >= best["value"] and (trial["wide_macs"] < best["wide_macs"] or trial["bytes"] < best["bytes"])
                expect(beyond or cheaper, f"{trial['name']} was kept: {trial['gain']}")
            best = trial
        expect_equal(report["trials"][report["best"]], best, "the best trial")
        quarkq("report", os.path.join(folder, "report.json"), "-o", os.path.join(folder, "page.html"), "--quiet")
        with open(os.path.join(folder, "page.html"), encoding="utf-8") as file:
            page = file.read()
        expect("A step within noise is not kept." in page and f"{best['interval']['low']:.3g}"[:4] in page, "intervals on the page")
        return f"{sum(trial['accepted'] for trial in report['trials'])} kept, {within} better within noise"


@test()
def a_goal_with_a_confidence_needs_enough_samples():
    with temp_folder() as folder:
        arguments = ["--metric", "top1", "--labels", LABELS, "--limit", "40", "--time", "0.1s"]
        done, report = tuned(folder, *arguments, "--goal", "value>=0.9")
        expect_equal((done.returncode, report["met"], report["not_enough_samples"]), (0, True, False), "by the value")
        done, report = tuned(folder, *arguments, "--goal", "value>=0.9", "--confidence", "0.95")
        if report["trials"][report["best"]]["interval"]["low"] < 0.9:
            expect_error(done, 5, "not enough samples to tell, there are 40")
            expect_equal((report["met"], report["not_enough_samples"]), (False, True), "in the report")
        done, report = tuned(folder, *arguments, "--goal", "drop<=50%", "--confidence", "0.95")
        expect_equal((done.returncode, report["met"]), (0, True), "a drop of which the interval is far away")
        expect(report["change"]["low"] <= report["change"]["value"] <= report["change"]["high"], str(report["change"]))
