# SPDX-License-Identifier: MIT
"""A reader of short texts in pictures (ddddocr: convolutions and an LSTM, read by CTC), on rendered texts that are known."""
import functools

import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import DDDDOCR

HEIGHT, WIDTH = 64, 192
LETTERS = "abcdefghkmnpqrstuxyz23456789"


@functools.cache
def alphabet():
    """The characters of the classes after the blank, from the package's own table."""
    names = {}
    exec(fetch.read(DDDDOCR, "ddddocr/charsets.py").decode(), names)  # pylint: disable=exec-used # a pinned file that only assigns lists
    return names["CHARSET_BETA"][1:]


def made(fonts, count, seed):
    random, found = np.random.default_rng(seed), []
    for name in fonts:
        for number in range(count):
            text = "".join(random.choice(list(LETTERS), int(random.integers(4, 6))))
            image = media.line(text, name, 40, random).convert("L").resize((WIDTH, HEIGHT))
            found.append(Sample({"input1": np.asarray(image, np.float32)[None, None] / np.float32(255)}, f"{name} {number}", text))
    return found


def samples():
    return made(media.CALIB_FONTS, 4, 1), made(media.EVAL_FONTS, 8, 2)


def text(outputs):
    scores = outputs["387"]
    return compare.ctc(scores.reshape(-1, scores.shape[-1]).argmax(axis=1), alphabet())


def score(outputs, sample, float_outputs):
    return {"characters (truth)": compare.characters(text(outputs), sample.truth), "characters (float)": compare.characters(text(outputs), text(float_outputs))}


RECIPE = Recipe(kind="text recognition (CNN and LSTM, CTC)", network="common.onnx of the wheel ddddocr", source=DDDDOCR.label, licence="MIT, as the wheel states",
                data=media.FONT_DATA, model=lambda: fetch.extract(DDDDOCR, "ddddocr/common.onnx"), samples=samples, presets=("A8W8", "A16W8"),
                scores=(Score("characters (truth)", "truth"), Score("characters (float)", "float model")), score=score)
