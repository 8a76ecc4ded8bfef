#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/targets.md from the program's own data: target_reference.py QUARKQ docs/targets.md prints the page, whose part after the
mark is made anew. A test compares."""
import json
import subprocess
import sys

MARK = "<!-- The rest is made by scripts/target_reference.py. -->\n"


def listing(quarkq, *arguments):
    return json.loads(subprocess.run([quarkq, "list", *arguments, "--json"], check=True, capture_output=True, text=True).stdout)


def cell(text):
    return text.replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cell(part) for part in row) + " |" for row in rows] + [""]


def evidence(row):
    return f"{row['grade']}, {row['source']}"


def joined(*parts):
    return "; ".join(part for part in parts if part)


def rules_of(rows):
    parts = []
    for row in rows:
        where = "" if row["types"] == "all" else f" ({row['types']})"
        limit = "" if row["limit"] == "-" else f"; limit {row['limit']}"
        parts.append([row["effect"] + where, f"`{row['name']}`: {row['holds']}{limit}", joined(row["symptom"], row["note"]), f"`{row['remedy']}`", evidence(row)])
    return parts


def operators_of(rows):
    """One row for the operators that share verdicts, grade, source and note."""
    by_op = {}
    for row in rows:
        by_op.setdefault((row["name"], evidence(row), row["note"]), {}).setdefault(row["verdict"], []).append(row["type"])
    groups = {}
    for (op, source, note), verdicts in by_op.items():
        text = "; ".join(f"{verdict}: {', '.join(types)}" for verdict, types in sorted(verdicts.items()))
        groups.setdefault((text, source, note), []).append(op)
    return [[", ".join(ops), text, note, source] for (text, source, note), ops in groups.items()]


def reference(quarkq):
    targets, lines = listing(quarkq, "targets"), []
    for target in targets:
        name = target["name"]
        lines += [f"### {name}", "", f"{target['summary']}. Devices: {target['devices']}. Takes: {target['takes']}. Preset: {target['preset']}.", ""]
        lines += table(["effect", "where", "what was seen", "remedy", "evidence"], rules_of(listing(quarkq, "target-rules", name)))
        lines += table(["operators", "verdict", "note", "evidence"], operators_of(listing(quarkq, "target-ops", name)))
        settings = listing(quarkq, "target-settings", name)
        if settings:
            lines += table(["quantize --target sets", "value", "note", "evidence"], [[f"`{row['name']}`", row["value"], row["note"], evidence(row)] for row in settings])
        options = listing(quarkq, "target-options", name)
        if options:
            lines += table(["provider option", "value", "note", "evidence"], [[f"`{row['name']}`", row["value"], row["note"], evidence(row)] for row in options])
    lines += ["## Remedies", "", "A rewrite needs the model only, a setting is one of quarkq or of the compiler, the rest is for the author of the model.", ""]
    lines += table(["id", "kind", "what to do"], [[f"`{row['name']}`", row["kind"], row["summary"]] for row in listing(quarkq, "remedies")])
    return "\n".join(lines)


if __name__ == "__main__":
    with open(sys.argv[2]) as page:
        print(page.read().partition(MARK)[0] + MARK + "\n" + reference(sys.argv[1]), end="")
