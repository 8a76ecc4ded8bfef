# SPDX-License-Identifier: MIT
"""Text detection (PP-OCRv4, a segmentation network), on rendered pages: agreement of the masks of text."""
import numpy as np

from _lib import compare, fetch, media
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import RAPIDOCR

SIZE = 480
LEAST = 0.3  # the package's threshold of the mask


def made(fonts, count, seed):
    random = np.random.default_rng(seed)
    return [Sample({"x": media.tensor(media.page(name, SIZE, SIZE, random), 0.5, 0.5)}, f"{name} {number}") for name in fonts for number in range(count)]


def samples():
    return made(media.CALIB_FONTS, 2, 1), made(media.EVAL_FONTS, 3, 2)


def score(outputs, sample, float_outputs):
    found, wanted = (next(iter(one.values())) for one in (outputs, float_outputs))
    return {"mask F1": compare.f1(found > LEAST, wanted > LEAST), "difference": compare.absolute(found, wanted)}


RECIPE = Recipe(kind="text detection (segmentation)", network="ch_PP-OCRv4_det_infer.onnx of the wheel rapidocr-onnxruntime", source=RAPIDOCR.label,
                licence="Apache-2.0, as the wheel states", data="pages of " + media.FONT_DATA,
                model=lambda: fetch.extract(RAPIDOCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"), samples=samples,
                scores=(Score("mask F1", "float model"), Score("difference", "float model", better="lower", is_share=False)), score=score)
