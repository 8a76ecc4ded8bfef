# SPDX-License-Identifier: MIT
"""A small language model of characters, trained by this script on docstrings of a wheel; scored in bits per character on other files."""
import numpy as np

from _lib import compare, fetch, nets
from _lib.recipe import Recipe, Sample, Score
from _lib.wheels import GRADIO, MATPLOTLIB, SCIKIT_IMAGE, SCIKIT_LEARN

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz.,'-()"
WINDOW, WIDTH, HIDDEN, BATCH, STEPS = 12, 16, 192, 256, 2500
LINE = 64  # predictions in a sample


def text(wheel, suffix):
    """The words of the wheel's modules between triple quotes, in lower case, without characters outside of the alphabet."""
    pieces = [fetch.read(wheel, name).decode(errors="replace").split('"""')[1::2] for name in fetch.members(wheel, suffix)]
    whole = " ".join(" ".join(piece.split()) for file in pieces for piece in file).lower()
    return np.array([ALPHABET.index(one) for one in whole if one in ALPHABET])


def forward(values, context):
    inputs = values["table"][context].reshape(len(context), -1)
    first = np.maximum(inputs @ values["w1"] + values["b1"], 0)
    second = np.maximum(first @ values["w2"] + values["b2"], 0)
    return inputs, first, second, second @ values["w3"] + values["b3"]


def gradients_of(codes, random):
    def gradients(values, _):
        places = random.integers(WINDOW, len(codes), BATCH)
        context = codes[places[:, None] + np.arange(-WINDOW, 0)]
        inputs, first, second, scores = forward(values, context)
        slope = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope /= slope.sum(axis=1, keepdims=True)
        slope[np.arange(BATCH), codes[places]] -= 1
        slope /= BATCH
        back2 = (slope @ values["w3"].T) * (second > 0)
        back1 = (back2 @ values["w2"].T) * (first > 0)
        table = np.zeros_like(values["table"])
        np.add.at(table, context.reshape(-1), (back1 @ values["w1"].T).reshape(-1, WIDTH))
        return {"w3": second.T @ slope, "b3": slope.sum(axis=0), "w2": first.T @ back2, "b2": back2.sum(axis=0), "w1": inputs.T @ back1, "b1": back1.sum(axis=0), "table": table}
    return gradients


def model():
    random, letters = np.random.default_rng(11), len(ALPHABET)
    sizes = {"table": (letters, WIDTH), "w1": (WINDOW * WIDTH, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, HIDDEN), "b2": (HIDDEN,), "w3": (HIDDEN, letters), "b3": (letters,)}
    values = {name: random.normal(0, size[0] ** -0.5 if len(size) == 2 and name != "table" else 0.3, size) * (len(size) == 2) for name, size in sizes.items()}
    nets.adam(values, gradients_of(text(SCIKIT_LEARN, ".py"), random), 2e-3, STEPS)
    nodes = [("Reshape", ("context", "flat_shape"), "onehot", {}), ("MatMul", ("onehot", "table"), "vectors", {}), ("Reshape", ("vectors", "joined_shape"), "joined", {}),
             ("Gemm", ("joined", "w1", "b1"), "gemm1", {}), ("Relu", ("gemm1",), "relu1", {}), ("Gemm", ("relu1", "w2", "b2"), "gemm2", {}), ("Relu", ("gemm2",), "relu2", {}),
             ("Gemm", ("relu2", "w3", "b3"), "scores", {})]
    weights = {name: value.astype(np.float32) for name, value in values.items()}
    weights |= {"flat_shape": np.array([LINE * WINDOW, letters]), "joined_shape": np.array([LINE, WINDOW * WIDTH])}
    return nets.save("language-model", nodes, weights, {"context": [LINE, WINDOW, letters]}, {"scores": [LINE, letters]})


def made(wheel, count, seed):
    codes, random, found = text(wheel, ".py"), np.random.default_rng(seed), []
    for place in random.choice(len(codes) // LINE - 2, count, replace=False) * LINE + WINDOW:
        places = place + np.arange(LINE)
        context = codes[places[:, None] + np.arange(-WINDOW, 0)]
        found.append(Sample({"context": np.eye(len(ALPHABET), dtype=np.float32)[context]}, f"{wheel.name} {place}", codes[places]))
    return found


def samples():
    return made(SCIKIT_IMAGE, 32, 1), made(MATPLOTLIB, 48, 2) + made(GRADIO, 48, 3)


def score(outputs, sample, float_outputs):
    scores = outputs["scores"].astype(np.float64)
    surprise = np.log2(np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1)) - (scores - scores.max(axis=1, keepdims=True))[np.arange(LINE), sample.truth] / np.log(2)
    return {"bits per character": (float(surprise.sum()), float(LINE)), "same character": compare.same_choice(outputs["scores"], float_outputs["scores"])}


RECIPE = Recipe(kind="language model (characters)", network="embedding and three Gemm layers, trained by the recipe", source="made by recipes/language-model/recipe.py",
                licence="MIT", data="docstrings of the wheels matplotlib and gradio; trained on scikit-learn, calibrated on scikit-image", model=model, samples=samples,
                presets=("A8W8", "A16W8"), scores=(Score("bits per character", "truth", better="lower", is_share=False, unit="bits"), Score("same character", "float model")),
                score=score)
