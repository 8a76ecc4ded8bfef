#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/diagnostics.md from the program's own table: diagnostic_reference.py QUARKQ > docs/diagnostics.md. A test compares."""
import json
import subprocess
import sys

HEAD = """# Diagnostics

Made by `scripts/diagnostic_reference.py` from `quarkq list diagnostics`; do not edit by hand. The table lists the warnings and
notices of a run by id. The id is printed in brackets at the end of each line on stderr, and is the `id` in every JSON report. Ids are
stable. Findings of the same id are folded into one line with a count; `-v` and `--json` print all of them.

| id | severity | meaning | what to do |
|---|---|---|---|"""


def reference(rows):
    return "\n".join([HEAD] + [f"| `{row['name']}` | {row['severity']} | {row['meaning']} | {row['remedy']} |" for row in rows])


if __name__ == "__main__":
    print(reference(json.loads(subprocess.run([sys.argv[1], "list", "diagnostics", "--json"], check=True, capture_output=True, text=True).stdout)))
