# SPDX-License-Identifier: MIT
"""Voice activity (Silero VAD: a spectrum, convolutions and an LSTM), on synthesized speech with pauses and noise: speech is known."""
import numpy as np

from _lib import compare, fetch, speech
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import SILERO_VAD

WINDOW, CONTEXT, SECONDS = 512, 64, 8
STEPS = SECONDS * speech.RATE // WINDOW
LEAST = 0.5


def made(voices, count, seed):
    random, found = np.random.default_rng(seed), []
    state = np.zeros((1, 1, 128), np.float32)
    for voice in voices:
        for number in range(count):
            audio, is_speech = speech.scene(voice, SECONDS, random)
            audio = np.concatenate([np.zeros(CONTEXT, np.float32), audio])
            windows = np.stack([audio[step * WINDOW:step * WINDOW + WINDOW + CONTEXT] for step in range(STEPS)])
            truth = is_speech[:STEPS * WINDOW].reshape(STEPS, WINDOW).mean(axis=1) > 0.5
            found.append(Sample({"input": windows, "h": state, "c": state}, f"{voice} {number}", truth))
    return found


def samples():
    return made(speech.CALIB_VOICES, 3, 1), made(speech.EVAL_VOICES, 3, 2)


def score(outputs, sample, float_outputs):
    found, wanted = (one["speech_probs"].reshape(-1) > LEAST for one in (outputs, float_outputs))
    return {"windows (truth)": (float((found == sample.truth).sum()), float(STEPS)), "windows (float)": (float((found == wanted).sum()), float(STEPS))}


RECIPE = Recipe(kind="voice activity (CNN and LSTM)", network="silero_vad_16k_sequence.onnx of the wheel silero-vad", source=SILERO_VAD.label,
                licence="MIT, as the wheel states", data=speech.DATA, model=lambda: fetch.extract(SILERO_VAD, "silero_vad/data/silero_vad_16k_sequence.onnx"), samples=samples,
                presets=("A8W8", "A16W8"), scores=(Score("windows (truth)", "truth"), Score("windows (float)", "float model")), score=score)
