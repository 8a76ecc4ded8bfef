#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/results.md and docs/images/results.svg from the records of recipes/results: results_page.py [--check] [ROOT]

Writes both, or with --check prints whether they are what this script draws. Needs no packages."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ORT = "ONNX Runtime"
INTRODUCTION = """# Results

<!-- Drawn by scripts/results_page.py from recipes/results/*.json; edit the recipes or the script, not this page. -->

Each section is the last recorded run of a recipe: a folder below `recipes/` with a page, a settings file and a script. One command repeats
it, downloads the network from the package index and writes the record:

    python3 recipes/run.py NAME

- **Scores**: the value and, in brackets, its 95 % interval. The interval is drawn with 4000 bootstrap samples over groups: photos, voices,
  or rendered samples. If all groups agree, the bound is the exact one of Clopper and Pearson for that many groups.
- **Truth**: a score with "truth" counts against labels, or against what the script rendered. "Float model" is the agreement with the float
  network: it shows what quantization changes, not how good the network is.
- **Difference to ONNX Runtime**: the first score minus the score of ONNX Runtime's quantizer, with a paired interval. An interval that
  contains 0 does not tell the two apart.
- **Calibration**: samples that are scored are not used for calibration; photos, fonts and voices differ too.
- **Arithmetic**: ONNX Runtime computes every model on a CPU with Q/DQ pairs as written (`session.disable_quant_qdq=1`). No NPU was used.
- **Deployable**: the prediction of `quarkq quantize` for the target of the preset ([targets](targets.md)).
- **Seconds** are processor seconds of the quantization, one thread for quarkq; **MiB** is the peak resident memory of its process. Both
  include the rescue and the verification of quarkq. ONNX Runtime's quantizer runs in a Python process whose imports are included.
- ONNX Runtime's quantizer: `quant_pre_process`, then `quantize_static` with its defaults (int8, MinMax, per tensor).

These are small sets of samples, made to find damage by quantization. They do not replace an evaluation on your own data
([evaluate](evaluate.md)).
"""


def records(root):
    """The records in the order of their names."""
    folder = os.path.join(root, "recipes", "results")
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append(json.load(file))
    return found


def read(root, path):
    """The text of a file, or an empty one if it does not exist."""
    if not os.path.isfile(os.path.join(root, path)):
        return ""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def interval(score):
    """The value and its interval, with as many digits as the size of the value requires."""
    digits = 2 if abs(score["value"]) >= 5 else 4
    return f"{score['value']:.{digits}f} [{score['low']:.{digits}f}, {score['high']:.{digits}f}]"


def size(count):
    return f"{count / 1e6:.2f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def table_row(row, scores):
    if row.get("error"):
        return f"| {row['name']} | failed: {row['error'].replace('|', '/')} |" + " |" * (len(scores) + 4)
    parts = row["scores"]
    placed = row.get("deployable", "")
    if row.get("placed_nodes") is not None:
        placed += f", {row['placed_nodes']} of {row['nodes']} nodes on {row['target']}"
    if row.get("tail_nodes"):
        placed += f"; {row['tail_nodes']} last nodes in float on the CPU"
    difference = row.get("minus_onnx_runtime", {}).get(scores[0]["name"])
    cells = [row["name"], placed, *(interval(parts[score["name"]]) if score["name"] in parts else "" for score in scores),
             interval(difference) if difference else "", size(row["bytes"]), f"{row['processor_seconds']:.1f}" if "processor_seconds" in row else "",
             f"{row['peak_rss_mib']:.0f}" if "peak_rss_mib" in row else ""]
    return "| " + " | ".join(cells) + " |"


def heading(score):
    unit = f", {score['unit']}" if score["unit"] else ""
    return f"{score['name'].partition(' (')[0]} against {score['against']} ({score['better']} is better{unit})"


def reasons(record):
    """List items: why a target does not run the result of a preset as a whole, as quarkq prints it, and a failed pre-process."""
    found = [f"- {row['name']} on {row['target']}: {row['why'].rstrip('.')}." for row in record["rows"]
             if row.get("why") and row.get("deployable") != "yes" and not row.get("error")]
    if any(row.get("preprocessed") is False for row in record["rows"]):
        found.append(f"- {ORT}: its `quant_pre_process` failed, so the model was quantized without it.")
    return [*found, ""] if found else []


def section(record):
    scores, samples, machine = record["scores"], record["samples"], record["machine"]
    columns = ["model", "deployable", *map(heading, scores), f"{scores[0]['name'].partition(' (')[0]} minus {ORT}", "size", "seconds", "MiB"]
    lines = [f"## {record['recipe']}", "", f"{record['kind'][0].upper()}{record['kind'][1:]}: {record['network']} ({record['source']}). Licence: {record['licence']}.", "",
             f"Data: {record['data']}; {samples['calibration']} samples for calibration, {samples['evaluation']} for scores in {samples['groups']} groups.", "",
             "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *(table_row(row, scores) for row in record["rows"]), "", *reasons(record),
             f"`python3 recipes/run.py {record['recipe']}`; quarkq {machine['quarkq']} of commit {machine['commit']}, ONNX Runtime {machine['onnxruntime']}, "
             f"{machine['cpu']}, {machine['cores']} cores, load {machine['load_before']} to {machine['load_after']}."]
    return "\n".join(lines) + "\n"


def overview(all_records):
    """One line for each recipe: the first score of the float network and of each quantized one."""
    lines = ["| recipe | kind of network | score | float | " + ORT + " | quarkq |", "|---|---|---|---|---|---|"]
    for record in all_records:
        score = record["scores"][0]
        rows = {row["name"]: interval(row["scores"][score["name"]]) if score["name"] in row.get("scores", {}) else "failed" if row.get("error") else "" for row in record["rows"]}
        ours = "<br>".join(f"{name}: {text}" for name, text in rows.items() if name not in ("float", ORT))
        lines.append(f"| [{record['recipe']}](#{record['recipe']}) | {record['kind']} | {score['name'].partition(' (')[0]}, {score['against']} | {rows['float']} | {rows[ORT]} | {ours} |")
    return "\n".join(lines) + "\n"


PLOT = "The first score of each recipe whose score is a share, with 95 % intervals (the other recipes are in the table):\n\n![Scores with intervals](images/results.svg)\n"
COLOURS = {"float": "#888888", ORT: "#d9822b", "A8W8": "#1f77b4", "A16W8": "#17a2b8", "XINT8": "#6f42c1"}
LEFT, SCALE, STEP, RIGHT = 190, 420, 15, 130  # pixels: names, the axis from 0 to 1, one line, names of models


def plot_line(row, score, y):
    """One model: the interval as a line, the value as a dot, and the name of the model."""
    value, low, high = (LEFT + SCALE * score[key] for key in ("value", "low", "high"))
    colour = COLOURS.get(row["name"], "#333333")
    return [f'<line x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}" stroke="{colour}" stroke-width="2"/>', f'<circle cx="{value:.1f}" cy="{y}" r="3.5" fill="{colour}"/>',
            f'<text x="{LEFT + SCALE + 10}" y="{y + 4}" fill="{colour}">{row["name"]}</text>']


def plot(all_records):
    """The shares as an SVG picture."""
    shapes, y = [], 24
    for record in all_records:
        name = record["scores"][0]["name"]
        if not record["scores"][0]["is_share"]:
            continue
        shapes.append(f'<text x="4" y="{y + 4}" fill="#333333">{record["recipe"]}</text>')
        for row in record["rows"]:
            if name in row.get("scores", {}):
                shapes += plot_line(row, row["scores"][name], y)
                y += STEP
        y += STEP // 2
    axis = [f'<line x1="{LEFT + SCALE * tenth // 10}" y1="14" x2="{LEFT + SCALE * tenth // 10}" y2="{y}" stroke="#dddddd"/>'
            f'<text x="{LEFT + SCALE * tenth // 10 - 8}" y="10" fill="#666666">{tenth / 10}</text>' for tenth in range(0, 11, 2)]
    size = f'width="{LEFT + SCALE + RIGHT}" height="{y + 6}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#ffffff"/>',
                      *axis, *shapes, "</svg>"]) + "\n"


def page(all_records):
    return "\n".join([INTRODUCTION, "## Overview\n", overview(all_records), PLOT, *map(section, all_records)])


def draw(root):
    """{path: contents} of what is drawn."""
    found = records(root)
    return {"docs/results.md": page(found), "docs/images/results.svg": plot(found)}


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    root = arguments[0] if arguments else ROOT
    for path, text in draw(root).items():
        if "--check" in sys.argv[1:]:
            if read(root, path) != text:
                sys.exit(f"{path} differs from what scripts/results_page.py draws; run the script")
        else:
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
