# SPDX-License-Identifier: MIT
"""A small classifier trained by a script of this repository, on held-out digits with labels."""
import csv
import os

import numpy as np

from _lib import compare
from _lib.fetch import ROOT
from _lib.recipe import Recipe, Sample, Score

FOLDER = os.path.join(ROOT, "examples", "digits")


def samples():
    calib = os.path.join(FOLDER, "calib")
    calibration = [Sample({"image": np.load(os.path.join(calib, name))}, "calib " + name) for name in sorted(os.listdir(calib))]
    with open(os.path.join(FOLDER, "eval", "labels.csv"), encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return calibration, [Sample({"image": np.load(os.path.join(FOLDER, "eval", "inputs", row["file"]))}, row["file"], int(row["label"])) for row in rows]


def score(outputs, sample, float_outputs):
    return {"top-1": compare.label(outputs["logits"], sample.truth), "same class": compare.same_choice(outputs["logits"], float_outputs["logits"])}


RECIPE = Recipe(kind="image classifier (CNN)", network="digits.onnx: Conv, BatchNormalization, Relu, Gemm", source="made by examples/digits/train.py",
                licence="network: MIT; digits: CC BY 4.0 (UCI Machine Learning Repository)", data="360 held-out digits of examples/digits, labelled",
                model=lambda: os.path.join(FOLDER, "digits.onnx"), samples=samples,
                scores=(Score("top-1", "truth"), Score("same class", "float model")), score=score)
