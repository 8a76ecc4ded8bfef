# SPDX-License-Identifier: MIT
"""Recipes of products: matrices, Einsum, recurrent layers, attention."""
import numpy as np

from operators import recipe

TYPES = [np.float32, np.float32, np.float32, np.float64, np.float16]
EQUATIONS = ["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ii", "ij->", "i,i->", "i,j->ij", "bhqd,bhkd->bhqk", "...ij,...jk->...ik", "ij,ij->i", "bij->bj",
             "ij,jk,kl->il", "bqhd,bkhd->bhqk", "ijk,ik->ij"]


@recipe("MatMul")
def matmul(b, op):
    rows, inner, columns = (b.integer(1, 9) for _ in range(3))
    batch = b.dims(most=3, largest=4, empty=0)
    left, right = b.narrowed(batch) + [rows, inner], batch + [inner, columns]
    if b.chance(0.5):
        left, right = batch + [rows, inner], b.narrowed(batch) + [inner, columns]
    kind = b.integer(0, 9)
    if kind == 0:
        left = [inner]
    if kind == 1:
        right = [inner]
    dtype = b.pick(TYPES + ([np.int32, np.int64] if b.opset >= 9 else []))
    b.call(op, [b.operand(left, dtype), b.operand(right, dtype, late=0.4)])


@recipe("Gemm")
def gemm(b, op):
    rows, inner, columns = (b.integer(1, 9) for _ in range(3))
    turns = [b.integer(0, 1), b.integer(0, 1)]
    dtype = b.pick(TYPES)
    left, right = [rows, inner][::-1 if turns[0] else 1], [inner, columns][::-1 if turns[1] else 1]
    inputs = [b.operand(left, dtype), b.operand(right, dtype, late=0.4)]
    if b.opset < 11 or b.chance(0.7):
        inputs.append(b.operand(b.narrowed([rows, columns]), dtype, late=0.4))
    b.call(op, inputs, transA=turns[0], transB=turns[1], alpha=b.pick([None, 0.5]), beta=b.pick([None, 2.0, 0.0]))


@recipe("FusedMatMul", domain="com.microsoft")
def fused_matmul(b, op):
    rows, inner, columns = (b.integer(1, 7) for _ in range(3))
    turns, batch = [b.integer(0, 1), b.integer(0, 1)], b.dims(most=2, largest=3, empty=0)
    inputs = [b.operand(batch + [rows, inner][::-1 if turns[0] else 1]), b.operand(batch + [inner, columns][::-1 if turns[1] else 1])]
    b.call(op, inputs, domain="com.microsoft", types=[np.float32], transA=turns[0], transB=turns[1], alpha=b.pick([None, 0.5]))


@recipe("Einsum", since=12)
def einsum(b, op):
    equation = b.pick(EQUATIONS)
    sizes = {letter: b.integer(1, 5) for letter in "abcdefghijklmnopqrstuvwxyz"}
    extra = b.dims(most=2, largest=3, empty=0)
    shapes = [[*(extra if "..." in term else []), *(sizes[letter] for letter in term.replace("...", ""))] for term in equation.split("->")[0].split(",")]
    dtype = b.pick([np.float32, np.float64, np.int32, np.int64])
    b.call(op, [b.operand(dims, dtype) for dims in shapes], equation=equation)


@recipe("Det", since=11)
def determinant(b, op):
    size = b.integer(1, 4)
    b.call(op, [b.stored(b.numbers([*b.dims(most=2, empty=0), size, size]) + 3 * np.eye(size, dtype=np.float32), late=0.6)])


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@recipe("RNN", "GRU", "LSTM")
def recurrent(b, op):
    steps, batch, size, hidden = b.integer(1, 5), b.integer(1, 3), b.integer(1, 5), b.integer(1, 5)
    direction = b.pick(["forward", "reverse", "bidirectional"])
    ways, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    layout = 0
    inputs = [b.operand([steps, batch, size]), b.operand([ways, gates * hidden, size], late=0.1, low=-0.7, high=0.7),
              b.operand([ways, gates * hidden, hidden], late=0.1, low=-0.7, high=0.7),
              b.operand([ways, 2 * gates * hidden], late=0.1) if b.chance(0.7) else "",
              b.stored(b.numbers([batch], np.int32, 1, steps)) if b.chance(0.3) else ""]
    states = ["initial_h", "initial_c"] if op == "LSTM" else ["initial_h"]
    inputs += [b.operand([ways, batch, hidden], late=0.3) for _ in states] if b.chance(0.5) else [""] * len(states)
    if op == "LSTM" and b.chance(0.3):
        inputs.append(b.operand([ways, 3 * hidden], late=0.1))
    while not inputs[-1]:
        inputs.pop()
    attributes = {"linear_before_reset": b.pick([None, 1])} if op == "GRU" else {}
    if op == "RNN":
        attributes["activations"] = b.pick([None, ["Relu"] * ways, ["Tanh"] * ways, ["Sigmoid"] * ways])
    b.call(op, inputs, b.integer(1, len(states) + 1), hidden_size=hidden, direction=direction, clip=b.pick([None, None, 1.5]), layout=layout if b.opset >= 14
           else None, **attributes)


@recipe("RotaryEmbedding", since=23)
def rotary(b, op):
    batch, steps, heads, size = b.integer(1, 2), b.integer(1, 4), b.integer(1, 3), 2 * b.integer(1, 4)
    inputs = [b.operand([batch, heads, steps, size])]
    with_positions = b.chance(0.5)
    dims = [steps + 2, size // 2] if with_positions else [batch, steps, size // 2]
    inputs += [b.operand(dims), b.operand(dims)] + ([b.stored(b.numbers([batch, steps], np.int64, 0, steps + 1))] if with_positions else [])
    b.call(op, inputs, interleaved=b.pick([None, 0, 1]))


@recipe("Attention", since=23)
def attention(b, op):
    batch, queries, keys, heads, size = b.integer(1, 2), b.integer(1, 4), b.integer(1, 5), b.integer(1, 3), b.integer(1, 5)
    inputs = [b.operand([batch, heads, queries, size]), b.operand([batch, heads, keys, size]), b.operand([batch, heads, keys, size])]
    causal = b.pick([None, 0, 1])
    if b.chance(0.4):
        inputs.append(b.operand([queries, keys]))
    window = {name: b.pick([None, -1, 0, 2]) for name in ("left_window_size", "right_window_size")} if b.opset >= 25 else {}
    b.call(op, inputs, is_causal=causal, softcap=b.pick([None, 2.0]), scale=b.pick([None, 0.3]), **window)


@recipe("CausalConvWithState", since=27)
def causal_conv(b, op):
    batch, channels, length, taps = b.integer(1, 2), b.integer(1, 5), b.integer(1, 6), b.integer(1, 4)
    inputs = [b.operand([batch, channels, length]), b.operand([channels, 1, taps])]
    inputs.append(b.operand([channels]) if b.chance(0.5) else "")
    inputs.append(b.operand([batch, channels, taps - 1]) if b.chance(0.5) else "")
    b.call(op, inputs, 2, activation=b.pick([None, "none", "silu", "swish"]))


@recipe("LinearAttention", since=27)
def linear_attention(b, op):
    batch, steps, heads, group, size, width = (b.integer(1, 2), b.integer(1, 4), b.integer(1, 2), b.integer(1, 2), b.integer(1, 4), b.integer(1, 4))
    rule = b.pick(["linear", "gated", "delta", "gated_delta"])
    inputs = [b.operand([batch, steps, heads * group * size]), b.operand([batch, steps, heads * size]), b.operand([batch, steps, heads * width])]
    inputs.append(b.operand([batch, heads, size, width]) if b.chance(0.5) else "")
    inputs.append(b.operand([batch, steps, heads * b.pick([1, size])], low=-2, high=0) if "gated" in rule else "")
    inputs.append(b.operand([batch, steps, b.pick([1, heads])], low=0, high=1) if "delta" in rule else "")
    b.call(op, inputs, 2, q_num_heads=heads * group, kv_num_heads=heads, update_rule=rule, scale=b.pick([None, 0.5]))
