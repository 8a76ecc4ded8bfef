#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/options.md from the program's own table: option_reference.py QUARKQ > docs/options.md. A test compares."""
import json
import subprocess
import sys

HEAD = """# Option reference

Made by `scripts/option_reference.py` from `quarkq list options`; do not edit by hand. You can set each option in a settings file
(category Field under `quant_config`, names with a dot under the block before it, the others under `extra_options`) and with
`--set NAME=VALUE`. Names and defaults without a dot match the reference. A preset or another option may set another default;
`quarkq config show FILE` prints the effective value and its origin.
"""
MARKS = {"built": "", "no effect": "accepted without effect: ", "not supported yet": "not supported yet: "}


def cell(text):
    return text.replace("|", "\\|")


def meaning(row):
    notes = [text for text in (row["allowed"], f"`{row['flag']}`" if row["flag"] else "") if text]
    return MARKS[row["support"]] + cell(row["summary"]) + (f" ({'; '.join(notes)})" if notes else "")


def reference(rows):
    categories = {}
    for row in rows:
        categories.setdefault(row["category"], []).append(row)
    lines = [HEAD]
    for category, members in categories.items():
        lines += [f"## {category[0].upper()}{category[1:]}", "", "| name | type | default | meaning |", "|---|---|---|---|"]
        for row in members:
            lines.append(f"| `{row['name']}` | {cell(row['type'])} | `{cell(row['default'])}` | {meaning(row)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(reference(json.loads(subprocess.run([sys.argv[1], "list", "options", "--json"], check=True, capture_output=True, text=True).stdout)), end="")
