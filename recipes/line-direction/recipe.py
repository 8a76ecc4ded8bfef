# SPDX-License-Identifier: MIT
"""Direction of a line of text (upright or upside down; MobileNetV3), on rendered lines of which the script turns half."""
import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import RAPIDOCR

HEIGHT, WIDTH = 48, 192


def made(fonts, count, seed):
    random, found = np.random.default_rng(seed), []
    for name in fonts:
        for number in range(count):
            image, turned = media.line(media.words(random, 2), name, 32, random), int(random.integers(2))
            width = min(WIDTH, round(image.width * HEIGHT / image.height))
            values = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
            values[..., :width] = media.tensor(image.rotate(180 * turned).resize((width, HEIGHT)), 0.5, 0.5)
            found.append(Sample({"x": values}, f"{name} {number}", turned))
    return found


def samples():
    return made(media.CALIB_FONTS, 6, 1), made(media.EVAL_FONTS, 10, 2)


def score(outputs, sample, float_outputs):
    found, wanted = (next(iter(one.values()))[0] for one in (outputs, float_outputs))
    return {"top-1": compare.label(found, sample.truth), "same class": compare.same_choice(found, wanted)}


RECIPE = Recipe(kind="image classifier (MobileNetV3)", network="ch_ppocr_mobile_v2.0_cls_infer.onnx of the wheel rapidocr-onnxruntime", source=RAPIDOCR.label,
                licence="Apache-2.0, as the wheel states", data=media.FONT_DATA,
                model=lambda: fetch.extract(RAPIDOCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"), samples=samples,
                scores=(Score("top-1", "truth"), Score("same class", "float model")), score=score)
