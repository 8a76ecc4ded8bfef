# SPDX-License-Identifier: MIT
"""The hook for pre-commit and the action that gate models of a repository: their files are valid, and their commands do what they promise."""
import glob
import os
import re
import subprocess

import yaml

from harness import QUARKQ, ROOT, Skip, expect, expect_equal, quarkq, temp_folder, test
from samples import DIGITS, DIGITS_MODEL

GATE = os.path.join(ROOT, "packaging", "pre_commit", "gate.sh")
ACTION = os.path.join(ROOT, "packaging", "gate", "action.yml")
EVAL, LABELS = os.path.join(DIGITS, "eval", "inputs"), os.path.join(DIGITS, "eval", "labels.csv")


def parsed(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def model_in(folder, name="digits_quantized.onnx"):
    path = os.path.join(folder, name)
    quarkq("quantize", "--quiet", "--config", "xint8", "--calib", os.path.join(DIGITS, "calib"), "-o", path, DIGITS_MODEL)
    return path


def hooked(hook, *arguments, program=QUARKQ):
    """The hook's command as pre-commit runs it: the entry, args of the user's file, the files."""
    variables = {name: value for name, value in os.environ.items() if name != "QUARKQ"}
    return subprocess.run([os.path.join(ROOT, hook["entry"].split()[0]), *hook["entry"].split()[1:], *arguments], capture_output=True, text=True, check=False,
                          env={**variables, **({"QUARKQ": program} if program else {"PATH": "/usr/bin:/bin", "PYTHONPATH": ""})})


def hooks():
    return {hook["id"]: hook for hook in parsed(os.path.join(ROOT, ".pre-commit-hooks.yaml"))}


@test()
def the_hooks_are_valid():
    expect_equal(sorted(hooks()), ["quarkq-check", "quarkq-evaluate"], "ids")
    for name, hook in hooks().items():
        expect_equal([key for key in ("id", "name", "entry", "language") if not isinstance(hook.get(key), str)], [], f"keys of {name} that are missing")
        expect_equal(hook["language"], "script", "language: nothing is built")
        expect(os.access(os.path.join(ROOT, hook["entry"].split()[0]), os.X_OK), f"{hook['entry']} cannot be run")
        expect(re.search(hook["files"], "models/net_quantized.onnx") and not re.search(hook["files"], "models/net.onnx"), f"files: {hook['files']}")


@test()
def the_hook_checks_every_model():
    with temp_folder() as folder:
        good, other = model_in(folder), model_in(folder, "other_quantized.onnx")
        result = hooked(hooks()["quarkq-check"], "--require=deployable", good, other)
        expect(result.returncode == 0 and good in result.stdout and other in result.stdout, result.stdout + result.stderr)
        result = hooked(hooks()["quarkq-check"], "--target=x1", "--max-partitions=0", other, good)
        expect_equal(result.returncode, 6, result.stdout + result.stderr)
        expect_equal(result.stdout.count("== "), 2, "models that are checked after one that fails")
        result = hooked(hooks()["quarkq-check"], "--target", "x1", good)
        expect(result.returncode == 2 and "write options as --name=value" in result.stderr, result.stderr)
        expect("quarkq is not on the path" in hooked(hooks()["quarkq-check"], good, program=None).stderr, "the program that is missing is not named")


@test()
def the_hook_compares_with_the_float_model():
    with temp_folder() as folder:
        model, hook = model_in(folder), hooks()["quarkq-evaluate"]
        arguments = [f"--float={DIGITS_MODEL}", f"--data={EVAL}", f"--labels={LABELS}"]
        expect_equal(hooked(hook, *arguments, "--min-top1=0.98", "--min-cos=0.99", model).returncode, 0, "a gate that holds")
        result = hooked(hook, *arguments, "--min-top1=0.999", model)
        expect(result.returncode == 5 and "top-1" in result.stderr, result.stderr)


def step(name, variables, folder):
    """Runs the shell of a step as GitHub does, with the program where the first step installs it."""
    place = os.path.join(folder, "quarkq", "bin")
    if not os.path.exists(place):
        os.makedirs(place)
        os.symlink(os.path.abspath(QUARKQ), os.path.join(place, "quarkq"))
    found = next(one for one in parsed(ACTION)["runs"]["steps"] if one["name"] == name)
    environment = {variable: variables.get(re.search(r"inputs\.([\w-]+)", value).group(1), parsed(ACTION)["inputs"][re.search(r"inputs\.([\w-]+)", value).group(1)].get("default", ""))
                   for variable, value in found["env"].items()}
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment, "RUNNER_TEMP": folder})


@test()
def the_action_checks_and_compares():
    with temp_folder() as folder:
        models = "\n".join([model_in(folder), model_in(folder, "second.onnx"), ""])
        result = step("check", {"models": models, "target": "x1", "min-npu": "80%", "max-partitions": "1"}, folder)
        expect(result.returncode == 0 and "second.onnx" in result.stdout, result.stdout + result.stderr)
        expect_equal(step("check", {"models": models, "target": "x1", "max-partitions": "0"}, folder).returncode, 6, "exit code of a goal that is missed")
        given = {"models": models, "float": DIGITS_MODEL, "data": EVAL, "labels": LABELS, "min-cos": "0.99", "min-top1": "0.98"}
        result = step("evaluate", given, folder)
        expect_equal(result.returncode, 0, result.stdout + result.stderr)
        expect_equal(step("evaluate", {**given, "min-top1": "0.999"}, folder).returncode, 5, "exit code of a gate that does not hold")
        scored = {**given, "min-cos": "", "min-top1": "", "metric": "top1\ntop5\n", "require": "top1>=0.98\ntop5>=0.99\n"}
        result = step("evaluate", scored, folder)
        expect(result.returncode == 0 and "top5" in result.stdout, result.stdout + result.stderr)
        expect_equal(step("evaluate", {**scored, "require": "top1>=0.999"}, folder).returncode, 5, "exit code of a metric that misses its goal")


@test()
def every_input_of_the_action_is_used():
    action = parsed(ACTION)
    text = str(action["runs"])
    expect_equal([name for name in action["inputs"] if f"inputs.{name} " not in text.replace("}}", " ")], [], "inputs that no step reads")
    expect_equal(sorted(set(re.findall(r"inputs\.([\w-]+)", text)) - set(action["inputs"])), [], "inputs that are not declared")


@test()
def the_release_is_installed_from_a_wheel():
    found = glob.glob(os.path.join(ROOT, "dist", "quarkq-*manylinux*.whl"))
    if not found:
        raise Skip("dist has no wheel; run scripts/build_wheel.sh")
    with temp_folder() as folder:
        subprocess.run([os.path.join(ROOT, "packaging", "install_release.sh")], check=True, capture_output=True, env={**os.environ, "RUNNER_TEMP": folder, "WHEEL": found[0]})
        text = subprocess.run([os.path.join(folder, "quarkq", "bin", "quarkq"), "--version"], check=True, capture_output=True, text=True).stdout
        expect(text.startswith("quarkq "), text)
