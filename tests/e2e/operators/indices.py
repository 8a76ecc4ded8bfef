# SPDX-License-Identifier: MIT
"""Recipes of operators whose inputs are places in another input."""
import numpy as np

from operators import recipe
from operators.builder import NUMBERS

ANY = NUMBERS + [bool]


def places(b, dims, size, dtype=np.int64, late=0.5):
    """Indices of a dimension of this size, counted from either side where the opset allows it."""
    return b.stored(b.numbers(dims, dtype, -size if b.opset >= 11 else 0, size - 1), late)


@recipe("Gather")
def gather(b, op):
    dims = b.dims(least=1, most=3, empty=0)
    axis = b.axis(len(dims))
    b.call(op, [b.operand(dims, b.pick(ANY)), places(b, b.dims(most=2), dims[axis], b.pick([np.int64, np.int32]))], axis=axis)


@recipe("GatherElements", since=11)
def gather_elements(b, op):
    dims = b.dims(least=1, empty=0)
    axis = b.axis(len(dims))
    of = [b.integer(1, d) for d in dims]
    of[axis] = b.integer(1, 5)
    b.call(op, [b.operand(dims, b.pick(ANY)), places(b, of, dims[axis], b.pick([np.int64, np.int32]))], axis=axis)


@recipe("GatherND", since=11)
def gather_nd(b, op):
    dims = b.dims(least=1, empty=0)
    batch = b.integer(0, len(dims) - 1) if b.opset >= 12 and b.chance(0.4) else 0
    depth = b.integer(1, len(dims) - batch)
    of = dims[:batch] + b.dims(most=2, empty=0) + [depth]
    index = np.stack([b.numbers(of[:-1], np.int64, -dims[batch + k], dims[batch + k] - 1) for k in range(depth)], axis=-1)
    b.call(op, [b.operand(dims, b.pick(ANY)), b.stored(index, late=0.5)], batch_dims=batch if b.opset >= 12 else None)


def different_rows(b, shape, axis, size):
    """Indices without two equal ones in a line along `axis`: the last write must not matter."""
    rows = np.empty(shape, np.int64)
    lines = np.moveaxis(rows, axis, -1)
    for at in np.ndindex(lines.shape[:-1]):
        lines[at] = b.rng.permutation(size)[:lines.shape[-1]]
    return rows


@recipe("ScatterElements", since=11)
def scatter_elements(b, op):
    dims = b.dims(least=1, empty=0)
    axis = b.axis(len(dims))
    reductions = [None, "none"] + (["add", "mul"] if b.opset >= 16 else []) + (["max", "min"] if b.opset >= 18 else [])
    reduction = b.pick(reductions)
    dtype = b.pick([np.float32, np.int32, np.int64]) if reduction in ("add", "mul", "max", "min") else b.pick(ANY)
    of = [b.integer(1, d) for d in dims]
    index = different_rows(b, of, axis, dims[axis])
    b.call(op, [b.operand(dims, dtype), b.stored(index, late=0.5), b.operand(of, dtype)], axis=axis, reduction=reduction if b.opset >= 16 else None)


@recipe("Scatter", since=9, until=10)
def old_scatter(b, op):
    if b.opset > 10:
        return scatter_elements(b, "ScatterElements")
    dims = b.dims(least=1, empty=0)
    axis = b.integer(0, len(dims) - 1)
    of = [b.integer(1, d) for d in dims]
    return b.call(op, [b.operand(dims), b.stored(different_rows(b, of, axis, dims[axis])), b.operand(of)], axis=axis)


@recipe("ScatterND", since=11)
def scatter_nd(b, op):
    dims = b.dims(least=1, empty=0)
    depth = b.integer(1, len(dims))
    count = min(b.integer(1, 4), int(np.prod(dims[:depth])))
    flat = b.rng.permutation(int(np.prod(dims[:depth])))[:count]
    index = np.stack(np.unravel_index(flat, dims[:depth]), axis=-1).astype(np.int64)
    reductions = [None, "none"] + (["add", "mul"] if b.opset >= 16 else []) + (["max", "min"] if b.opset >= 18 else [])
    reduction = b.pick(reductions)
    dtype = b.pick([np.float32, np.int32, np.int64]) if reduction in ("add", "mul", "max", "min") else b.pick(ANY)
    b.call(op, [b.operand(dims, dtype), b.stored(index, late=0.5), b.operand([count] + dims[depth:], dtype)], reduction=reduction if b.opset >= 16 else None)


@recipe("TensorScatter", since=24)
def tensor_scatter(b, op):
    batch, length, size = b.integer(1, 3), b.integer(2, 6), b.integer(1, 4)
    update = b.integer(1, length)
    mode = b.pick([None, "linear", "circular"])
    inputs = [b.operand([batch, length, size]), b.operand([batch, update, size])]
    if b.chance(0.7):
        inputs.append(b.stored(b.numbers([batch], np.int64, 0, length - update if mode != "circular" else length - 1)))
    b.call(op, inputs, axis=-2, mode=mode)


@recipe("NonMaxSuppression", since=10)
def non_max_suppression(b, op):
    batch, count, classes = b.integer(1, 2), b.integer(1, 9), b.integer(1, 3)
    corners = b.numbers([batch, count, 2], np.float32, 0, 5)
    boxes = np.concatenate([corners, corners + b.numbers([batch, count, 2], np.float32, 0.5, 3)], axis=-1)
    inputs = [b.given(boxes), b.operand([batch, classes, count], np.float32, 0, 1), b.ints([b.integer(1, 5)]), b.stored(np.float32([b.pick([0.3, 0.5])]))]
    b.call(op, inputs + ([b.stored(np.float32([0.2]))] if b.chance(0.6) else []), center_point_box=b.pick([None, 0, 1]))


@recipe("MaxUnpool", since=9)
def unpool(b, op):
    dims = [b.integer(1, 2), b.integer(1, 3), 2 * b.integer(1, 3), 2 * b.integer(1, 3)]
    values, index = b.call("MaxPool", [b.given(b.numbers(dims))], 2, kernel_shape=[2, 2], strides=[2, 2])
    b.call(op, [values, index], kernel_shape=[2, 2], strides=[2, 2])


@recipe("TfIdfVectorizer", since=9)
def tfidf(b, op):
    length, grams = b.integer(2, 9), [1, 2, 3, 1, 2, 2, 3]
    weights = {"weights": [0.5, 1.0, 2.0, 1.5, 0.25]}
    mode = b.pick(["TF", "IDF", "TFIDF"])
    dims = [length] if b.chance(0.5) else [b.integer(1, 3), length]
    b.call(op, [b.given(b.numbers(dims, b.pick([np.int32, np.int64]), 1, 4))], mode=mode, min_gram_length=1, max_gram_length=2,
           max_skip_count=b.integer(0, 2), ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=grams, **weights)
