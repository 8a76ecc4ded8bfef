# SPDX-License-Identifier: MIT
"""What the documentation tells users to type does what it says: the guide and the CI recipes, run as they stand."""
import os
import re
import shutil
import subprocess

from harness import QUARKQ, ROOT, expect_equal, temp_folder, test

DOCS = os.path.join(ROOT, "docs")


def read(name):
    with open(os.path.join(DOCS, name)) as file:
        return file.read()


def run_in_example(script):
    """What a shell script prints in a copy of the example, with quarkq on the path."""
    with temp_folder() as folder:
        shutil.copytree(os.path.join(ROOT, "examples", "digits"), folder, dirs_exist_ok=True)
        tools = os.path.join(folder, ".bin")
        os.mkdir(tools)
        os.symlink(QUARKQ, os.path.join(tools, "quarkq"))
        environment = {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"]}
        result = subprocess.run(["bash", "-euc", script], cwd=folder, env=environment, capture_output=True, text=True)
        expect_equal(result.returncode, 0, f"exit code of\n{script}\n{result.stdout[-500:]}{result.stderr[-1500:]}\n")
        return result.stdout


def dedented(lines):
    return "\n".join(line.strip() for line in lines)


def fenced_blocks(text):
    """Shell blocks of a Markdown page, also those inside lists."""
    blocks = []
    for indent, body in re.findall(r"^( *)```sh\n(.*?)^ *```$", text, re.M | re.S):
        blocks.append("".join(line.removeprefix(indent) for line in body.splitlines(keepends=True)))
    return blocks


def indented_blocks(text, start):
    """The lines after a line that matches `start` that are indented deeper than it."""
    blocks, lines = [], text.splitlines()
    for at, line in enumerate(lines):
        if not re.search(start, line):
            continue
        depth, body = len(line) - len(line.lstrip()), []
        for inner in lines[at + 1:]:
            if inner.strip() and len(inner) - len(inner.lstrip()) <= depth:
                break
            body.append(inner)
        blocks.append(body)
    return blocks


RECIPES = {
    "github-actions.yml": lambda text: [dedented(body) for body in indented_blocks(text, r"^ +run: \|$")],
    "gitlab-ci.yml": lambda text: [dedented(line.strip().removeprefix("- ") for line in body) for body in indented_blocks(text, r"^ +script:$")],
    "Jenkinsfile": lambda text: [dedented(body.splitlines()) for body in re.findall(r"sh '''\n(.*?)'''", text, re.S)],
}


@test(cases=["guide.md", "from-amd-quark.md"])
def every_command_runs(page):
    blocks = fenced_blocks(read(page))
    run_in_example("\n".join(blocks))
    return f"{sum(block.count('quarkq ') for block in blocks)} commands"


def masked(line):
    """The line without what differs from run to run and from machine to machine: figures, threads, instruction set, widths of columns."""
    line = re.sub(r"\b\d+ threads?( \([^)]*\))?", "# threads", line)
    return re.sub(r"\s+", " ", re.sub(r"\d+(?:\.\d+)?|\b(?:sse|avx)[\w-]*", "#", line)).strip()


@test()
def terminal_capture_of_the_readme():
    """What README.md shows is what the program prints now."""
    with open(os.path.join(ROOT, "README.md")) as file:
        shown = re.search(r"```console\n(.*?)```", file.read(), re.S).group(1).splitlines()
    commands = [line[2:] for line in shown if line.startswith("$ ")]
    printed = run_in_example("\n".join(commands)).splitlines()
    expect_equal([masked(line) for line in printed], [masked(line) for line in shown if not line.startswith("$ ")], "lines of the capture")
    return f"{len(printed)} lines"


@test(cases=sorted(RECIPES))
def recipe(name):
    steps = RECIPES[name](read(os.path.join("ci", name)))
    if not steps:
        raise AssertionError(f"docs/ci/{name}: no step found")
    run_in_example("\n".join(steps))
    return f"{len(steps)} steps"
