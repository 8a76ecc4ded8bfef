# SPDX-License-Identifier: MIT
"""A recipe, and its run: samples, float model, quantized models, scores, record."""
import dataclasses
import os
import platform
import subprocess
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime

from . import intervals, models
from .fetch import CACHE, ROOT, digest

FLOAT, ORT = "float", "ONNX Runtime"


@dataclasses.dataclass
class Sample:
    """Inputs of the network, the truth if it is known, and the group (photo, font, voice) that the sample was made from."""
    feed: dict
    group: str
    truth: object = None


@dataclasses.dataclass(frozen=True)
class Score:
    """`against`: "truth" or "float model". A share is a score from 0 to 1 whose parts are counted."""
    name: str
    against: str
    better: str = "higher"
    is_share: bool = True
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """`model()` returns the path of the float network. `samples()` returns (samples for calibration, samples for scores).
    `score(outputs, sample, float_outputs)` returns {name of a score: (numerator, denominator)}."""
    kind: str
    network: str
    source: str
    licence: str
    data: str
    model: Callable
    samples: Callable
    scores: tuple
    score: Callable
    presets: tuple = ("A8W8", "XINT8")
    options: tuple = ()


def machine():
    """Describes this machine, its load, and the versions. The commit is the one that the program was built from."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
    version = subprocess.run([models.program(), "--version"], capture_output=True, text=True, check=True).stdout.replace(",", " ").split()
    return {"cpu": cpu, "cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2), "python": platform.python_version(), "numpy": np.__version__,
            "onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "quarkq": version[1], "commit": version[3]}


def scored(recipe, path, samples, truth):
    """{name of a score: one (numerator, denominator) per sample}"""
    outputs = models.run(path, [sample.feed for sample in samples])
    parts = [recipe.score(*row) for row in zip(outputs, samples, truth if truth is not None else outputs)]
    return {score.name: [part[score.name] for part in parts] for score in recipe.scores}


def with_scores(recipe, row, parts, ort_parts, groups):
    """Adds the scores of a row, and their differences to ONNX Runtime's quantizer. The float model is not compared with itself."""
    row["scores"] = {score.name: intervals.score(parts[score.name], groups, score.is_share) for score in recipe.scores
                     if row["name"] != FLOAT or score.against == "truth"}
    if ort_parts is not None:
        row["minus_onnx_runtime"] = {score.name: intervals.difference(parts[score.name], ort_parts[score.name], groups) for score in recipe.scores}
    return row


def quantized_rows(recipe, name, model, work):
    """[(row, path)]: ONNX Runtime's quantizer first, then each preset."""
    calib, folder = os.path.join(work, "calib"), os.path.join(ROOT, "recipes", name)
    path = os.path.join(work, "onnx_runtime.onnx")
    rows = [({"name": ORT, **models.ort_quantize(model, calib, path)}, path)]
    for preset in recipe.presets:
        path = os.path.join(work, preset.lower() + ".onnx")
        options = [*recipe.options, "--set", f"preset={preset}"]
        rows.append(({"name": preset, **models.quarkq(model, calib, os.path.join(folder, "settings.yaml"), options, path)}, path))
    return rows


def run(recipe, name):
    """The record of a run, as recipes/results/NAME.json stores it."""
    work = os.path.join(CACHE, "work", name)
    os.makedirs(work, exist_ok=True)
    state = machine()
    calibration, evaluation = recipe.samples()
    model = recipe.model()
    models.write_samples([sample.feed for sample in calibration], os.path.join(work, "calib"))
    groups = [sample.group for sample in evaluation]
    shared = set(groups) & {sample.group for sample in calibration}
    if shared:
        raise SystemExit(f"{name}: {sorted(shared)} are scored and calibrated with")
    truth = models.run(model, [sample.feed for sample in evaluation])
    rows = [with_scores(recipe, {"name": FLOAT, "bytes": os.path.getsize(model)}, scored(recipe, model, evaluation, truth), None, groups)]
    ort_parts = None
    for row, path in quantized_rows(recipe, name, model, work):
        rows.append(row)
        if row["error"] is None:
            parts = scored(recipe, path, evaluation, truth)
            with_scores(recipe, row, parts, ort_parts, groups)
            ort_parts = parts if row["name"] == ORT else ort_parts
    return {"recipe": name, "kind": recipe.kind, "network": recipe.network, "source": recipe.source, "licence": recipe.licence, "data": recipe.data,
            "network_sha256": digest(model), "samples": {"calibration": len(calibration), "evaluation": len(evaluation), "groups": len(set(groups))},
            "scores": [dataclasses.asdict(score) for score in recipe.scores], "rows": rows, "machine": {**state, "load_after": round(os.getloadavg()[0], 2)}}
