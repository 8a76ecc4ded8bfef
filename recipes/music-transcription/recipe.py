# SPDX-License-Identifier: MIT
"""Music transcription (basic-pitch), on chords that the script synthesizes: the notes of each frame are known."""
import numpy as np

from _lib import compare, fetch
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import BASIC_PITCH

RATE, LENGTH, FRAMES, HOP = 22050, 43844, 172, 256
INPUT, NOTES = "serving_default_input_2:0", "StatefulPartitionedCall:1"
LEAST = 0.3  # the package's threshold of frames


def piece(random):
    """(two seconds of overlapping notes of a plucked timbre, [frames, 88] of the keys that sound)"""
    audio, keys = np.zeros(LENGTH), np.zeros((FRAMES, 88), bool)
    partials = random.uniform(0.2, 1.0, 8) / np.arange(1, 9) ** random.uniform(0.8, 1.6)
    for _ in range(int(random.integers(4, 11))):
        key, begin, seconds = int(random.integers(15, 65)), random.uniform(0, 1.6), random.uniform(0.2, 0.9)
        time = np.arange(int(min(seconds, 1.98 - begin) * RATE)) / RATE
        base = 27.5 * 2 ** (key / 12)
        note = sum(partials[i] * np.sin(2 * np.pi * base * (i + 1) * time + random.uniform(0, 6)) for i in range(8) if base * (i + 1) < RATE / 2)
        note = note * np.exp(-time * random.uniform(1, 3)) * np.minimum(1, np.minimum(time, time[::-1]) / 0.01)
        first = int(begin * RATE)
        audio[first:first + len(note)] += note * random.uniform(0.4, 1)
        keys[first // HOP:(first + len(note)) // HOP, key] = True
    audio = audio / np.abs(audio).max() * random.uniform(0.3, 0.9) + random.normal(0, 0.002, LENGTH)
    return audio.astype(np.float32)[None, :, None], keys


def made(count, seed):
    random = np.random.default_rng(seed)
    return [Sample({INPUT: audio}, f"piece {seed}.{number}", keys) for number in range(count) for audio, keys in [piece(random)]]


def samples():
    return made(16, 1), made(40, 2)


def score(outputs, sample, float_outputs):
    found, wanted = outputs[NOTES][0] > LEAST, float_outputs[NOTES][0] > LEAST
    return {"note F1 (truth)": compare.f1(found, sample.truth), "note F1 (float)": compare.f1(found, wanted)}


RECIPE = Recipe(kind="music transcription (CNN on a constant-Q transform)", network="nmp.onnx of the wheel basic-pitch", source=BASIC_PITCH.label,
                licence="Apache-2.0, as the wheel states", data="chords synthesized by the script",
                model=lambda: fetch.extract(BASIC_PITCH, "basic_pitch/saved_models/icassp_2022/nmp.onnx"), samples=samples, presets=("A8W8", "A16W8"),
                scores=(Score("note F1 (truth)", "truth"), Score("note F1 (float)", "float model")), score=score)
