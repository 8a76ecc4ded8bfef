# SPDX-License-Identifier: MIT
"""SECURITY.md: an input is never overwritten. All pairs of an input and an output of each verb, given as the same file: exit code 2, the
file stays as it is, and nothing else is written."""
import os
import shutil

import onnx

from harness import contents, expect, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS

REFUSED = "is an input, which is never overwritten"
SAMPLE, WEIGHTS = "calib/000.npy", "w.bin"
JOB = {"model": "e.onnx", "external data": WEIGHTS, "settings": "s.yaml", "sample": SAMPLE}
LISTED = {"model": "m.onnx", "settings": "list.yaml", "list": "list.txt", "listed sample": SAMPLE, "target file": "target.yaml"}
SCORED = {**JOB, "evaluation sample": "eval/inputs/000.npy", "labels": "eval/labels.csv"}

# verb: (command without outputs, {input: file}, outputs that the command may have; the first is required). {}: the file.
VERBS = {
    "quantize": ("quantize e.onnx -c s.yaml --calib calib", JOB, ["-o {}", "--report {}", "--json={}"]),
    "quantize listed": ("quantize m.onnx -c list.yaml", LISTED, ["-o {}", "--report {}", "--json={}"]),
    "quantize with statistics": ("quantize m.onnx -c xint8 --stats st.qqstats", {"statistics": "st.qqstats"}, ["-o {}", "--report {}"]),
    "quantize dry": ("quantize e.onnx -c s.yaml --calib calib --dry-run", JOB, ["--json={}"]),
    "calibrate": ("calibrate e.onnx -c s.yaml --calib calib", JOB, ["-o {}", "--json={}"]),
    "merge": ("merge st.qqstats", {"part": "st.qqstats"}, ["-o {}", "--json={}"]),
    "import": ("import q.onnx --target x1", {"model": "q.onnx"}, ["-o {}", "--json={}"]),
    "convert": ("convert e.onnx", {"model": "e.onnx", "external data": WEIGHTS}, ["{}", "-o {}"]),
    "optimize": ("optimize e.onnx -c s.yaml --calib calib", JOB, ["-o {}", "--json={}"]),
    "run": ("run e.onnx --inputs calib --outputs results", {"model": "e.onnx", "external data": WEIGHTS, "sample": SAMPLE}, ["--json={}"]),
    "evaluate folders": ("evaluate calib eval/inputs --labels eval/labels.csv", {"a result": SAMPLE, "another": "eval/inputs/000.npy", "labels": "eval/labels.csv"},
                         ["--json={}", "--csv {}"]),
    "evaluate models": ("evaluate --float e.onnx --quantized q.onnx --data calib -c s.yaml", {**JOB, "quantized model": "q.onnx"},
                        ["--json={}", "--csv {}", "--layers-csv {}"]),
    "score": ("evaluate --quantized q.onnx --data eval/inputs --labels eval/labels.csv --metric top1",
              {"model": "q.onnx", "sample": "eval/inputs/000.npy", "labels": "eval/labels.csv"}, ["--json={}"]),
    "inspect": ("inspect e.onnx", {"model": "e.onnx", "external data": WEIGHTS}, ["--json={}"]),
    "check": ("check q.onnx --target target.yaml", {"model": "q.onnx", "target": "target.yaml"}, ["--json={}", "--report {}"]),
    "analyze": ("analyze e.onnx -c s.yaml --target none --calib calib --min-cos 0.5", JOB, ["--json={}", "--write {}"]),
    "tune": ("tune e.onnx -c s.yaml --calib calib --eval eval/inputs --labels eval/labels.csv --metric top1", SCORED,
             ["-o {}", "--report {}", "--json={}"]),
    "report": ("report report.json", {"report": "report.json"}, ["-o {}"]),
    "config show": ("config show s.yaml", {"settings": "s.yaml"}, ["--json={}"]),
    "config check": ("config check s.yaml --model e.onnx", {"settings": "s.yaml", "model": "e.onnx", "external data": WEIGHTS}, ["--json={}"]),
}
DEFAULT_OUTPUTS = {"calibrate": "-o out.qqstats", "merge": "-o out.qqstats", "import": "-o out.onnx", "convert": "", "optimize": "-o out.onnx"}


def fill(folder):
    """Every input of the table."""
    model = os.path.join(DIGITS, "digits.onnx")
    shutil.copy(model, os.path.join(folder, "m.onnx"))
    onnx.save(onnx.load(model), os.path.join(folder, "e.onnx"), save_as_external_data=True, location=WEIGHTS, size_threshold=0)
    shutil.copytree(os.path.join(DIGITS, "calib"), os.path.join(folder, "calib"))
    shutil.copytree(os.path.join(DIGITS, "eval"), os.path.join(folder, "eval"))
    texts = {"s.yaml": "preset: XINT8\n", "list.txt": "calib/000.npy\ncalib/001.npy\n",
             "list.yaml": "preset: XINT8\ntarget: target.yaml\ncalibration: {list: list.txt}\n"}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    root = os.path.join(os.path.dirname(DIGITS), "..", "configs", "targets")
    shutil.copy(os.path.join(root, "x1.yaml"), os.path.join(folder, "target.yaml"))
    quarkq("quantize", "m.onnx", "-c", "xint8", "--calib", "calib", "-o", "q.onnx", "--report", "report.json", "-q", cwd=folder)
    quarkq("calibrate", "m.onnx", "-c", "xint8", "--calib", "calib", "-o", "st.qqstats", "-q", cwd=folder)


def refused(folder, before, *words, of):
    done = run(*words, cwd=folder)
    expect(done.returncode == 2 and REFUSED in done.stderr, f"{of}: exit code {done.returncode}, {done.stderr.strip()[-300:]}")
    expect_equal(contents(folder), before, f"{of}: files afterwards")


@test(cases=list(VERBS))
def no_output_replaces_an_input(verb):
    command, inputs, outputs = VERBS[verb]
    with temp_folder() as folder:
        fill(folder)
        before = contents(folder)
        for what, file in inputs.items():
            for output in outputs:
                default = "" if output.startswith(("-o", "{}")) else DEFAULT_OUTPUTS.get(verb, "")
                refused(folder, before, *command.split(), *output.format(file).split(), *default.split(), of=f"{what} as {output.format(file)}")
    return f"{len(inputs) * len(outputs)} pairs"


@test()
def other_names_of_an_input_are_the_same_file():
    with temp_folder() as folder:
        fill(folder)
        os.link(os.path.join(folder, "m.onnx"), os.path.join(folder, "hard.onnx"))
        os.symlink("m.onnx", os.path.join(folder, "soft.onnx"))
        os.symlink("calib", os.path.join(folder, "samples"))
        before = contents(folder)
        for name in ("./calib/../m.onnx", os.path.join(folder, "m.onnx"), "hard.onnx", "soft.onnx", "samples/000.npy"):
            refused(folder, before, "quantize", "m.onnx", "-c", "xint8", "--calib", "calib", "-o", name, of=name)
            refused(folder, before, "calibrate", "m.onnx", "-c", "xint8", "--calib", "samples", "-o", "out.st", "--json=" + name, of=name)


@test(cases=["--outputs", "--state", "--workers-folder", "--deploy"])
def a_folder_of_samples_is_not_filled(option):
    command = {"--outputs": "run m.onnx --inputs calib", "--state": "tune m.onnx -c xint8 --calib calib --eval eval/inputs --metric cosine -o t.onnx",
               "--workers-folder": "quantize m.onnx -c xint8_adaround --calib calib -o q2.onnx",
               "--deploy": "quantize m.onnx --target x1 --calib calib -o q2.onnx"}[option]
    with temp_folder() as folder:
        fill(folder)
        before = contents(folder)
        refused(folder, before, *command.split(), option, "calib", of=option)
        refused(folder, before, *command.split(), option, "eval/../calib/.", of=option)


@test(cases=["SensitivityCacheFile", "TensorsRangeFile", "SaveAndRestore"])
def settings_do_not_name_an_input_as_a_result(key):
    """They may not write over a sample either, whether their file is read first or not."""
    with temp_folder() as folder:
        fill(folder)
        before = contents(folder)
        value = f"AutoMixprecision={{SensitivityCacheFile: {SAMPLE}}}" if key == "SensitivityCacheFile" else f"{key}={SAMPLE}"
        refused(folder, before, "quantize", "m.onnx", "-c", "a8w8", "--calib", "calib", "-o", "o.onnx", "--set", value, of=key)


@test()
def results_of_two_outputs_do_not_hit_inputs_below_the_folder():
    """Folders of results are named after outputs, so a result may have the place of an input."""
    with temp_folder() as folder:
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Relu", ["x"], ["calib"]), onnx.helper.make_node("Neg", ["x"], ["other"])], "g",
            [onnx.helper.make_tensor_value_info("x", 1, [1, 1, 8, 8])],
            [onnx.helper.make_tensor_value_info(name, 1, [1, 1, 8, 8]) for name in ("calib", "other")])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), os.path.join(folder, "m.onnx"))
        shutil.copytree(os.path.join(DIGITS, "calib"), os.path.join(folder, "calib"))
        before = contents(folder)
        refused(folder, before, "run", "m.onnx", "--inputs", "calib", "--outputs", ".", of="--outputs .")


@test()
def what_is_no_input_is_replaced_as_ever():
    with temp_folder() as folder:
        fill(folder)
        for _ in range(2):
            quarkq("quantize", "m.onnx", "-c", "s.yaml", "--calib", "calib", "-o", "o.onnx", "--report", "o.json", "--set", "use_external_data_format=true", cwd=folder)
            quarkq("tune", "e.onnx", "-c", "s.yaml", "--calib", "calib", "--eval", "calib", "--metric", "cosine", "--goal", "value>=0.5", "-o", "t.onnx", cwd=folder)
            quarkq("run", "m.onnx", "--inputs", "calib", "--outputs", "results", "--json=times.json", "-q", cwd=folder)
            quarkq("quantize", "m.onnx", "-c", "a8w8", "--calib", "calib", "-o", "calib/new.onnx", "--set", "SaveAndRestore=ranges.json", cwd=folder)
        expect(os.path.exists(os.path.join(folder, "o.onnx.data")), "external data of the result")
