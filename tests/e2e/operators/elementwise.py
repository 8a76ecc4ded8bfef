# SPDX-License-Identifier: MIT
"""Recipes of operators that work element by element."""
import numpy as np

from operators import recipe
from operators.builder import FLOATS, INTEGERS, NUMBERS, SIGNED, array_tensor, onnx_type

ATTRIBUTES = {"Elu": ["alpha"], "Celu": ["alpha"], "Selu": ["alpha", "gamma"], "HardSigmoid": ["alpha", "beta"], "LeakyRelu": ["alpha"],
              "ThresholdedRelu": ["alpha"], "Swish": ["alpha"]}
SINCE = {"Asinh": 9, "Acosh": 9, "Atanh": 9, "Cosh": 9, "Sinh": 9, "Erf": 9, "Round": 11, "Celu": 12, "HardSwish": 14, "Mish": 18, "Gelu": 20, "Swish": 24,
         "ThresholdedRelu": 10}
RANGES = {"Acos": (-1, 1), "Asin": (-1, 1), "Acosh": (1, 5), "Atanh": (-0.9, 0.9), "Log": (0.05, 5), "Sqrt": (0, 5), "Reciprocal": (0.2, 3),
          "Tan": (-1.2, 1.2)}


def plain_float(b, op):
    low, high = RANGES.get(op, (None, None))
    attributes = {name: b.pick([None, 0.1, 0.5, 1.0, 1.7]) for name in ATTRIBUTES.get(op, [])}
    if op == "Celu" and attributes["alpha"] is None:
        attributes["alpha"] = 1.5
    dtype = np.float32 if op == "Celu" else b.pick(FLOATS)
    b.call(op, [b.operand(b.dims(), dtype, low, high, special=0.15)], **attributes)


for name in ["Acos", "Asin", "Atan", "Ceil", "Cos", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Reciprocal", "Selu", "Sigmoid", "Sin",
             "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", *SINCE]:
    recipe(name, since=SINCE.get(name, 7))(plain_float)


@recipe("Gelu", since=20)
def gelu(b, op):
    b.call(op, [b.operand(b.dims(), b.pick(FLOATS), -6, 6)], approximate=b.pick([None, "none", "tanh"]))


@recipe("Abs", "Neg", "Identity")
def any_number(b, op):
    dtype = b.pick(FLOATS + SIGNED)
    b.call(op, [b.operand(b.dims(), dtype, -100 if dtype in SIGNED else None, special=0.15)])


@recipe("Sign", since=9)
def sign(b, op):
    b.call(op, [b.operand(b.dims(), b.pick(NUMBERS), special=0.15)])


@recipe("Relu")
def relu(b, op):
    b.call(op, [b.operand(b.dims(), b.pick(FLOATS + (SIGNED if b.opset >= 14 else [])), special=0.15)])


@recipe("Shrink", since=9)
def shrink(b, op):
    b.call(op, [b.operand(b.dims(), b.pick(NUMBERS))], bias=b.pick([None, 0.0, 0.3]), lambd=b.pick([None, 0.5, 1.1]))


@recipe("IsInf", since=10)
def is_inf(b, op):
    b.call(op, [b.operand(b.dims(), b.pick([np.float32, np.float64]), -2, special=0.8)], detect_negative=b.pick([None, 0, 1]), detect_positive=b.pick([None, 0, 1]))


@recipe("IsNaN", since=9)
def is_nan(b, op):
    b.call(op, [b.operand(b.dims(), b.pick(FLOATS), -2, special=0.8)])


@recipe("PRelu")
def prelu(b, op):
    dims = b.dims()
    dtype = b.pick(FLOATS + ([np.int32, np.int64, np.uint32] if b.opset >= 9 else []))
    b.call(op, [b.operand(dims, dtype), b.operand(b.narrowed(dims), dtype)])


@recipe("Clip")
def clip(b, op):
    if b.opset < 11:
        dtype = b.pick(FLOATS)
        b.call(op, [b.operand(b.dims(), dtype)], min=b.pick([None, -0.5, 0.0]), max=b.pick([None, 1.0, 0.7]))
        return
    dtype = b.pick(NUMBERS if b.opset >= 12 else FLOATS)
    low, high = b.pick([0, 1]), b.pick([1, 2])
    inputs = [b.operand(b.dims(), dtype, special=0.1), b.stored(np.asarray(low, dtype)) if b.chance(0.7) else ""]
    b.call(op, inputs + ([b.stored(np.asarray(high, dtype))] if b.chance(0.7) or not inputs[1] else []))


@recipe("Dropout")
def dropout(b, op):
    x = b.operand(b.dims(), b.pick(FLOATS))
    outputs = 2 if b.opset >= 10 and b.chance(0.4) else 1
    if b.opset < 12:
        b.call(op, [x], outputs, ratio=b.pick([None, 0.3]))
        return
    b.call(op, [x] + ([b.stored(np.float32(0.3))] if b.chance(0.5) else []), outputs)


@recipe("Not", "And", "Or", "Xor")
def logical(b, op):
    dims = b.dims()
    b.call(op, [b.operand(dims, bool)] if op == "Not" else [b.operand(b.narrowed(dims), bool), b.operand(dims, bool)])


@recipe("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", since=18)
def bitwise(b, op):
    dims, dtype = b.dims(), b.pick(INTEGERS)
    inputs = [b.operand(dims, dtype, -100, 100)] + ([b.operand(b.narrowed(dims), dtype, -100, 100)] if op != "BitwiseNot" else [])
    b.call(op, inputs)


@recipe("BitShift", since=11)
def bit_shift(b, op):
    dims, dtype = b.dims(), b.pick([np.uint8, np.uint16, np.uint32, np.uint64] + (SIGNED if b.opset >= 28 else []))
    b.call(op, [b.operand(dims, dtype, -100, 200), b.operand(b.narrowed(dims), dtype, 0, 7)], direction=b.pick(["LEFT", "RIGHT"]))


@recipe("Add", "Sub", "Mul", "Div")
def arithmetic(b, op):
    dims, dtype = b.dims(), b.pick(NUMBERS if b.opset >= 14 else FLOATS + [np.int32, np.int64, np.uint32, np.uint64])
    is_integer = np.dtype(dtype).kind in "iu"
    first = b.operand(dims, dtype, *((-11, 11) if is_integer else (None, None)), special=0.1)
    second = b.operand(b.narrowed(dims), dtype, *((1, 5) if is_integer else (0.5, 3) if op == "Div" else (None, None)), special=0.1)
    swaps = op != "Div" and b.chance(0.4)
    b.call(op, [second, first] if swaps else [first, second])


@recipe("Pow")
def power(b, op):
    dims, dtype = b.dims(), b.pick(FLOATS + ([np.int32, np.int64] if b.opset >= 12 else []))
    other = b.pick([dtype, np.float32, np.int32, np.int64]) if b.opset >= 12 else dtype
    # Whole numbers have exact powers: a result that is rounded to an integer has to be the same one.
    exponent = b.operand(b.narrowed(dims), other, 0, 3) if np.dtype(other).kind == "i" else b.stored(
        b.rng.integers(0, 4, b.narrowed(dims)).astype(other))
    b.call(op, [b.operand(dims, dtype, 0.1 if np.dtype(dtype).kind == "f" else 1, 3), exponent])


@recipe("Mod", since=10)
def modulo(b, op):
    dims, dtype = b.dims(), b.pick(NUMBERS)
    is_float = np.dtype(dtype).kind == "f"
    divisor = b.operand(b.narrowed(dims), dtype, 1, 5)
    b.call(op, [b.operand(dims, dtype, -11, 11), divisor], fmod=1 if is_float and b.opset < 28 else b.pick([None, 0, 1]))


@recipe("Max", "Min", "Mean", "Sum")
def variadic(b, op):
    dims, dtype = b.dims(), b.pick(FLOATS if op in ("Mean", "Sum") or b.opset < 12 else NUMBERS)
    b.call(op, [b.operand(dims, dtype, special=0.1)] + [b.operand(b.narrowed(dims), dtype, special=0.1) for _ in range(b.integer(0, 3))])


@recipe("Equal", "Greater", "Less")
def compare(b, op):
    types = [bool, np.int32, np.int64] if op == "Equal" and b.opset < 11 else FLOATS + [np.float32, np.int32, np.int64]
    if b.opset < 9 and op != "Equal":
        types = FLOATS
    dims, dtype = b.dims(), b.pick(types + (INTEGERS if b.opset >= 11 else []))
    b.call(op, [b.operand(dims, dtype, special=0.2), b.operand(b.narrowed(dims), dtype, special=0.2)])


@recipe("GreaterOrEqual", "LessOrEqual", since=12)
def compare_or_equal(b, op):
    dims, dtype = b.dims(), b.pick(NUMBERS)
    b.call(op, [b.operand(dims, dtype, special=0.2), b.operand(b.narrowed(dims), dtype, special=0.2)])


@recipe("Where", since=9)
def where(b, op):
    dims, dtype = b.dims(), b.pick(NUMBERS + [bool])
    b.call(op, [b.operand(b.narrowed(dims), bool), b.operand(dims, dtype), b.operand(b.narrowed(dims), dtype)])


def cast_pair(b):
    """Types from and to; values that every type holds."""
    return b.pick(NUMBERS + [bool]), b.pick(NUMBERS + [bool])


@recipe("Cast")
def cast(b, op):
    source, target = cast_pair(b)
    low, high = (-100, 100) if np.dtype(target).kind != "u" else (0, 100)
    b.call(op, [b.operand(b.dims(), source, low, high)], to=onnx_type(target))


@recipe("Cast", since=13)
def cast_narrow(b, op):
    """Through a float type of fewer bits and back."""
    types = [10, 16] + ([17, 18, 19, 20] if b.opset >= 19 else [])
    narrow = b.call(op, [b.operand(b.dims(), np.float32, -500, 500)], to=b.pick(types), saturate=b.pick([None, 0, 1]) if b.opset >= 19 else None)
    b.call(op, [narrow], to=1)


@recipe("Cast", since=25)
def cast_to_few_bits(b, op):
    """Through 2, 4 or 6 bits and back."""
    types = [21, 22, 25, 26] + ([23, 27, 28] if b.opset >= 28 else [])
    narrow = b.call(op, [b.operand(b.dims(), np.float32, 0, 3)], to=b.pick(types))
    b.call(op, [narrow], to=1)


@recipe("BitCast", since=26)
def cast_bits(b, op):
    sizes = [[np.float32, np.int32, np.uint32], [np.float64, np.int64, np.uint64], [np.float16, np.int16, np.uint16], [np.int8, np.uint8]]
    same = b.integer(0, len(sizes) - 1)
    b.call(op, [b.operand(b.dims(), b.pick(sizes[same]))], to=onnx_type(b.pick(sizes[same])))


@recipe("SwiGLU", since=28)
def gated(b, op):
    dims, dtype = b.dims(), b.pick(FLOATS)
    b.call(op, [b.operand(dims, dtype), b.operand(dims, dtype)], alpha=b.pick([None, 1.702]))


@recipe("CastLike", since=15)
def cast_like(b, op):
    source, target = cast_pair(b)
    b.call(op, [b.operand(b.dims(), source, 0, 100), b.operand([b.integer(0, 2)], target)])


@recipe("Constant")
def constant(b, op):
    value = b.numbers(b.dims(), b.pick(NUMBERS + [bool]))
    forms = [{"value": array_tensor(value)}]
    if b.opset >= 12:
        forms += [{"value_float": 0.5}, {"value_int": 3}, {"value_ints": [1, 2, -3]}, {"value_floats": [0.5, 2.0]}]
    b.call(op, [], **b.pick(forms))


@recipe("Mish", "Softplus", since=18)
def far_float(b, op):
    """Where exponentials overflow."""
    b.call(op, [b.operand(b.dims(), b.pick(FLOATS), -120, 120)])


@recipe("Sigmoid", "Tanh", "Exp", "Elu", "Selu")
def far_old_float(b, op):
    b.call(op, [b.operand(b.dims(), b.pick(FLOATS), -120, 80)])
