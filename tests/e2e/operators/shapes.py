# SPDX-License-Identifier: MIT
"""Recipes of operators that move elements: views, joins, cuts, pads."""
import math

import numpy as np

from operators import recipe
from operators.builder import NUMBERS, array_tensor
from random_graphs import factorization

ANY = NUMBERS + [bool]


@recipe("Reshape")
def reshape(b, op):
    dims = b.dims(least=1, empty=0.05)
    if 0 in dims:
        b.call(op, [b.operand(dims, b.pick(ANY)), b.ints([3, 0, 2])], **({"allowzero": 1} if b.opset >= 14 else {}))
        return
    written = factorization(b, math.prod(dims))
    if b.chance(0.5):
        written[b.integer(0, len(written) - 1)] = -1
    if written[0] == dims[0] and b.chance(0.5):
        written[0] = 0
    b.call(op, [b.operand(dims, b.pick(ANY)), b.ints(written)])


@recipe("Flatten")
def flatten(b, op):
    dims = b.dims()
    b.call(op, [b.operand(dims, b.pick(ANY if b.opset >= 9 else [np.float32]))], axis=b.integer(-len(dims) if b.opset >= 11 else 0, len(dims)))


@recipe("Squeeze", "Unsqueeze")
def ones(b, op):
    dims = b.dims(most=3)
    rank = len(dims) + b.integer(1, 2)
    places = sorted(int(a) for a in b.rng.permutation(rank)[:rank - len(dims)])
    axes = [a if b.opset < 11 or b.chance(0.6) else a - rank for a in places]
    if op == "Squeeze":
        for place in places:
            dims.insert(place, 1)
    x = b.operand(dims, b.pick(ANY))
    if op == "Squeeze" and b.chance(0.15) and 1 in dims:
        b.call(op, [x])
        return
    if b.opset < 13:
        b.call(op, [x], axes=axes)
        return
    b.call(op, [x, b.ints(axes)])


@recipe("Transpose")
def transpose(b, op):
    dims = b.dims(most=5)
    b.call(op, [b.operand(dims, b.pick(ANY))], perm=[int(a) for a in b.rng.permutation(len(dims))] if dims and b.chance(0.8) else None)


@recipe("Concat")
def concat(b, op):
    dims, dtype = b.dims(least=1), b.pick(ANY)
    axis = b.integer(0, len(dims) - 1)
    inputs = [b.operand([b.integer(1, 4) if k == axis else d for k, d in enumerate(dims)], dtype) for _ in range(b.integer(1, 4))]
    b.call(op, inputs, axis=axis if b.opset < 11 or b.chance(0.6) else axis - len(dims))


@recipe("Split")
def split(b, op):
    parts = [b.integer(1, 3) for _ in range(b.integer(1, 4))]
    equal = b.chance(0.3)
    if equal:
        parts = [parts[0]] * len(parts)
    dims = b.dims(least=1, most=3)
    axis = b.integer(0, len(dims) - 1)
    dims[axis] = sum(parts)
    written = axis if b.opset < 11 or b.chance(0.6) else axis - len(dims)
    x = b.operand(dims, b.pick(ANY if b.opset >= 11 else [np.float32, np.int32]))
    if b.opset < 13:
        b.call(op, [x], len(parts), axis=written, split=None if equal else parts)
    elif equal:
        b.call(op, [x], len(parts), axis=written, **({"num_outputs": len(parts)} if b.opset >= 18 else {}))
    else:
        b.call(op, [x, b.ints(parts)], len(parts), axis=written)


@recipe("Slice", since=10)
def cut(b, op):
    dims = b.dims(least=1, empty=0)
    axes = b.axes(len(dims))
    starts, ends, steps = [], [], []
    for axis in axes:
        size = dims[axis]
        starts.append(b.integer(-size - 1, size))
        ends.append(b.pick([b.integer(-size - 1, size + 1), 2 ** 31 - 1, -(2 ** 31)]))
        steps.append(b.pick([1, 1, 2, -1, -2, 3]))
    kind = b.pick([np.int64, np.int64, np.int32])
    inputs = [b.operand(dims, b.pick(ANY)), *(b.stored(np.asarray(values, kind)) for values in (starts, ends, axes, steps))]
    b.call(op, inputs if b.chance(0.7) else inputs[:4])


@recipe("Slice")
def old_cut(b, op):
    if b.opset >= 10:
        cut(b, op)
        return
    dims = b.dims(least=1, empty=0)
    axis = b.integer(0, len(dims) - 1)
    begin = b.integer(0, dims[axis] - 1)
    b.call(op, [b.operand(dims, b.pick(ANY))], axes=[axis], starts=[begin], ends=[b.pick([begin + 1, 1000, dims[axis]])])


@recipe("Pad")
def pad(b, op):
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if b.opset >= 19 else [])
    mode = b.pick(modes)
    dims = [d + 2 for d in b.dims(least=1, largest=4, empty=0)]
    pads = [b.pick([0, 0, 1, 2, -1 if mode == "constant" else 0]) for _ in range(2 * len(dims))]
    pads = [min(p, dims[k % len(dims)] - 1) for k, p in enumerate(pads)]
    if b.opset < 11:
        b.call(op, [b.operand(dims, b.pick([np.float32, np.float64]))], mode=mode, pads=pads, value=b.pick([None, 0.5]))
        return
    dtype = b.pick([np.float32, np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8, np.uint32, np.uint64])
    inputs = [b.operand(dims, dtype), b.ints(pads)]
    if mode == "constant" and b.chance(0.6):
        inputs.append(b.stored(np.asarray(b.pick([0, 1]), dtype)))
    if b.opset >= 18 and b.chance(0.3):
        axes = sorted(a % len(dims) for a in b.axes(len(dims)))
        inputs[1] = b.ints([pads[a] for a in axes] + [pads[len(dims) + a] for a in axes])
        inputs += [""] * (3 - len(inputs)) + [b.ints(axes)]
    b.call(op, inputs, mode=mode)


@recipe("Expand", since=8)
def expand(b, op):
    dims = b.dims(empty=0)
    b.call(op, [b.operand(b.narrowed(dims), b.pick(ANY)), b.ints(b.pick([dims, b.narrowed(dims)]))])


@recipe("Tile")
def tile(b, op):
    dims = b.dims(least=1, largest=4)
    b.call(op, [b.operand(dims, b.pick([np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8, bool])), b.ints([b.pick([1, 1, 2, 3]) for _ in dims])])


@recipe("Trilu", since=14)
def triangle(b, op):
    dims = b.dims(least=2)
    inputs = [b.operand(dims, b.pick([np.float32, np.float64, np.int64, bool]))]
    b.call(op, inputs + ([b.stored(np.asarray(b.integer(-4, 4), np.int64))] if b.chance(0.7) else []), upper=b.pick([None, 0, 1]))


@recipe("EyeLike", since=9)
def eye(b, op):
    b.call(op, [b.operand(b.dims(2, 2), b.pick([np.float32, np.float64, np.int32, np.int64, np.uint64]))], k=b.pick([None, -1, 2]), dtype=b.pick([None, 1, 7, 11]))


@recipe("Shape", "Size")
def shape_of(b, op):
    dims = b.dims()
    attributes = {}
    if op == "Shape" and b.opset >= 15:
        attributes = {"start": b.pick([None, b.integer(-5, 5)]), "end": b.pick([None, b.integer(-5, 5)])}
    b.call(op, [b.operand(dims, b.pick(ANY))], **attributes)


@recipe("ConstantOfShape", since=9)
def filled(b, op):
    value = b.pick([None, np.float32(0.5), np.int64(3), np.int32(-1), np.uint8(7), np.bool_(True)])
    b.call(op, [b.ints(b.dims(), late=0.4)], value=None if value is None else array_tensor(np.asarray([value])))


@recipe("Range", since=11)
def numbers_in_a_row(b, op):
    dtype = b.pick([np.float32, np.float64, np.int32, np.int64] + ([np.float16] if b.opset >= 27 else []))
    start, step = b.integer(-3, 3), b.pick([1, 2, -1, -2])
    b.call(op, [b.stored(np.asarray(value, dtype)) for value in (start, start + step * b.integer(0, 6) + b.integer(0, 1), step)])


@recipe("DepthToSpace")
def depth_to_space(b, op):
    size = b.integer(1, 3)
    dims = [b.integer(1, 2), size * size * b.integer(1, 3), b.integer(1, 4), b.integer(1, 4)]
    b.call(op, [b.operand(dims, b.pick([np.float32, np.float64]))], blocksize=size, mode=b.pick([None, "DCR", "CRD"]) if b.opset >= 11 else None)


@recipe("SpaceToDepth")
def space_to_depth(b, op):
    size = b.integer(1, 3)
    dims = [b.integer(1, 2), b.integer(1, 4), size * b.integer(1, 3), size * b.integer(1, 3)]
    b.call(op, [b.operand(dims, b.pick([np.float32, np.float64]))], blocksize=size, mode=b.pick([None, "DCR", "CRD"]) if b.opset >= 28 else None)


@recipe("CenterCropPad", since=18)
def center(b, op):
    dims = b.dims(least=1, empty=0)
    axes = b.pick([None, sorted(a % len(dims) for a in b.axes(len(dims)))])
    b.call(op, [b.operand(dims), b.ints([b.integer(1, 7) for _ in (dims if axes is None else axes)])], axes=axes)


@recipe("ReverseSequence", since=10)
def reverse_sequence(b, op):
    dims = b.dims(least=2, empty=0)
    batch = b.integer(0, 1)
    b.call(op, [b.operand(dims, b.pick(ANY)), b.ints([b.integer(1, dims[1 - batch]) for _ in range(dims[batch])])], batch_axis=batch, time_axis=1 - batch)
