# SPDX-License-Identifier: MIT
"""Pitch of a voice or an instrument (SwiftF0), on gliding tones that the script synthesizes: the pitch of each frame is known."""
import numpy as np

from _lib import fetch
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import SWIFT_F0

RATE, HOP, FRAMES = 16000, 256, 125
LOW, HIGH = np.float32(46.875), np.float32(2093.75)
LEAST, CENTS = 0.5, 50


def tone(random):
    """(two seconds of a gliding tone with vibrato and noise, its pitch at the centre of each frame in Hz)"""
    count = FRAMES * HOP
    time = np.arange(count) / RATE
    knots = random.uniform(0, 1) + np.cumsum(random.uniform(-0.3, 0.3, 6))
    octave = 0.5 + 2.5 * random.uniform(0, 1) + np.interp(time, np.linspace(0, 2, 6), knots) + 0.02 * np.sin(2 * np.pi * random.uniform(4, 7) * time)
    pitch = np.clip(60 * 2 ** octave, 60, 1500)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    slope = random.uniform(0.7, 1.8)
    audio = sum(np.where(pitch * k < 7500, np.sin(k * phase) / k ** slope, 0) for k in range(1, 16))
    audio = audio / np.abs(audio).max() * random.uniform(0.2, 0.8) + random.normal(0, 10 ** random.uniform(-3.5, -1.7), count)
    return audio.astype(np.float32)[None], pitch.reshape(FRAMES, HOP).mean(axis=1)


def made(count, seed):
    random = np.random.default_rng(seed)
    return [Sample({"audio": audio, "fmin": np.array(LOW), "fmax": np.array(HIGH)}, f"tone {seed}.{number}", pitch) for number in range(count) for audio, pitch in [tone(random)]]


def samples():
    return made(48, 1), made(96, 2)


def near(outputs, pitch):
    """Share of frames that are voiced and within half a semitone."""
    voiced = outputs["confidence"][0] >= LEAST
    cents = 1200 * np.abs(np.log2(np.maximum(outputs["pitch"][0], 1) / np.maximum(pitch, 1)))
    return float((voiced & (cents < CENTS)).sum()), float(len(pitch))


def score(outputs, sample, float_outputs):
    return {"frames (truth)": near(outputs, sample.truth), "frames (float)": near(outputs, float_outputs["pitch"][0])}


RECIPE = Recipe(kind="pitch detector (STFT and CNN)", network="model.onnx of the wheel swift-f0", source=SWIFT_F0.label, licence="MIT, as the wheel states",
                data="tones synthesized by the script", model=lambda: fetch.extract(SWIFT_F0, "swift_f0/model.onnx"), samples=samples, presets=("A8W8", "A16W8"),
                scores=(Score("frames (truth)", "truth"), Score("frames (float)", "float model")), score=score)
