# SPDX-License-Identifier: MIT
"""Text recognition (PP-OCRv4, convolutions and attention, read by CTC), on rendered lines whose text is known."""
import functools

import numpy as np
import onnx

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import RAPIDOCR

HEIGHT, WIDTH = 48, 320


def network():
    return fetch.extract(RAPIDOCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx")


@functools.cache
def alphabet():
    """The characters of the classes after the blank, which the network's metadata lists, and the space."""
    entries = {entry.key: entry.value for entry in onnx.load(network()).metadata_props}
    return [*entries["character"].splitlines(), " "]


def padded(image):
    """The line at a height of 48, with zeros to the right of it."""
    width = min(WIDTH, round(image.width * HEIGHT / image.height))
    values = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
    values[..., :width] = media.tensor(image.resize((width, HEIGHT)), 0.5, 0.5)
    return values


def made(fonts, count, seed):
    random, found = np.random.default_rng(seed), []
    for name in fonts:
        for number in range(count):
            text = media.words(random, 2) + " " + str(random.integers(10, 1000))
            found.append(Sample({"x": padded(media.line(text, name, 32, random))}, f"{name} {number}", text.replace(" ", "")))
    return found


def samples():
    return made(media.CALIB_FONTS, 4, 1), made(media.EVAL_FONTS, 6, 2)


def text(outputs):
    """The text that was read, without spaces: the network drops most of them."""
    return compare.ctc(next(iter(outputs.values()))[0].argmax(axis=1), alphabet()).replace(" ", "")


def score(outputs, sample, float_outputs):
    return {"characters (truth)": compare.characters(text(outputs), sample.truth), "characters (float)": compare.characters(text(outputs), text(float_outputs)),
            "lines (truth)": (float(text(outputs) == sample.truth), 1.0)}


RECIPE = Recipe(kind="text recognition (CNN and attention, CTC)", network="ch_PP-OCRv4_rec_infer.onnx of the wheel rapidocr-onnxruntime", source=RAPIDOCR.label,
                licence="Apache-2.0, as the wheel states", data=media.FONT_DATA, model=network, samples=samples, presets=("A8W8", "A16W8", "XINT8"),
                scores=(Score("characters (truth)", "truth"), Score("lines (truth)", "truth"), Score("characters (float)", "float model")), score=score)
