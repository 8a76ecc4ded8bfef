# SPDX-License-Identifier: MIT
"""Ten spoken words, told apart by a small CNN that this script trains on synthesized speech of other voices."""
import numpy as np

from _lib import compare, nets, speech
from _lib.recipe import Recipe, Sample, Score

WORDS = ("yes", "no", "up", "down", "left", "right", "stop", "start", "open", "close")
FRAMES, BANDS, FILTERS = 48, 32, 64


def bands():
    """[257, 32]: triangles on the mel scale from 60 to 7600 Hz."""
    mel = np.linspace(1127 * np.log(1 + 60 / 700), 1127 * np.log(1 + 7600 / 700), BANDS + 2)
    edges = 700 * (np.exp(mel / 1127) - 1) * 512 / speech.RATE
    places = np.arange(257)[:, None]
    return np.clip(np.minimum((places - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - places) / np.diff(edges)[1:]), 0, None)


def features(word, voice, random):
    """[1, 1, 48, 32]: logarithms of the energy in bands, of one second with the word somewhere in it and noise."""
    spoken, audio = speech.say(word, voice, int(random.integers(130, 210)))[:14000], np.zeros(FRAMES * 320 + 192, np.float32)
    begin = int(random.integers(0, len(audio) - len(spoken) + 1))
    audio[begin:begin + len(spoken)] = spoken * random.uniform(0.3, 1)
    audio += speech.noise(len(audio), random) * 10 ** (-random.uniform(25, 45) / 20)
    windows = np.lib.stride_tricks.sliding_window_view(audio, 512)[::320][:FRAMES] * np.hanning(512)
    energy = np.log(np.abs(np.fft.rfft(windows, axis=1)) ** 2 @ bands() + 1e-3)
    return ((energy - energy.mean()) / 3).astype(np.float32)[None, None]


def made(voices, count, seed):
    random = np.random.default_rng(seed)
    return [Sample({"energy": features(word, voice, random)}, voice, number) for voice in voices for number, word in enumerate(WORDS) for _ in range(count)]


def hidden(energy, filters, bias):
    """[12 * 16 * ...]: Relu of the convolution with stride 2, mean over blocks of 4 x 4."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(energy[0, 0], 2), (5, 5))[::2, ::2]
    values = np.maximum(np.einsum("hwij,fij->fhw", windows, filters) + bias[:, None, None], 0)
    return values.reshape(len(filters), FRAMES // 8, 4, BANDS // 8, 4).mean(axis=(2, 4)).reshape(-1)


def model():
    """Random filters, and a last layer found by least squares on words of the voices for training."""
    random = np.random.default_rng(5)
    filters, bias = random.normal(0, 0.3, (FILTERS, 5, 5)), random.uniform(-0.5, 0.5, FILTERS)
    rows = made(speech.TRAIN_VOICES, 12, 3)
    inputs = np.stack([hidden(row.feed["energy"], filters, bias) for row in rows])
    last = nets.least_squares(np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1), np.eye(len(WORDS))[[row.truth for row in rows]], 1e-3)
    weights = {"filters": filters[:, None], "bias": bias, "last": last[:-1], "last_bias": last[-1]}
    nodes = [("Conv", ("energy", "filters", "bias"), "conv", {"pads": [2] * 4, "strides": [2, 2]}), ("Relu", ("conv",), "relu", {}),
             ("AveragePool", ("relu",), "pool", {"kernel_shape": [4, 4], "strides": [4, 4]}), ("Flatten", ("pool",), "flat", {}), ("Gemm", ("flat", "last", "last_bias"), "scores", {})]
    return nets.save("keyword-spotting", nodes, {name: value.astype(np.float32) for name, value in weights.items()}, {"energy": [1, 1, FRAMES, BANDS]},
                     {"scores": [1, len(WORDS)]})


def samples():
    return made(speech.CALIB_VOICES, 1, 1), made(speech.EVAL_VOICES, 3, 2)


def score(outputs, sample, float_outputs):
    return {"top-1": compare.label(outputs["scores"][0], sample.truth), "same class": compare.same_choice(outputs["scores"], float_outputs["scores"])}


RECIPE = Recipe(kind="keyword spotting (CNN)", network="Conv, Relu, AveragePool, Gemm, trained by the recipe", source="made by recipes/keyword-spotting/recipe.py",
                licence="MIT", data=speech.DATA, model=model, samples=samples, scores=(Score("top-1", "truth"), Score("same class", "float model")), score=score)
