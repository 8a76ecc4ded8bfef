# SPDX-License-Identifier: MIT
"""Habits of a shell: completion scripts, the manual page, colours, levels of messages, progress."""
import os
import re
import shutil
import subprocess

from harness import QUARKQ, ROOT, Skip, expect, expect_equal, on_terminal, quarkq, run, temp_folder, test
from test_cli import VERBS

EXAMPLE = os.path.join(ROOT, "examples", "digits")
WORDS = [  # what is typed, what is offered among others, what is not
    ("quarkq quan", "quantize", "run"),
    ("quarkq quantize --re", "--report", "--calib"),
    ("quarkq quantize --config xint8_ada", "xint8_adaround", "a8w8"),
    ("quarkq quantize --isa a", "avx2", "sse41"),
    ("quarkq list qu", "quirks", "presets"),
    ("quarkq help qu", "quantize", "run"),
    ("quarkq quantize --set per_ch", "per_channel", "Percentile"),
    ("quarkq optimize --pass fuse-ba", "fuse-batch-norm", "fuse-gelu"),
    ("quarkq quantize --config XINT8_ADA", "XINT8_ADAROUND", "xint8_adaround"),
    ("quarkq check --target x", "xint8", "a8w8"),
    ("quarkq check --target gen2-v", "gen2-vint8", "x2"),
    ("quarkq evaluate --metric map", "map50", "top1"),
    ("quarkq tune --metric top", "top5", "topK"),
    ("quarkq evaluate --head yolo", "yolov8", "map"),
    ("quarkq config sh", "show", "check"),
]


def script_of(shell, folder):
    path = os.path.join(folder, "quarkq." + shell)
    with open(path, "w") as file:
        file.write(quarkq("completion", shell).stdout)
    return path


def ask(command):
    result = subprocess.run(command, capture_output=True, text=True)
    expect_equal(result.returncode, 0, f"{command[:2]}: exit code with {result.stderr!r}")
    return result.stdout.split()


def need(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")


@test(cases=WORDS)
def bash_completes(case):
    typed, offered, other = case
    with temp_folder() as folder:
        found = ask(["bash", "-c", f'source {script_of("bash", folder)}; COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); '
                     '_quarkq; printf "%s\\n" "${COMPREPLY[@]}"'])
    expect(offered in found and other not in found, f"{typed}: offers {found}")


@test(cases=WORDS)
def fish_completes(case):
    need("fish")
    typed, offered, other = case
    with temp_folder() as folder:
        found = ask(["fish", "-c", f"source {script_of('fish', folder)}; complete -C '{typed}' | cut -f 1"])
    expect(offered in found and other not in found, f"{typed}: offers {found}")


@test(cases=["bash", "zsh", "fish"])
def completion_script_is_valid(shell):
    need(shell)
    with temp_folder() as folder:
        ask([shell, "-n", script_of(shell, folder)])


@test()
def unknown_shell_is_named():
    result = run("completion", "bsh")
    expect_equal(result.returncode, 2, "exit code")
    expect("did you mean bash?" in result.stderr, result.stderr)


@test()
def manual_page():
    page = quarkq("man").stdout
    for verb in VERBS:
        expect(f".SS quarkq {verb}\n" in page, f"{verb} is not in it")
    for word in (".SH NAME", ".SH EXIT STATUS", "\\-\\-log\\-level", "NO_COLOR"):
        expect(word in page, f"{word} is not in it")
    need("groff")
    with temp_folder() as folder:
        path = os.path.join(folder, "quarkq.1")
        with open(path, "w") as file:
            file.write(page)
        result = subprocess.run(["groff", "-man", "-ww", "-z", path], capture_output=True, text=True)
    expect_equal((result.returncode, result.stderr), (0, ""), "groff: exit code and warnings")


def stderr_on_terminal(arguments, environment):
    return on_terminal([QUARKQ, *arguments], environment=environment)[1]


@test(cases=[("colours", {}, True), ("NO_COLOR", {"NO_COLOR": "1"}, False), ("empty NO_COLOR", {"NO_COLOR": ""}, True), ("dumb", {"TERM": "dumb"}, False)])
def errors_are_red(case):
    _, environment, coloured = case
    text = stderr_on_terminal(["inspect", "nowhere.onnx"], environment)
    expect_equal("\033[1;31merror:\033[0m" in text, coloured, f"colour in {text!r}")
    expect("nowhere.onnx" in text, text)


def quantize(folder, *more):
    return run("quantize", os.path.join(EXAMPLE, "digits.onnx"), "--config", "xint8", "--calib", os.path.join(EXAMPLE, "calib"),
               "-o", os.path.join(folder, "out.onnx"), *more)


@test()
def a_bar_only_on_a_terminal():
    with temp_folder() as folder:
        arguments = ["quantize", os.path.join(EXAMPLE, "digits.onnx"), "--config", "xint8", "--calib", os.path.join(EXAMPLE, "calib"),
                     "-o", os.path.join(folder, "out.onnx")]
        expect("\r" in stderr_on_terminal(arguments, {}), "no bar on a terminal")
        expect("\r" not in quantize(folder).stderr, "control characters in a pipe")


@test(cases=["error", "warning", "notice", "info"])
def log_level(level):
    with temp_folder() as folder:
        # An option that has no effect is a warning, phases are of level info.
        result = quantize(folder, "--set", "ReplaceClip6Relu=true", "--set", "include_cle=false", "--log-level", level, "-v")
    expect_equal(result.returncode, 0, "exit code")
    found = ("quarkq: calibrate" in result.stderr, "quarkq: warning:" in result.stderr)
    expect_equal(found, (level == "info", level != "error"), f"phases and warnings in {result.stderr!r}")


@test()
def short_runs_log_no_phases():
    with temp_folder() as folder:
        result = quantize(folder)
    expect_equal(result.returncode, 0, "exit code")
    expect("quarkq: calibrate" not in result.stderr, f"phases of a short run in {result.stderr!r}")


@test()
def unknown_level_is_refused():
    result = run("list", "presets", "--log-level", "loud")
    expect_equal(result.returncode, 2, "exit code")
    expect("loud" in result.stderr, result.stderr)


def log_lines(path):
    """(level, phase, text) of each line; the time and the thread are there."""
    with open(path, encoding="utf-8") as file:
        found = [re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d \[(\w+)\] \[thread \d+\] \[(\w+)\] (.*)", line) for line in
                 file.read().splitlines()]
    expect(all(found), f"a line of another form in {path}")
    return [match.groups() for match in found]


@test()
def a_log_keeps_phases_findings_and_the_exit_code():
    with temp_folder() as folder:
        log = os.path.join(folder, "run.log")
        plain = quantize(folder, "--set", "ReplaceClip6Relu=true", "--set", "include_cle=false")
        logged = quantize(folder, "--set", "ReplaceClip6Relu=true", "--set", "include_cle=false", "--log-file", log)
        expect_equal((logged.returncode, logged.stderr), (0, plain.stderr), "what is printed")
        lines = log_lines(log)
        expect("quantize" in lines[0][2] and "exit code 0" in lines[-1][2], f"first and last line: {lines[0]}, {lines[-1]}")
        expect(("info", "calibrate", "begins") in lines, "the phase calibrate")
        expect(any(level == "warning" for level, _, _ in lines), "a warning")
        failed = run("quantize", os.path.join(folder, "absent.onnx"), "--config", "xint8", "--log-file", log, "-q")
        more = log_lines(log)[len(lines):]
        expect_equal(more[-1][2].split(" after")[0], f"exit code {failed.returncode}", "a second run follows in the same file")
        expect(any(level == "error" and "absent.onnx" in text for level, _, text in more), f"the error in {more}")


@test()
def a_log_is_kept_in_a_sandbox():
    with temp_folder() as folder:
        log = os.path.join(folder, "run.log")
        expect_equal(quantize(folder, "--log-file", log, "--sandbox").returncode, 0, "exit code")
        expect("exit code 0" in log_lines(log)[-1][2], "the last line")


@test()
def a_log_overwrites_no_input_and_makes_no_folder():
    model = os.path.join(EXAMPLE, "digits.onnx")
    with temp_folder() as folder:
        taken = quantize(folder, "--log-file", model)
        expect(taken.returncode == 2 and "is an input" in taken.stderr, taken.stderr)
        absent = quantize(folder, "--log-file", os.path.join(folder, "logs", "run.log"))
        expect(absent.returncode == 1 and "no folder" in absent.stderr, f"{absent.returncode}: {absent.stderr}")
        expect(not os.path.exists(os.path.join(folder, "logs")), "a folder was made")
