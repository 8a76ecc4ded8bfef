# SPDX-License-Identifier: MIT
"""Recipes of normalizations. Epsilons are large: values that hardly vary would be blown up, and their roundings with them."""
import numpy as np

from operators import recipe
from operators.builder import FLOATS

TYPES = [np.float32, np.float32, np.float64]


def features(b, least=2, most=5):
    """[batch, channels, ...] without dimensions of 0."""
    return b.dims(least=least, most=most, largest=5, empty=0)


@recipe("BatchNormalization")
def batch_norm(b, op):
    dims = features(b)
    dtype = b.pick([np.float32, np.float32, np.float64, np.float16])
    scale, bias, mean = (b.operand([dims[1]], dtype, late=0.2) for _ in range(3))
    b.call(op, [b.operand(dims, dtype), scale, bias, mean, b.operand([dims[1]], dtype, 0.3, 2, late=0.2)], epsilon=b.pick([None, 0.1]))


@recipe("InstanceNormalization")
def instance_norm(b, op):
    dims = features(b, 3)
    b.call(op, [b.operand(dims), b.operand([dims[1]], late=0.2), b.operand([dims[1]], late=0.2)], epsilon=0.1)


@recipe("GroupNormalization", since=21)
def group_norm(b, op):
    groups = b.integer(1, 3)
    dims = features(b, 3)
    dims[1] = groups * b.integer(1, 3)
    b.call(op, [b.operand(dims), b.operand([dims[1]], late=0.2), b.operand([dims[1]], late=0.2)], types=[np.float32], num_groups=groups, epsilon=0.1)


@recipe("LayerNormalization", since=17)
def layer_norm(b, op):
    dims = features(b)
    dtype, axis = b.pick(TYPES), b.axis(len(dims))
    inner = dims[axis:]
    inputs = [b.operand(dims, dtype), b.operand(inner, dtype, late=0.2)] + ([b.operand(inner, dtype, late=0.2)] if b.chance(0.6) else [])
    b.call(op, inputs, b.pick([1, 1, 3]) if dtype == np.float32 else 1, axis=axis, epsilon=0.1)


@recipe("RMSNormalization", since=23)
def rms_norm(b, op):
    dims = features(b)
    axis = b.axis(len(dims))
    b.call(op, [b.operand(dims), b.operand(dims[axis:], late=0.2)], axis=axis, epsilon=0.1)


@recipe("SimplifiedLayerNormalization")
def simplified_norm(b, op):
    dims = features(b)
    b.call(op, [b.operand(dims), b.operand(dims[-1:], late=0.2)], types=[np.float32], axis=-1, epsilon=0.1)


@recipe("LpNormalization")
def lp_norm(b, op):
    dims = features(b, 1)
    axis = b.axis(len(dims))
    b.call(op, [b.operand(dims, b.pick(TYPES), 0.1, 2)], axis=axis, p=b.pick([None, 1, 2]))


@recipe("MeanVarianceNormalization", since=9)
def mean_variance(b, op):
    dims = [d + 1 for d in b.dims(least=4, most=4, largest=4, empty=0)]
    b.call(op, [b.stored(b.numbers(dims), late=0.6)], axes=b.pick([[0, 2, 3], [2, 3], [1]]))


@recipe("LRN")
def local_response(b, op):
    b.call(op, [b.operand(features(b, 3, 4))], size=b.pick([1, 3, 5]), alpha=b.pick([None, 0.1]), beta=b.pick([None, 0.5]), bias=b.pick([None, 2.0]))


@recipe("SkipLayerNormalization", domain="com.microsoft")
def skip_layer_norm(b, _):
    dims = features(b, 3, 3)
    inputs = [b.operand(dims), b.operand(dims), b.operand(dims[-1:]), b.operand(dims[-1:])] + ([b.operand(dims[-1:])] if b.chance(0.5) else [])
    b.call("SkipLayerNormalization", inputs, domain="com.microsoft", types=[np.float32], epsilon=0.1)


@recipe("BiasGelu", "FastGelu", "Gelu", "QuickGelu", domain="com.microsoft")
def fused_gelu(b, op):
    dims = b.dims(least=1, empty=0)
    inputs = [b.operand(dims)] + ([b.operand(dims[-1:])] if op == "BiasGelu" or (op == "FastGelu" and b.chance(0.5)) else [])
    b.call(op, inputs, domain="com.microsoft", types=[np.float32])


@recipe("HardSwish", "Celu", since=14)
def far_norm(b, op):
    b.call(op, [b.operand(b.dims(), np.float32 if op == "Celu" else b.pick(FLOATS), -10, 10)])
