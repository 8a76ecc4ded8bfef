# SPDX-License-Identifier: MIT
"""Differences between quarkq and ONNX Runtime that have a reason: a row each, with the models and the differences it is about. Ends of the process
that have one: a row each, with what the parts do alone."""
from dataclasses import dataclass
from typing import Callable

import numpy as np
import reference
import workers
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

# Kernels that compute float64 in float32 and round once (exec/kernels/shared/type_bridges.h).
BRIDGED = {"AffineGrid", "Attention", "BatchNormalization", "Col2Im", "GridSample", "Gelu", "GroupNormalization", "Hardmax", "InstanceNormalization",
           "LayerNormalization", "LogSoftmax", "LpNormalization", "LpPool", "LRN", "MeanVarianceNormalization", "RMSNormalization", "Resize", "Shrink",
           "Softmax", "DFT", "Einsum", "GlobalLpPool", "AveragePool", "GlobalAveragePool", "RoiAlign"}
POOLS = {"MaxPool", "AveragePool", "LpPool"}
LARGEST_ENDS = (2 ** 31 - 1, 2 ** 63 - 1)


@dataclass
class Row:
    id: str
    reason: str
    holds: Callable  # (node, model, difference) -> bool
    ops: frozenset


ROWS = []


def row(name, reason, *ops):
    """A row about calls of these operators. The function: whether a call explains the difference."""
    def register(holds):
        ROWS.append(Row(name, reason, holds, frozenset(ops)))
        return holds
    return register


def attribute(node, name, default=None):
    found = [helper.get_attribute_value(one) for one in node.attribute if one.name == name]
    return found[0] if found else default


def value(model, node, place):
    """Input `place` of the node where it is stored or fed, else None."""
    name = node.input[place] if place < len(node.input) else ""
    if name in model.feeds:
        return model.feeds[name]
    return next((numpy_helper.to_array(one) for one in model.proto.graph.initializer if one.name == name), None)


def opset_of(model):
    return next(one.version for one in model.proto.opset_import if not one.domain)


@row("float64 in float32", "the kernel computes float64 in float32: networks hold no float64, and one set of vectorized loops serves all types", *BRIDGED)
def computed_in_float32(_, model, difference):
    if difference.kind != "values" or model.wanted[difference.output].dtype != np.float64:
        return False
    finite = np.abs(model.wanted[difference.output])
    return difference.worst <= 1e-5 * max(1.0, float(finite[np.isfinite(finite)].max(initial=0)))


@row("Slice backwards to the largest integer", "ONNX clamps ends as NumPy does, so that nothing lies between; ONNX Runtime takes the largest integer as "
     "the end in the direction of the step", "Slice")
def backwards_to_the_end(node, model, _):
    ends, steps = value(model, node, 2), value(model, node, 4)
    return ends is not None and steps is not None and any(int(end) in LARGEST_ENDS and step < 0 for end, step in zip(ends, steps))


def smaller_than_stride(node):
    strides = attribute(node, "strides", [])
    return attribute(node, "auto_pad", b"NOTSET").startswith(b"SAME") and any(k < s for k, s in zip(attribute(node, "kernel_shape", []), strides))


@row("pools with negative automatic pads", "a window smaller than its stride needs fewer elements than there are: quarkq pads nothing, as both programs do "
     "for Conv; ONNX Runtime cuts elements off in front", *POOLS)
def negative_pads(node, _, __):
    return smaller_than_stride(node)


@row("ConvTranspose with negative automatic pads", "ONNX defines the output as input times stride; ONNX Runtime makes it smaller where the window is smaller "
     "than the stride", "ConvTranspose")
def negative_transposed_pads(node, _, __):
    return smaller_than_stride(node)


@row("mask of Dropout before opset 12", "not defined for inference before opset 12; quarkq gives what opset 12 says, all true", "Dropout")
def mask_of_dropout(node, model, _):
    return min(opset_of(model), getattr(model, "other_opset", 99)) < 12 and len(node.output) > 1


@row("Cast of real numbers to 2 or 4 bits", "ONNX drops the fraction, as for all integers; ONNX Runtime rounds to the nearest one", "Cast", "CastLike")
def rounded_to_few_bits(node, _, difference):
    return difference.kind == "values" and difference.worst <= 3 and attribute(node, "to") in (21, 22, 25, 26)


@row("QuantizeLinear of float16 at ties", "a quotient of float16 values is rounded to float16 by one program and not by the other: one step", "QuantizeLinear")
def half_quotients(node, model, difference):
    scale = value(model, node, 1)
    return scale is not None and scale.dtype == np.float16 and difference.kind == "values" and difference.worst <= 1


@row("Resize of integers", "refused by name: quarkq resizes real types", "Resize", "Upsample")
def resized_integers(_, __, difference):
    return difference.kind == "refused" and "allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE" in difference.text


def shape_of(model, name):
    """Dims of a value as it is fed, or as far as the onnx library infers them, else None."""
    if name in model.feeds:
        return model.feeds[name].shape
    inferred = shape_inference.infer_shapes(model.proto).graph
    dims = [[dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in (*inferred.input, *inferred.value_info) if one.name == name]
    dims += [list(one.dims) for one in inferred.initializer if one.name == name]
    return dims[0] if dims and 0 not in dims[0] else None


def resized_axes(node, model):
    """[(elements of the input, of the output, scale)] of a Resize, or nothing where they are not stored."""
    scales, sizes = value(model, node, 2), value(model, node, 3)
    length = shape_of(model, node.input[0])
    asked = [one for one in (scales, sizes) if one is not None and one.size]
    if length is None or not asked:
        return []
    axes = attribute(node, "axes") or range(len(length))
    if asked[0] is sizes:
        return [(length[axis], int(size), size / length[axis]) for axis, size in zip(axes, sizes)]
    return [(length[axis], int(length[axis] * scale), float(scale)) for axis, scale in zip(axes, scales)]


@row("Resize at the border of two places", "with half_pixel_symmetric ONNX Runtime takes one part of the position in float32 and one in float64: a position that is "
     "whole by the definition falls below it; quarkq gives what the onnx library's reference gives", "Resize")
def fallen_position(node, model, difference):
    """`floor` and `ceil` of a position that is whole, but for roundings."""
    if difference.kind != "values" or attribute(node, "coordinate_transformation_mode") != b"half_pixel_symmetric":
        return False
    if attribute(node, "mode", b"nearest") != b"nearest" or attribute(node, "nearest_mode") not in (b"floor", b"ceil"):
        return False
    for inside, outside, scale in resized_axes(node, model):
        positions = inside / 2 * (1 - outside / (scale * inside)) + (np.arange(outside) + 0.5) / scale - 0.5
        if np.any(np.abs(positions - np.round(positions)) < 1e-5):
            return True
    return False


@row("AffineGrid of one place", "the definition divides 0 by 0 where corners are aligned on an axis of one place; quarkq takes the middle as PyTorch does, ONNX "
     "Runtime the end", "AffineGrid")
def single_place(node, model, _):
    size = value(model, node, 1)
    return attribute(node, "align_corners", 0) == 1 and size is not None and 1 in size[2:]


@row("NaN among extremes", "ONNX does not order NaN, and ONNX Runtime's maxima depend on where it lies; quarkq's reductions give NaN", "ReduceMax", "ReduceMin",
     "MaxPool", "GlobalMaxPool", "Max", "Min", "ArgMax", "ArgMin", "TopK", "Hardmax")
def extremes_of_nan(_, model, difference):
    return difference.kind == "values" and (np.isinf(difference.worst) or np.isnan(model.wanted[difference.output].astype(np.float64)).any())


@row("Clip of infinities without a limit", "ONNX Runtime takes the largest number for a missing limit, so that infinities become numbers; the body of Clip keeps them",
     "Clip")
def unlimited(node, model, difference):
    return difference.kind == "values" and np.isinf(difference.worst) and (len(node.input) < 3 or not all(node.input))


@row("HardSwish of float64", "ONNX Runtime runs the operator's body, where 1/6 is a float32", "HardSwish")
def sixth(_, model, difference):
    return difference.kind == "values" and model.wanted[difference.output].dtype == np.float64 and difference.worst < 1e-6


@row("QLinearAdd and QLinearMul at ties", "sums and products of scales are rounded in another order: one step", "QLinearAdd", "QLinearMul", "QGemm")
def quantized_ties(_, __, difference):
    return difference.kind == "values" and difference.worst <= 1


@row("Sign of NaN in float16", "not defined by ONNX; ONNX Runtime gives NaN for float32 and 0 for float16, quarkq NaN for both", "Sign")
def sign_of_nan(_, model, difference):
    return difference.kind == "values" and model.wanted[difference.output].dtype == np.float16 and np.isinf(difference.worst)


@row("MeanVarianceNormalization", "ONNX Runtime takes the variance as a difference of means, which cancels", "MeanVarianceNormalization")
def cancelled_variance(_, __, difference):
    return difference.kind == "values" and difference.worst < 1e-3


@row("Cast to 8-bit floats without saturation", "quarkq agrees with the onnx library's reference; ONNX Runtime makes 448 of 480 and NaN of values just beyond the "
     "largest of FLOAT8E5M2", "Cast")
def unsaturated(node, _, difference):
    return difference.kind == "values" and attribute(node, "saturate", 1) == 0


@row("Softplus of float16", "log(exp(x) + 1) overflows in ONNX Runtime's float16; quarkq computes float16 in float32", "Softplus", "Mish")
def overflown(_, model, difference):
    return difference.kind == "values" and model.wanted[difference.output].dtype == np.float16 and np.isinf(difference.worst)


@row("STFT without onesided", "the onnx library infers two sides where the attribute is absent, although its default is one: shapes known later contradict that, "
     "and the model is refused", "STFT")
def sides(node, _, difference):
    return difference.kind == "refused" and "Inferred shape and existing shape differ" in difference.text and attribute(node, "onesided") is None


NORMS = ("InstanceNormalization", "LayerNormalization", "GroupNormalization", "SkipLayerNormalization", "RMSNormalization", "BatchNormalization", "LpNormalization")


@row("normalized values that hardly vary", "a small variance is a sum of roundings, which the two programs make in another order; the quotient makes them larger", *NORMS)
def small_variance(_, model, difference):
    if difference.kind != "values" or model.wanted[difference.output].dtype.kind != "f":
        return False
    finite = np.abs(model.wanted[difference.output].astype(np.float64))
    return difference.worst <= 1e-3 * max(1.0, float(finite[np.isfinite(finite)].max(initial=0)))


def products(x, weights, zero_of_x, zero_of_weights, least, largest):
    """Sums of products of bytes, where pairs of products are held to [least, largest]."""
    shift = 128 if x.dtype == np.int8 else 0  # bytes with a sign are made ones without
    x, weights, zero_of_x = (np.asarray(one, np.int64) + more for one, more in ((x, shift), (weights, 0), (zero_of_x, shift)))
    inner, pad = x.shape[-1], x.shape[-1] % 2
    even_x = np.concatenate([x, np.zeros((*x.shape[:-1], pad), np.int64)], -1)
    even_weights = np.concatenate([weights, np.zeros((pad, weights.shape[1]), np.int64)])
    pairs = even_x[..., 0::2, None] * even_weights[0::2] + even_x[..., 1::2, None] * even_weights[1::2]
    return (np.clip(pairs, least, largest).sum(-2) - zero_of_x * weights.sum(0) - zero_of_weights * x.sum(-1, keepdims=True)
            + inner * zero_of_x * zero_of_weights)


# Inputs of products of bytes: (x, weights and their zero points), (scales of both and of the result), zero point of the result, bias.
PRODUCTS = {"MatMulInteger": ((0, 1, 2, 3), (), None, None), "QLinearMatMul": ((0, 3, 2, 5), (1, 4, 6), 7, None), "QGemm": ((0, 3, 2, 5), (1, 4, 7), 8, 6)}


def stored_number(array):
    return 0 if array is None else array.ravel()[0].item()


@row("pairs of products in 16 bits", "without VNNI, ONNX Runtime adds pairs of products of bytes in 16 bits, which saturate (docs/running-elsewhere.md); quarkq "
     "is exact. Held only where ONNX Runtime's values are those of saturated pairs, and the difference is theirs to the exact ones", *PRODUCTS)
def saturated_pairs(node, model, difference):
    if difference.kind != "values" or difference.output != node.output[0]:
        return False
    places, scales, zero, bias = PRODUCTS[node.op_type]
    x, weights, *zeros = (value(model, node, place) for place in places)
    others = [value(model, node, place) for place in (*scales, zero) if place is not None]
    if x is None or weights is None or weights.dtype != np.int8 or x.size == 0 or any(one is not None and one.size != 1 for one in (*zeros, *others)):
        return False
    zeros = [stored_number(one) for one in zeros]
    both = [products(x, weights, *zeros, *ends) for ends in ((-2 ** 15, 2 ** 15 - 1), (-2 ** 31, 2 ** 31))]
    if bias is not None and value(model, node, bias) is not None:
        both = [sums + value(model, node, bias) for sums in both]
    if scales:
        factors, ends = [stored_number(one) for one in others], np.iinfo(model.wanted[difference.output].dtype)
        both = [np.clip(np.rint(sums * (factors[0] * factors[1] / factors[2])) + factors[3], ends.min, ends.max) for sums in both]
    wanted, one_step = model.wanted[difference.output].astype(np.int64), int(bool(scales))
    saturated, exact = (np.abs(made - wanted).max() for made in both)
    return saturated <= one_step and abs(exact - difference.worst) <= one_step


@row("pairs of products in 16 bits, convolutions", "as above; the onnx library's reference, which is exact, gives what quarkq does", "ConvInteger", "QLinearConv")
def saturated_convolution(node, model, difference):
    if difference.kind != "values" or len(model.proto.graph.node) > 1 or reference.adds_products_exactly():
        return False
    weights = value(model, node, 3 if node.op_type == "QLinearConv" else 1)
    if weights is None or weights.dtype != np.int8:
        return False
    exact = ReferenceEvaluator(model.proto).run([difference.output], model.feeds)[0].astype(np.int64)
    one_step = int(node.op_type == "QLinearConv")
    return abs(np.abs(exact - model.wanted[difference.output].astype(np.int64)).max() - difference.worst) <= one_step


def find(model, difference):
    """The first row that explains the difference, or None."""
    for candidate in ROWS:
        if any(node.op_type in candidate.ops and candidate.holds(node, model, difference) for node in model.proto.graph.node):
            return candidate
    return None


@dataclass
class Ending:
    id: str
    reason: str
    holds: Callable  # ({"quarkq", "input"}: what each returned alone, or workers.Died) -> bool


ENDINGS = [
    Ending("inference of the judges aborts over the input", "shape inference of the onnx library, in onnx.checker and in ONNX Runtime, fails an assertion of its own "
           "(std::clamp in Slice) in a process where quarkq is given nothing; quarkq ends well by itself, and onnx.checker takes what it wrote, shapes left out",
           lambda parts: isinstance(parts["input"], workers.Died) and str(parts["input"]) == "signal 6" and not isinstance(parts["quarkq"], workers.Died)),
]
