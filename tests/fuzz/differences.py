# SPDX-License-Identifier: MIT
"""When results of two programs are the same, and the table of differences that have a reason."""
from dataclasses import dataclass

import numpy as np

# Relative to the largest value of the output: sums are added in another order. float16: one of its roundings more or less.
TOLERANCES = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}


@dataclass
class Difference:
    """What differs first. `kind`: "shape", "type", "values", "missing"."""
    output: str
    kind: str
    text: str
    worst: float = 0.0


def scale_of(array):
    finite = np.abs(array[np.isfinite(array)]) if array.dtype.kind == "f" else np.abs(array.astype(np.float64))
    return max(1.0, float(finite.max(initial=0)))


def distances(found, wanted):
    """Elementwise; infinite where only one is no number or they are different infinities."""
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return np.where(np.isnan(off), np.inf, off)


def value_difference(found, wanted, slack):
    """The worst difference beyond tolerance and `slack` (an array or a number), 0 without any."""
    if wanted.dtype.kind != "f":
        return float(np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)) if not np.array_equal(found, wanted) else 0.0
    tolerance = TOLERANCES[wanted.dtype.name] * scale_of(wanted)
    off = distances(found, wanted)
    return float(np.where(off > tolerance + slack, off, 0.0).max(initial=0))


def first_difference(found, wanted, slack=None):
    """`found` and `wanted`: {output: array}. None when they are the same. `slack`: {output: array} of what more is allowed."""
    for name, array in wanted.items():
        mine = found.get(name)
        if mine is None:
            return Difference(name, "missing", f"{name} is missing")
        if mine.dtype != array.dtype:
            return Difference(name, "type", f"{name} is {mine.dtype}, expected {array.dtype}")
        if mine.shape != array.shape:
            return Difference(name, "shape", f"{name} has shape {mine.shape}, expected {array.shape}")
        worst = value_difference(mine, array, 0.0 if slack is None else slack.get(name, 0.0))
        if worst:
            place = np.unravel_index(np.argmax(distances(mine, array)), array.shape)
            return Difference(name, "values", f"{name} is off by {worst:.3g}: at {[int(k) for k in place]} {mine[place]!r}, expected {array[place]!r}", worst)
    return None
