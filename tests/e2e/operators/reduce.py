# SPDX-License-Identifier: MIT
"""Recipes of operators that reduce, order or accumulate along axes."""
import numpy as np

from operators import recipe
from operators.builder import FLOATS, NUMBERS

REDUCED = [np.float32, np.float32, np.float64, np.float16, np.int32, np.int64]
AXES_AS_INPUT = {"ReduceSum": 13}  # others: 18


@recipe("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
def reduction(b, op):
    dims = b.dims(least=0, most=5, largest=5, empty=0)
    types = REDUCED + ([np.int8, np.uint8] if op in ("ReduceMax", "ReduceMin") and b.opset >= 12 else [])
    dtype = b.pick(FLOATS if op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceL2") else types)
    x = b.operand(dims, dtype, *((0.2, 2) if op in ("ReduceLogSum", "ReduceProd") else (None, None)))
    axes = b.axes(len(dims)) if dims and b.chance(0.8) else None
    keep = b.pick([None, 0, 1])
    if b.opset < AXES_AS_INPUT.get(op, 18):
        if b.opset < 11 and axes:
            axes = [a % len(dims) for a in axes]
        b.call(op, [x], axes=axes, keepdims=keep)
        return
    b.call(op, [x] + ([b.ints(axes)] if axes else []), keepdims=keep, noop_with_empty_axes=b.pick([None, 0, 1]))


@recipe("ReduceMax", "ReduceMin", since=20)
def reduction_of_bools(b, op):
    dims = b.dims(least=1, empty=0)
    b.call(op, [b.operand(dims, bool), b.ints(b.axes(len(dims)))], keepdims=b.pick([0, 1]))


@recipe("ArgMax", "ArgMin")
def extreme(b, op):
    dims = b.dims(least=1, empty=0)
    dtype = b.pick(FLOATS + [np.int32, np.int8, np.uint8, np.int64])
    x = b.stored(b.numbers(dims, dtype, -3, 3)) if b.chance(0.5) else b.operand(dims, dtype)
    axis = b.axis(len(dims))
    b.call(op, [x], axis=axis if b.opset >= 11 else axis % len(dims), keepdims=b.pick([None, 0, 1]),
           select_last_index=b.pick([None, 0, 1]) if b.opset >= 12 else None)


@recipe("CumProd", since=26)
@recipe("CumSum", since=11)
def running_sum(b, op):
    dims = b.dims(least=1)
    dtype = b.pick([np.float32, np.float64, np.int32, np.int64])
    b.call(op, [b.operand(dims, dtype), b.stored(np.asarray(b.axis(len(dims)), b.pick([np.int32, np.int64])))], exclusive=b.pick([None, 0, 1]),
           reverse=b.pick([None, 0, 1]))


@recipe("TopK")
def top_k(b, op):
    dims = b.dims(least=1, largest=8, empty=0)
    axis = b.axis(len(dims))
    if b.opset < 11:
        axis %= len(dims)
    k = b.integer(1, dims[axis])
    dtype = b.pick([np.float32, np.float64] + ([np.int32, np.int64, np.int8, np.uint8] if b.opset >= 11 else []))
    x = b.operand(dims, dtype, -4, 4)
    if b.opset < 10:
        b.call(op, [x], 2, axis=axis, k=k)
        return
    attributes = {"largest": b.pick([None, 0, 1]), "sorted": 1} if b.opset >= 11 else {}
    b.call(op, [x, b.ints([k])], 2, axis=axis, **attributes)


@recipe("Softmax", "LogSoftmax", "Hardmax")
def normalized_exponentials(b, op):
    dims = b.dims(least=1, empty=0)
    axis = b.axis(len(dims))
    types = [np.float32, np.float32, np.float64, np.float16]
    b.call(op, [b.operand(dims, b.pick(types), *b.pick([(None, None), (-30, 30)]))], axis=b.pick([None, axis if b.opset >= 11 else axis % len(dims)]) if
           b.opset >= 13 or len(dims) > 1 else 0)


@recipe("Unique", since=11)
def unique(b, op):
    dims = b.dims(least=1, empty=0)
    dtype = b.pick([np.float32, np.float64, np.int64, np.int8])
    x = b.given(b.numbers(dims, np.int64, -2, 2).astype(dtype))
    b.call(op, [x], b.integer(1, 4), axis=b.pick([None, b.axis(len(dims))]), sorted=b.pick([None, 0, 1]))


@recipe("NonZero", since=9)
def non_zero(b, op):
    dtype = b.pick([np.float32, np.int32, np.int64, np.uint8, bool])
    b.call(op, [b.given(b.numbers(b.dims(least=1), np.int64, 0, 1).astype(dtype))])


@recipe("Compress", since=9)
def compress(b, op):
    dims = b.dims(least=1, empty=0)
    axis = b.pick([None, b.axis(len(dims))])
    length = int(np.prod(dims)) if axis is None else dims[axis]
    b.call(op, [b.operand(dims, b.pick(NUMBERS + [bool])), b.stored(b.numbers([b.integer(1, length)], bool), late=0.5)], axis=axis)


@recipe("OneHot", since=9)
def one_hot(b, op):
    dims = b.dims(most=3)
    depth = b.integer(1, 6)
    kind, index = b.pick([np.float32, np.int64, np.int32]), b.pick([np.int64, np.int32])
    indices = b.operand(dims, index, -depth - 1 if b.opset >= 11 else 0, depth)
    b.call(op, [indices, b.stored(np.asarray(b.pick([depth, [depth]]), b.pick([np.int64, np.int32]))), b.stored(b.numbers([2], kind, 0, 3))],
           axis=b.integer(-len(dims) - 1, len(dims)))
