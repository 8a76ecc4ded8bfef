# SPDX-License-Identifier: MIT
"""The command line: help, listings, settings, reports, interruption."""
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper

import harness
from harness import expect, expect_equal, quarkq, run, temp_folder, test
from reference import conv_model, make_model, save_samples, weights

VERBS = ["quantize", "calibrate", "merge", "import", "convert", "optimize", "run", "evaluate", "inspect", "check", "analyze", "tune", "plan", "report", "list", "config", "completion", "man", "help"]


def small(folder):
    """A small model and samples: (model, calib, output)."""
    model = os.path.join(folder, "net.onnx")
    onnx.save(conv_model(), model)
    return model, save_samples(os.path.join(folder, "calib")), os.path.join(folder, "out.onnx")


@test()
def help_names_every_verb():
    begin = time.perf_counter()
    text = quarkq("--help").stdout
    milliseconds = (time.perf_counter() - begin) * 1e3
    for verb in VERBS:
        expect(re.search(rf"^\s+{verb}\s+\S", text, re.M), f"--help does not list {verb}")
    return f"{milliseconds:.1f} ms"


def waiting(folder, **variables):
    """GOMP_SPINCOUNT as the OpenMP runtime of a run reads it, None when it has its default."""
    model, calib, _ = small(folder)
    environment = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    result = run("run", model, "--inputs", calib, "--outputs", os.path.join(folder, "results"),
                 env=environment | {"OMP_DISPLAY_ENV": "verbose"} | variables)
    found = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", result.stderr)
    return int(found[-1]) if found else None


@test()
def threads_spin_shortly_and_then_sleep():
    """Longer than 0.05 ms makes everything several times slower on a busy machine (ADR 0003); the user's choice counts."""
    with temp_folder() as folder:
        expect_equal(waiting(folder), 1000, "turns")
        expect_equal(waiting(folder, GOMP_SPINCOUNT="77"), 77, "turns that the user asked for")
        expect_equal(waiting(folder, OMP_WAIT_POLICY="passive"), 0, "turns with OMP_WAIT_POLICY=passive")


@test(cases=VERBS)
def help_of_a_verb(verb):
    expect("--" in quarkq(verb, "--help").stdout, f"quarkq {verb} --help names no option")


@test()
def version():
    text = quarkq("--version").stdout
    expect(re.fullmatch(r"quarkq \d+\.\d+\.\d+\n(commit [0-9a-f]+(-dirty)?|without git), .+\n", text), f"--version printed {text!r}")


@test(cases=[("quantise", "quantize"), ("lst", "list"), ("evalute", "evaluate")])
def unknown_verb_gets_a_suggestion(case):
    wrong, right = case
    result = run(wrong)
    expect_equal(result.returncode, 2, "exit code")
    expect(re.search(rf"{wrong}.*\b{right}\b", result.stderr), f"no suggestion of {right} in {result.stderr!r}")


@test(cases=["presets", "options", "passes", "conversions", "listed-passes", "ops", "formats", "calibrators", "metrics", "heads", "quirks", "diagnostics"])
def listing(what):
    text = quarkq("list", what).stdout
    rows = json.loads(quarkq("list", what, "--json").stdout)
    expect(rows, f"quarkq list {what} --json is empty")
    expect_equal(len(text.splitlines()), len(rows) + 1, "lines of the text, its header included, against rows of the JSON")
    expect(all("name" in row for row in rows), "a row has no name")


@test()
def presets_include_the_documented_ones():
    names = {row["name"].upper() for row in json.loads(quarkq("list", "presets", "--json").stdout)}
    expect({"XINT8", "A8W8", "A16W8", "VINT8", "BF16"} <= names, f"presets missing from {sorted(names)}")


def settings_lines(text):
    """The settings file that `config show` printed, without the comments that say where each value comes from."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@test(cases=["xint8", "XINT8.yaml", "a8w8"])
def config_show_round_trip(preset):
    """The output of `config show` is a settings file with the same settings."""
    shown = quarkq("config", "show", preset).stdout
    with temp_folder() as folder:
        path = os.path.join(folder, "again.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(shown)
        again = quarkq("config", "show", path).stdout
        asked = [json.loads(quarkq("config", "show", source, "--json").stdout)["asked"] for source in (preset, path)]
    expect_equal(settings_lines(again), settings_lines(shown), "text shown of the shown text")
    expect_equal(asked[1]["quant_config"], asked[0]["quant_config"], "quant_config asked for")
    expect_equal(asked[1].get("extra_options"), asked[0].get("extra_options"), "extra_options asked for")


@test(cases=["xint8", "a8w8"])
def config_check_accepts(preset):
    expect_equal(quarkq("config", "check", preset).stdout, "ok\n", "what it says of a preset of its own")
    expect(isinstance(json.loads(quarkq("config", "check", preset, "--json").stdout)["findings"], list), "no list of findings")


@test()
def config_set_is_stronger():
    asked = json.loads(quarkq("config", "show", "a8w8", "--set", "per_channel=true", "--json").stdout)["asked"]
    expect_equal(asked["quant_config"]["per_channel"], True, "per_channel")


@test()
def json_and_report_files_agree():
    with temp_folder() as folder:
        model, calib, out = small(folder)
        report = os.path.join(folder, "report.json")
        result = quarkq("quantize", "--config", "xint8", "--calib", calib, "-o", out, "--json", "--report", report, model)
        printed = json.loads(result.stdout)
        with open(report, encoding="utf-8") as file:
            written = json.load(file)
        expect(os.path.exists(out), "no output was written")
    expect_equal(printed, written, "JSON on stdout and in the report")


@test()
def quiet_prints_nothing():
    with temp_folder() as folder:
        model, calib, out = small(folder)
        result = quarkq("quantize", "--config", "xint8", "--calib", calib, "-o", out, "--quiet", model)
        expect_equal((result.stdout, result.stderr), ("", ""), "stdout and stderr")


@test()
def pipe_gets_plain_lines():
    with temp_folder() as folder:
        model, calib, out = small(folder)
        result = quarkq("quantize", "--config", "xint8", "--calib", calib, "-o", out, model)
    expect("\r" not in result.stderr + result.stdout and "\033" not in result.stderr + result.stdout, "control characters in a pipe")
    expect("out.onnx" in result.stdout, f"the summary does not name the output: {result.stdout!r}")


@test()
def set_changes_the_result():
    with temp_folder() as folder:
        model, calib, out = small(folder)
        other = os.path.join(folder, "other.onnx")
        quarkq("quantize", "--config", "xint8", "--calib", calib, "-o", out, model)
        quarkq("quantize", "--config", "xint8", "--calib", calib, "-o", other, "--set", "activation_type=QuantType.QInt16",
               "--set", "calibrate_method=CalibrationMethod.MinMax", "--set", "enable_npu_cnn=false", model)
        types = [{one.data_type for one in onnx.load(path).graph.initializer if one.name.endswith("y_zero_point")} for path in (out, other)]
    expect(types[0] != types[1], f"--set did not change the activation's type, both have {types[0]}")


@test()
def limit_takes_the_first_samples():
    with temp_folder() as folder:
        model, calib, _ = small(folder)
        results = os.path.join(folder, "results")
        quarkq("run", model, "--inputs", calib, "--outputs", results, "--limit", 2)
        expect_equal(sorted(os.listdir(results)), ["0000.npy", "0001.npy"], "results")


@test()
def several_inputs_in_folders():
    """DIR/<input>/*.npy, with '/' and ':' in a name written '_'."""
    model = make_model([helper.make_node("Sub", ["in/a:0", "b"], ["y"])], [("in/a:0", [1, 4]), ("b", [1, 4])], [("y", [1, 4])])
    with temp_folder() as folder:
        path, results = os.path.join(folder, "two.onnx"), os.path.join(folder, "results")
        onnx.save(model, path)
        a = save_samples(os.path.join(folder, "in", "in_a_0"), shape=(1, 4), seed=1)
        b = save_samples(os.path.join(folder, "in", "b"), shape=(1, 4), seed=2)
        quarkq("run", path, "--inputs", os.path.join(folder, "in"), "--outputs", results)
        for file in os.listdir(a):
            wanted = np.load(os.path.join(a, file)) - np.load(os.path.join(b, file))
            expect(np.array_equal(np.load(os.path.join(results, file)), wanted), f"{file}: not the difference of its two inputs")


@test()
def config_check_looks_at_the_model():
    with temp_folder() as folder:
        model, _, _ = small(folder)
        settings = os.path.join(folder, "settings.yaml")
        with open(settings, "w") as file:
            file.write("preset: XINT8\nexclude: [no_such_node]\n")
        refused = run("config", "check", settings, "--model", model)
        expect_equal((refused.returncode, "no_such_node" in refused.stderr), (2, True), f"a name that is no node: {refused.stderr!r}")
        expect_equal(quarkq("config", "check", settings).stdout, "ok\n", "without a model")
        expect_equal(run("config", "check", settings, "--model", os.path.join(folder, "nowhere.onnx")).returncode, 2, "exit code without the model")


INTERRUPTED = {
    "quantize": lambda model, calib, out: ["quantize", model, "--config", "xint8_adaround", "--calib", calib, "-o", out, "--no-resume"],
    "calibrate": lambda model, calib, out: ["calibrate", model, "--config", "xint8", "--calib", calib, "-o", out],
    "optimize": lambda model, calib, out: ["optimize", model, "--config", "xint8", "-o", out],
    "convert": lambda model, calib, out: ["convert", model, out, "--pass", "fp32-to-fp16"],
    "analyze": lambda model, calib, out: ["analyze", model, "--config", "a8w8", "--calib", calib, "--min-cos", "1", "--write", out],
    "evaluate": lambda model, calib, out: ["evaluate", calib, calib, "--json", out],
}


@test(cases=sorted(INTERRUPTED))
def interrupts_at_any_moment(verb):
    """Ctrl-C at seeded random moments: either it was done, with a whole output, or it says 130 and leaves nothing."""
    random = np.random.default_rng(len(verb))
    stopped = 0
    with temp_folder() as folder:
        model, calib, out = small(folder)
        before = sorted(os.listdir(folder))
        arguments = INTERRUPTED[verb](model, calib, out)
        begin = time.perf_counter()
        quarkq(*arguments)
        whole = time.perf_counter() - begin
        for _ in range(8):
            for name in set(os.listdir(folder)) - set(before):
                os.remove(os.path.join(folder, name))
            process = subprocess.Popen([harness.QUARKQ, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(float(random.uniform(0.01, whole)))
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=60)
            left = sorted(set(os.listdir(folder)) - set(before))
            # Before main() runs nothing catches the signal: it then ends the process itself.
            expect(code in (0, 130, -signal.SIGINT), f"exit code {code}")
            expect_equal(left, [os.path.basename(out)] if code == 0 else [], f"files left with exit code {code}")
            stopped += code != 0
    return f"{stopped} of 8 stopped"


@test()
def interrupt_leaves_nothing():
    """Ctrl-C while calibrating: exit 130 soon, no output, no temporary."""
    channels, size = 64, 128
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["c0"], mode="nearest")]
    tensors = [numpy_helper.from_array(np.array([1, 1, 16, 16], np.float32), "scales")]
    for index in range(5):
        nodes.append(helper.make_node("Conv", [f"c{index}", f"w{index}"], [f"c{index + 1}"], pads=[1, 1, 1, 1]))
        tensors.append(weights(f"w{index}", channels, 8 if index == 0 else channels, 3, 3))
    model = make_model(nodes, [("x", [1, 8, 8, 8])], [("c5", [1, channels, size, size])], tensors)
    with temp_folder() as folder:
        path, out = os.path.join(folder, "slow.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(model, path)
        calib = save_samples(os.path.join(folder, "calib"), count=3000, shape=(1, 8, 8, 8))
        before = sorted(os.listdir(folder))
        process = subprocess.Popen([harness.QUARKQ, "quantize", "--config", "xint8", "--calib", calib, "-o", out, path],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = ""
        while "calibrate" not in said:
            line = process.stderr.readline()
            expect(line, f"ended before it calibrated: {said!r}")
            said += line
        time.sleep(0.5)
        expect(process.poll() is None, f"was done before it could be interrupted: {said!r}")
        process.send_signal(signal.SIGINT)
        begin = time.perf_counter()
        _, more = process.communicate(timeout=60)
        seconds = time.perf_counter() - begin
        left = sorted(os.listdir(folder))
    expect_equal(process.returncode, 130, "exit code")
    expect_equal(left, before, "files in the folder")
    expect("interrupted" in said + more, f"it did not say that it was interrupted: {more!r}")
    expect(seconds < 10, f"took {seconds:.1f} s to stop, less than 10 expected")
    return f"stopped after {seconds:.2f} s"
