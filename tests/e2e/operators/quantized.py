# SPDX-License-Identifier: MIT
"""Recipes of operators on quantized values."""
import numpy as np

from operators import recipe
from operators.builder import array_tensor  # noqa: F401
from operators.image import Window, undilated

BYTES = [np.int8, np.uint8]


def scale(b, dims=(), low=0.01, high=0.1, dtype=np.float32):
    """Powers of two half of the time: quotients are exact and ties occur."""
    dims = list(dims)
    if b.chance(0.5):
        return b.stored((2.0 ** b.rng.integers(-6, -2, dims)).astype(dtype), late=0.05)
    return b.stored(b.numbers(dims, dtype, low, high), late=0.05)


def zero(b, dtype, dims=(), spread=20):
    dtype = np.dtype(dtype)
    middle = 0 if dtype.kind == "i" else (np.iinfo(dtype).max + 1) // 2
    return b.stored(b.numbers(list(dims), dtype, middle - spread, middle + spread), late=0.05)


def forms(b, dims):
    """(shape of the parameters, attributes): for the tensor, for each index of an axis, for blocks."""
    kind = b.pick(["tensor", "axis"] + (["block"] if b.opset >= 21 else [])) if b.opset >= 13 and dims else "tensor"
    if kind == "tensor":
        return [], {}
    axis = b.integer(0, len(dims) - 1)
    written = {"axis": axis if b.chance(0.7) else axis - len(dims)}
    if kind == "axis":
        return [dims[axis]], written
    block = b.integer(1, dims[axis])
    shape = list(dims)
    shape[axis] = -(-dims[axis] // block)
    return shape, written | {"block_size": block}


def stored_types(b):
    return BYTES + BYTES + ([np.int16, np.uint16] if b.opset >= 21 else [])


@recipe("QuantizeLinear", since=10)
def quantize(b, op):
    dims = b.dims(empty=0)
    shape, attributes = forms(b, dims)
    dtype = b.pick(stored_types(b))
    real = b.pick([np.float32, np.float32, np.float16]) if b.opset >= 19 else np.float32
    inputs = [b.operand(dims, real, special=0.1), scale(b, shape, dtype=real)]
    inputs += [zero(b, dtype, shape)] if b.chance(0.8) or dtype != np.uint8 else []
    b.call(op, inputs, **attributes)


@recipe("DequantizeLinear", since=10)
def dequantize(b, op):
    dims = b.dims(empty=0)
    shape, attributes = forms(b, dims)
    dtype = b.pick(stored_types(b) + [np.int32])
    real = b.pick([np.float32, np.float32, np.float16]) if b.opset >= 19 else np.float32
    inputs = [b.operand(dims, dtype, -100, 200), scale(b, shape, dtype=real)]
    inputs += [zero(b, dtype, shape)] if b.chance(0.8) and dtype != np.int32 else []
    b.call(op, inputs, **attributes)


@recipe("QuantizeLinear", "DequantizeLinear", since=21)
def narrow_pair(b, _):
    """To 4 or 2 bits or 8-bit floats and back."""
    dims = b.dims(least=1, empty=0)
    shape, attributes = forms(b, dims)
    attributes.pop("block_size", None) if not shape else None
    factor = scale(b, shape)
    codes = b.call("QuantizeLinear", [b.operand(dims), factor], output_dtype=b.pick([17, 18, 19, 20, 21, 22] + ([25, 26] if b.opset >= 25 else [])), **attributes)
    b.call("DequantizeLinear", [codes, factor], **attributes)


@recipe("DynamicQuantizeLinear", since=11)
def dynamic(b, op):
    b.call(op, [b.operand(b.dims(least=1, empty=0), np.float32, *b.pick([(None, None), (0.5, 2), (-3, -1), (0, 0)]))], 3)


@recipe("MatMulInteger", "QLinearMatMul", since=10)
def product(b, op):
    rows, inner, columns = b.integer(1, 7), b.integer(1, 40), b.integer(1, 7)
    batch = b.dims(most=2, largest=3, empty=0)
    left, right = b.pick(BYTES), b.pick(BYTES)
    if left == np.int8:
        right = np.int8
    x, w = b.operand([*batch, rows, inner], left, -100, 200), b.operand([inner, columns], right, -100, 200, late=0.3)
    if op == "MatMulInteger":
        b.call(op, [x, w] + ([zero(b, left)] + ([zero(b, right)] if b.chance(0.7) else []) if b.chance(0.8) else []))
        return
    b.call(op, [x, scale(b), zero(b, left), w, scale(b), zero(b, right), scale(b, low=0.2, high=1), zero(b, left)])


def image_and_weight(b):
    window = undilated(Window(b, 1, 2))
    group, inner, outer = b.pick([1, 1, 2]), b.integer(1, 4), b.integer(1, 4)
    left = b.pick(BYTES)
    right = np.int8 if left == np.int8 else b.pick(BYTES)
    x = b.operand([b.integer(1, 2), group * inner, *window.sizes], left, -100, 200)
    w = b.operand([group * outer, inner, *window.kernel], right, -100, 100, late=0.05)
    return x, w, left, right, group * outer, {"group": group, **window.attributes()}


@recipe("ConvInteger", since=10)
def conv_integer(b, op):
    x, w, left, right, _, attributes = image_and_weight(b)
    b.call(op, [x, w] + ([zero(b, left)] + ([zero(b, right, spread=5)] if b.chance(0.5) else []) if b.chance(0.8) else []), **attributes)


@recipe("QLinearConv", since=10)
def qlinear_conv(b, op):
    x, w, left, right, channels, attributes = image_and_weight(b)
    shape = [channels] if b.chance(0.4) else []
    zero_of_w = b.stored(np.zeros(shape, right), late=0) if shape or right == np.int8 else zero(b, right)
    inputs = [x, scale(b), zero(b, left), w, scale(b, shape), zero_of_w, scale(b, low=0.2, high=1), zero(b, left)]
    b.call(op, inputs + ([b.operand([channels], np.int32, -500, 500, late=0.05)] if b.chance(0.6) else []), **attributes)


@recipe("QLinearAdd", "QLinearMul", domain="com.microsoft")
def qlinear_binary(b, op):
    dims, dtype = b.dims(empty=0), b.pick(BYTES)
    inputs = [b.operand(dims, dtype, -100, 200), scale(b), zero(b, dtype), b.operand(b.narrowed(dims), dtype, -100, 200), scale(b), zero(b, dtype), scale(b),
              zero(b, dtype)]
    b.call(op, inputs, domain="com.microsoft", types=[dtype])


@recipe("QuantizeLinear", "DequantizeLinear", domain="com.microsoft")
def contrib_pair(b, _):
    dims, dtype = b.dims(empty=0), b.pick(BYTES + [np.int16, np.uint16])
    shape, attributes = ([dims[0]], {"axis": 0}) if dims and b.chance(0.4) else ([], {})
    factor, middle = scale(b, shape), zero(b, dtype, shape)
    codes = b.call("QuantizeLinear", [b.operand(dims), factor, middle], domain="com.microsoft", types=[dtype], **attributes)
    b.call("DequantizeLinear", [codes, factor, middle], domain="com.microsoft", types=[np.float32], **attributes)


@recipe("QGemm", domain="com.microsoft")
def qgemm(b, op):
    rows, inner, columns = b.integer(1, 6), b.integer(1, 20), b.integer(1, 6)
    dtype = b.pick(BYTES)
    inputs = [b.operand([rows, inner], dtype, -100, 200), scale(b), zero(b, dtype), b.operand([inner, columns], np.int8, -100, 100, late=0), scale(b),
              b.stored(np.int8(0), late=0), b.operand([columns], np.int32, -500, 500, late=0), scale(b, low=0.2, high=1), zero(b, dtype)]
    b.call(op, inputs, domain="com.microsoft", types=[dtype])


@recipe("GatherBlockQuantized", domain="com.microsoft")
def gather_block_quantized(b, op):
    rows, width, block, bits = b.integer(1, 6), 16 * b.integer(1, 5), b.pick([16, 32]), b.pick([4, 8])
    blocks = -(-width // block)
    inputs = [b.stored(b.numbers([rows, width * bits // 8], np.uint8, 0, 255), late=0), b.operand(b.dims(empty=0), np.int64, -rows, rows - 1),
              b.stored(b.numbers([rows, blocks], np.float32, 0.01, 0.1), late=0)]
    if bits == 8 and b.chance(0.5):
        inputs.append(b.stored(b.numbers([rows, blocks], np.uint8, 0, 255), late=0))
    b.call(op, inputs, domain="com.microsoft", types=[np.float32], bits=bits, block_size=block, gather_axis=0, quantize_axis=1)


@recipe("MatMulNBits", domain="com.microsoft")
def matmul_nbits(b, op):
    rows, inner, columns, block = b.integer(1, 4), 16 * b.integer(1, 5), b.integer(1, 6), b.pick([16, 32])
    blocks = -(-inner // block)
    inputs = [b.operand([rows, inner]), b.stored(b.numbers([columns, blocks, block // 2], np.uint8, 0, 255), late=0),
              b.stored(b.numbers([columns * blocks], np.float32, 0.01, 0.1), late=0)]
    b.call(op, inputs, domain="com.microsoft", types=[np.float32], K=inner, N=columns, bits=4, block_size=block)
