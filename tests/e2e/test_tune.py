# SPDX-License-Identifier: MIT
"""quarkq tune and plan: goals, settings that reproduce the result, state on disk, several processes, budgets."""
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from harness import QUARKQ, expect, expect_equal, quarkq, read_bytes, run, temp_folder, test
from reference import DIGITS
from test_rescue import Bench, massive_activation

MODEL = os.path.join(DIGITS, "digits.onnx")
CALIB = os.path.join(DIGITS, "calib")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")
BASE = ["tune", MODEL, "--config", "xint8", "--calib", CALIB, "--eval", EVAL]
TOP1 = [*BASE, "--labels", LABELS, "--metric", "top1"]
COSINE = [*BASE, "--metric", "cosine"]


def tune(*arguments):
    """(exit code, report, what it said)"""
    done = run(*arguments, "--json")
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@test()
def sensitivity_is_by_depth_and_its_blocks_are_tried():
    with temp_folder() as folder:
        bench = Bench(folder, massive_activation())
        held_back = os.path.join(folder, "eval")
        shutil.copytree(bench.calib, held_back)
        arguments = ["tune", bench.model, "--config", "xint8", "--target", "none", "--calib", bench.calib, "--eval", held_back, "--metric", "cosine",
                     "--set", "quarkq.on_collapse=warn", "-o", bench.path("out.onnx")]
        code, report, said = tune(*arguments, "--goal", "value>=0.99", "--max-wide", "0.5", "--max-islands", "1")
        layers = report["sensitivity"]
        expect(len(layers) > 2 and all(layer["node"].startswith("node ") for layer in layers), f"{code}: {layers} {said}")
        tried = [trial for trial in report["trials"] if trial["step"] == "sensitivity"]
        expect(tried and all(0 <= trial["excluded_macs"] <= 0.5 and trial["wide_macs"] >= trial["excluded_macs"] for trial in tried), str(tried))
        plain, best = report["trials"][0], max(tried, key=lambda trial: trial["value"])
        expect(best["value"] > plain["value"] + 0.1, f"cosine {plain['value']} with the worst block in float {best['value']}")
        page = bench.path("page.html")
        with open(bench.path("r.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
        quarkq("report", bench.path("r.json"), "-o", page, "--quiet")
        expect("Sensitivity by depth" in read_bytes(page).decode(), "no chart")
        return f"cosine {plain['value']:.3f} becomes {best['value']:.3f} by {best['name']}"


@test()
def stops_at_the_goal():
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        code, report, _ = tune(*TOP1, "--goal", "drop<=50%", "-o", out)
        expect_equal((code, report["met"], [trial["name"] for trial in report["trials"]]), (0, True, ["plain"]), "outcome")
        expect(os.path.exists(out), "no model was written")
        expect_equal(sorted(os.listdir(folder)), ["out.onnx", "out.yaml"], "what is left")
        score = json.loads(quarkq("evaluate", out, "--data", EVAL, "--labels", LABELS, "--metric", "top1", "--json").stdout)
        expect_equal(report["trials"][0]["value"], score["metrics"][0]["value"], "value of the trial")


@test()
def report_becomes_a_page():
    with temp_folder() as folder:
        report, page = os.path.join(folder, "r.json"), os.path.join(folder, "p.html")
        quarkq(*TOP1, "--goal", "drop<=50%", "-o", os.path.join(folder, "out.onnx"), "--report", report, "--quiet")
        quarkq("report", report, "-o", page, "--quiet")
        text = read_bytes(page).decode()
        expect("Tuning of digits.onnx" in text and "The goal drop&lt;=50% is met" in text, text[-3000:])


@test(cases=["tune", "plan"])
def goals_that_cannot_be_are_refused(verb):
    code, _, said = tune(verb, *COSINE[1:], "--goal", "drop<=1%")
    expect_equal(code, 2, "exit code")
    expect("compares with the float model, so it has no drop" in said, said)


@test()
def best_of_the_ladder_and_its_settings():
    with temp_folder() as folder:
        out, again = os.path.join(folder, "out.onnx"), os.path.join(folder, "again.onnx")
        code, report, said = tune(*COSINE, "--goal", "value>=1.5", "-o", out)
        expect_equal(code, 5, "exit code where the goal is missed")
        expect("the goal is value>=1.5" in said and out in said, said)
        values = [trial["value"] for trial in report["trials"] if not trial["why_not"]]
        expect(len(values) > 8, f"only {len(values)} trials")
        best = report["trials"][report["best"]]
        expect(best["accepted"] and best["value"] >= values[0], f"worse than the plain settings: {best}")
        better = [trial for trial in report["trials"] if not trial["why_not"] and trial["value"] > best["value"]]
        expect(all(trial["gain"]["low"] <= trial["gain"]["value"] <= trial["gain"]["high"] and not trial["accepted"] for trial in better), str(better))
        quarkq("quantize", MODEL, "--config", report["settings"], "--calib", CALIB, "-o", again)
        expect(read_bytes(out) == read_bytes(again), "quantize with the settings found makes another model")
        expect_equal(report["timed_out"], False, "timed out")


@test()
def steps_are_never_repeated():
    with temp_folder() as folder:
        out, state = os.path.join(folder, "out.onnx"), os.path.join(folder, "state")
        _, first, _ = tune(*COSINE, "-o", out, "--state", state)
        model = read_bytes(out)
        os.remove(out)
        started = time.monotonic()
        code, second, _ = tune(*COSINE, "-o", out, "--state", state)
        expect_equal(code, 0, "exit code")
        expect(all(trial["reused"] for trial in second["trials"]), "a trial was made again")
        expect(time.monotonic() - started < first["seconds"] + 5, "took as long as the first run")
        expect(read_bytes(out) == model, "another model")
        _, other, _ = tune(*COSINE, "-o", out, "--state", state, "--set", "CalibDataSize=8", "--goal", "value>=0.1")
        expect(not other["trials"][0]["reused"], "a trial with other settings was taken")


@test()
def several_processes_make_the_same_model():
    with temp_folder() as folder:
        alone = os.path.join(folder, "alone.onnx")
        tune(*COSINE, "-o", alone)
        for workers in (2, 4):
            state = os.path.join(folder, f"state{workers}")
            outs = [os.path.join(folder, f"{number} of {workers}", "alone.onnx") for number in range(workers)]
            for out in outs:
                os.makedirs(os.path.dirname(out))
            running = [subprocess.Popen([QUARKQ, *COSINE, "-o", out, "--state", state, "--threads", "1", "--json"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for out in outs]
            reports = [json.loads(one.communicate(timeout=300)[0]) for one in running]
            made = sum(not trial["reused"] for report in reports for trial in report["trials"])
            expect_equal(made, len(reports[0]["trials"]), f"trials made by all of {workers}")
            for out in outs:
                expect(read_bytes(out) == read_bytes(alone), f"{out} is another model than that of one process")


def finished_trials(out):
    """{file: when it was written} of the trials that are done."""
    found = {}
    for folder, _, files in os.walk(out + ".tune"):
        if "trial.json" in files:
            path = os.path.join(folder, "trial.json")
            found[path] = os.stat(path).st_mtime_ns
    return found


@test()
def a_killed_run_leaves_a_valid_model_and_goes_on():
    """At 20 random moments: what was finished is never made again."""
    rng = random.Random(5)
    with temp_folder() as folder:
        out, unkilled = os.path.join(folder, "out.onnx"), os.path.join(folder, "unkilled.onnx")
        started = time.monotonic()
        tune(*COSINE, "-o", unkilled)
        whole = time.monotonic() - started
        valid, before = 0, {}
        for _ in range(20):
            process = subprocess.Popen([QUARKQ, *COSINE, "-o", out, "--quiet"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, whole / 8))
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:  # it was done, and its trials are gone
                before = {}
                continue
            if os.path.exists(out):
                quarkq("run", out, "--inputs", EVAL, "--outputs", os.path.join(folder, "results"), "--limit", "1", "--quiet")
                valid += 1
            now = finished_trials(out)
            expect(before.items() <= now.items(), f"finished trials are gone or were made again: {before} {now}")
            before = now
        code, report, _ = tune(*COSINE, "-o", out)
        expect_equal(code, 0, "exit code")
        expect_equal(sum(trial["reused"] for trial in report["trials"]), len(before), "finished trials that are taken over")
        expect(valid > 5 and not os.path.exists(out + ".tune"), f"{valid} kills left a model")
        expect(read_bytes(out) == read_bytes(unkilled), "another model than that of a run without kills")
        return f"{valid} of 20 kills left a model, {len(before)} of {len(report['trials'])} trials were taken over"


@test(cases=[("xint8", "cosine"), ("a8w8", "cosine"), ("a16w8", "sqnr"), ("vint8", "l2"), ("bf16", "psnr"), ("s8s8_aaws", "cosine"), ("xint8", "top1"),
             ("u8u8_aawa", "top1")])
def never_worse_than_the_plain_settings(case):
    preset, metric = case
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        labels = ["--labels", LABELS] if metric == "top1" else []
        code, report, said = tune("tune", MODEL, "--config", preset, "--calib", CALIB, "--eval", EVAL, *labels, "--metric", metric, "--time", "4s", "-o", out)
        expect_equal(code, 0, said)
        plain, best = report["trials"][0]["value"], report["trials"][report["best"]]["value"]
        expect(best <= plain if report["metric"]["better"] == "lower" else best >= plain, f"{metric}: plain {plain}, best {best}")
        sides = [out] if metric == "top1" else ["--float", MODEL, "--quantized", out]
        score = json.loads(quarkq("evaluate", *sides, "--data", EVAL, *labels, "--metric", metric, "--json").stdout)
        expect_equal(score["metrics"][0]["value"], best, "value of the model that was written")
        return f"{metric} {plain:.6g} becomes {best:.6g} in {len(report['trials'])} trials"


@test()
def time_is_kept_and_what_is_left_is_named():
    with temp_folder() as folder:
        out = os.path.join(folder, "out.onnx")
        code, report, _ = tune(*COSINE, "--goal", "value>=1.5", "--time", "0.05s", "-o", out)
        expect_equal((code, report["timed_out"]), (5, True), "outcome")
        expect_equal(report["trials"][0]["name"], "plain", "what is always tried")
        expect("adaround" in report["next"], f"next: {report['next']}")
        expect(os.path.exists(out), "no model was written")


@test()
def a_command_judges():
    with temp_folder() as folder:
        script, out = os.path.join(folder, "score.py"), os.path.join(folder, "out.onnx")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import os, sys\nprint(len(os.listdir(sys.argv[1])))\n")
        command = f"'{sys.executable}' '{script}' {{results}}"
        with open(LABELS, encoding="utf-8") as file:
            rows = len(list(csv.DictReader(file)))
        code, report, _ = tune(*BASE, "--metric-cmd", command, "--goal", f"value>={rows}", "-o", out)
        expect_equal((code, report["trials"][0]["value"], report["float_value"]), (0, rows, rows), "outcome")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import sys\nsys.exit('no score')\n")
        code, _, said = tune(*BASE, "--metric-cmd", command, "--goal", "value>=1", "-o", out)
        expect(code == 4 and "no score" in said, f"{code}: {said}")


@test()
def same_samples_are_warned_of():
    with temp_folder() as folder:
        done = run("tune", MODEL, "--config", "xint8", "--calib", CALIB, "--eval", CALIB, "--metric", "cosine", "--goal", "value>=0.1",
                   "-o", os.path.join(folder, "out.onnx"))
        expect_equal(done.returncode, 0, "exit code")
        expect("pass other samples with --eval DIR" in done.stderr and CALIB in done.stderr, done.stderr)
        expect("goal       value>=0.1: met" in done.stdout, done.stdout)


@test(cases=[("no metric", [*BASE], "allowed is one --metric"), ("two metrics", [*TOP1, "--metric", "top5"], "found 2 metrics"),
             ("no labels", [*BASE, "--metric", "top1"], "needs --labels"), ("goal", [*TOP1, "--goal", "top1>0.5"], "--goal: found top1>0.5"),
             ("drop of a comparison", [*COSINE, "--goal", "drop<=1%"], "has no drop"), ("time", [*TOP1, "--time", "soon"], "--time: found soon"),
             ("compat", [*TOP1, "--set", "quarkq.compat=quark-0.13"], "allowed is the default mode"),
             ("output is the model", [*TOP1, "-o", MODEL], "digits.onnx")])
def wrong_requests(case):
    _, arguments, words = case
    with temp_folder() as folder:
        done = run(*arguments, *([] if "-o" in arguments else ["-o", os.path.join(folder, "out.onnx")]))
        expect(done.returncode == 2 and words in done.stderr, f"{done.returncode}: {done.stderr}")
        expect_equal(os.listdir(folder), [], "what is left")


@test()
def plan_says_what_tune_would_do():
    with temp_folder() as folder:
        arguments = [*COSINE[1:], "--target", "none", "-o", os.path.join(folder, "out.onnx")]
        plan = json.loads(quarkq("plan", *arguments, "--json").stdout)
        expect_equal([step["name"] for step in plan["steps"]], ["plain", "rescued", "ranges", "weights", "sensitivity", "wider", "adaround", "blocks"],
                     "steps")
        expect(all(step["seconds"] > 0 and step["what"] and step["risk"] and step["trials"] for step in plan["steps"]), str(plan))
        for words in (["tune", *arguments, "--dry-run"], ["plan", *arguments]):
            text = quarkq(*words).stdout
            expect("Nothing was written" in text and "adaround" in text, text)
        expect_equal(os.listdir(folder), [], "what is left")


@test(cases=["a8w8", "xint8"])
def a_collapsed_result_is_tuned(config):
    """The plain result is useless, and the ladder is climbed until the goal is met."""
    with temp_folder() as folder:
        bench = Bench(folder, massive_activation())
        held_back = os.path.join(folder, "eval")
        shutil.copytree(bench.calib, held_back)
        for name in sorted(os.listdir(held_back))[:4]:
            os.remove(os.path.join(held_back, name))
            os.rename(os.path.join(bench.calib, name), os.path.join(bench.calib, "c" + name))
        arguments = ["tune", bench.model, "--config", config, "--target", "none", "--calib", bench.calib, "--eval", held_back, "--metric", "cosine", "-o",
                     bench.path("out.onnx")]
        code, report, _ = tune(*arguments, "--goal", "value>=0.97")
        expect_equal(code, 0, "exit code")
        plain, best = report["trials"][0], report["trials"][report["best"]]
        expect(plain["value"] < 0.9 < 0.97 <= best["value"], f"cosine {plain['value']} becomes {best['value']}")
        if config == "xint8":  # in A8W8 it is the Mul and the Add that have 16 bits, which multiply and accumulate nothing
            expect(best["wide_macs"] > 0 and plain["wide_macs"] == 0, f"wide shares {plain['wide_macs']}, {best['wide_macs']}")
        expect(report["trials"][-1] is best, "trials went on after the goal was met")
        code, kept, _ = tune(*arguments, "--goal", "value>=0.97", "--max-wide", "0.0001", "--time", "20s")
        expect(all(trial["wide_macs"] <= 0.0001 for trial in kept["trials"]), "a limit was passed")
    return f"cosine {plain['value']:.3f} becomes {best['value']:.3f} by {best['name']}"
