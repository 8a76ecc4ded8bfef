# SPDX-License-Identifier: MIT
"""Speech quality as a regression (DNSMOS), on synthesized speech with noise: difference of the ratings to the float network's."""
import numpy as np

from _lib import compare, fetch, speech
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import SPEECHMOS

LENGTH = 144160


def made(voices, count, seed):
    random = np.random.default_rng(seed)
    return [Sample({"input_1": speech.scene(voice, LENGTH / speech.RATE, random)[0][None]}, f"{voice} {number}") for voice in voices for number in range(count)]


def samples():
    return made(speech.CALIB_VOICES, 3, 1), made(speech.EVAL_VOICES, 4, 2)


def score(outputs, sample, float_outputs):
    found, wanted = (next(iter(one.values())) for one in (outputs, float_outputs))
    return {"error of ratings": compare.absolute(found, wanted)}


RECIPE = Recipe(kind="speech quality (CNN, regression)", network="dnsmos_models/sig_bak_ovr.onnx of the wheel speechmos", source=SPEECHMOS.label,
                licence="MIT, as the wheel states", data=speech.DATA, model=lambda: fetch.extract(SPEECHMOS, "speechmos/dnsmos_models/sig_bak_ovr.onnx"), samples=samples,
                presets=("A8W8", "A16W8"), scores=(Score("error of ratings", "float model", better="lower", is_share=False, unit="of a scale from 1 to 5"),), score=score)
