#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/options.md from the program's own table: option_reference.py QUARKQ > docs/options.md. A test compares."""
import json
import subprocess
import sys

HEAD = """# Option reference

Made by `scripts/option_reference.py` from `quarkq list options`; do not edit by hand. Any of these can be set in a settings file
(those of the category Field under `quant_config`, those with a dot under the block before it, the others under
`extra_options`) and in `--set NAME=VALUE`. Names and defaults without a dot are those of the reference; a preset or another
option may set another default, and `quarkq config show FILE` says what holds and why.
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
