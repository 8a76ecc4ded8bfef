# SPDX-License-Identifier: MIT
"""The guide's first walkthrough on terminals of several widths: progress stays on one line that fits, nothing floods, text is wrapped."""
import os
import re
import shutil

from harness import QUARKQ, ROOT, expect, expect_equal, on_terminal, temp_folder, test
from test_guide import fenced_blocks, read

DRAWN = "\r\x1b[K"  # what a new state of the progress line begins with
MOST_LINES = 150  # of one command


def walkthrough():
    """The commands of the guide's section that walks through a run; its first one otherwise."""
    sections = re.split(r"^## ", read("guide.md"), flags=re.M)[1:]
    named = [section for section in sections if "walkthrough" in section.splitlines()[0].lower()]
    blocks = fenced_blocks((named or sections)[0])
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def replay(columns):
    """[(command, what the terminal got)]"""
    seen = []
    with temp_folder() as folder:
        shutil.copytree(os.path.join(ROOT, "examples", "digits"), folder, dirs_exist_ok=True)
        tools = os.path.join(folder, ".bin")
        os.mkdir(tools)
        os.symlink(QUARKQ, os.path.join(tools, "quarkq"))
        path = {"PATH": tools + os.pathsep + os.environ["PATH"]}
        for command in walkthrough():
            code, text = on_terminal(["bash", "-euc", command], columns, path, whole=True, cwd=folder)
            expect_equal(code, 0, f"exit code of {command}\n{text[-800:]}")
            seen.append((command, text))
    return seen


@test(cases=["60", "80", "200"])
def the_walkthrough_fits(width):
    columns, drawn = int(width), 0
    for command, text in replay(columns):
        states = [part for part in text.split(DRAWN)[1:] if "\n" not in part]  # what comes after the last one is no progress
        drawn += sum(1 for state in states if state)
        for state in states:
            expect(len(state) < columns, f"{command}: {len(state)} characters of progress: {state!r}")
        plain = re.sub(r"\r\x1b\[K[^\n\r]*(?=\r)", "", text).replace(DRAWN, "")
        lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in plain.split("\n")]
        expect(len(lines) <= MOST_LINES, f"{command}: {len(lines)} lines")
        left = [line for line in lines if re.search(r"\(\d+ of \d+\) \d+/\d+", line)]
        expect(not left, f"{command}: progress was left on the screen: {left[:3]}")
        # Messages and the command to try next are left in one piece, to be pasted; so is a word that is longer than a line.
        wide = [line for line in lines if len(line) > columns and not line.startswith(("quarkq: ", "next ")) and " " in line[11:].strip()]
        if command.startswith("quarkq quantize"):
            expect(not wide, f"{command}: wider than {columns}: {wide[:3]}")
    expect(drawn > 10, f"only {drawn} states of progress were drawn")
    return f"{drawn} states"


@test(cases=["40", "60", "80", "200"])
def help_fits(width):
    columns = int(width)
    for verb in ("quantize", "run", "list", ""):
        code, text = on_terminal([QUARKQ, "help", *([verb] if verb else [])], columns, whole=True)
        expect_equal(code, 0, f"exit code of help {verb}")
        wide = [line for line in text.splitlines() if len(line) > columns and " " in line.strip()[max(0, 42 - columns // 2):]]
        # Names of options and choices that are longer than a line stay whole.
        wide = [line for line in wide if max(map(len, line.split())) + 12 < columns]
        expect(not wide, f"help {verb} at {columns}: {wide[:3]}")
    return f"help of quantize has {len(text.splitlines())} lines"


@test()
def help_in_a_pipe_is_not_wrapped():
    code, text = on_terminal(["bash", "-c", f"{QUARKQ} help quantize | cat"], 50, whole=True)
    expect_equal(code, 0, "exit code")
    expect(max(map(len, text.splitlines())) > 80, "the help was wrapped in a pipe")
