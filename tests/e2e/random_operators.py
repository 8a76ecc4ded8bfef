# SPDX-License-Identifier: MIT
"""Random models over all operators that have a recipe (operators/): single calls, and chains of calls that read each other's results."""
import numpy as np

import operators
from operators.builder import NEWEST_OPSET, TypedBuilder

OLDEST_OPSET = 7
CHAIN_OLDEST_OPSET = 13


def draw_from(opset):
    """Draws only models of this opset and newer ones."""
    global OLDEST_OPSET, CHAIN_OLDEST_OPSET
    OLDEST_OPSET, CHAIN_OLDEST_OPSET = max(OLDEST_OPSET, opset), max(CHAIN_OLDEST_OPSET, opset)


def names():
    return sorted(operators.load_all())


def add_call(b, name):
    """Adds a call of the operator; False when the builder's opset has none."""
    fitting = [function for since, function in operators.load_all()[name] if since <= b.opset]
    if fitting:
        b.pick(fitting)(b, name.split(":")[-1])
    return bool(fitting)


def single_call(name, seed):
    """The builder with one call of the operator, of an opset that has it. Newer opsets are likelier."""
    rng = np.random.default_rng(seed)
    newest = operators.NEWEST.get(name, NEWEST_OPSET)
    oldest = min(max(OLDEST_OPSET, min(since for since, _ in operators.load_all()[name])), newest)
    likelier = min(max(oldest, CHAIN_OLDEST_OPSET), newest)
    opset = int(rng.integers(oldest, newest + 1)) if rng.random() < 0.5 else int(rng.integers(likelier, newest + 1))
    b = TypedBuilder([seed, 1], opset)
    add_call(b, name)
    return b


def chain_of_calls(among, seed, longest=10):
    """The builder with 2 to `longest` calls of operators from the list `among`."""
    rng = np.random.default_rng(seed)
    b = TypedBuilder([seed, 2], int(rng.integers(CHAIN_OLDEST_OPSET, NEWEST_OPSET + 1)), is_chain=True)
    for _ in range(b.integer(2, longest)):
        add_call(b, b.pick(among))
    return b
