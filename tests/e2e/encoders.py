# SPDX-License-Identifier: MIT
"""A small text encoder (embeddings of words, places and types, two blocks, pooled output of unit norm), with its mask in any form."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

VOCABULARY, WIDTH, HEADS, LENGTH, BLOCKS = 64, 32, 4, 12, 2
SIZE = WIDTH // HEADS
OUTLIER = 3  # factor of one channel of the residuals, as in trained encoders
LOWEST = float(np.finfo(np.float32).min)
FORMS = ["additive -1e4", "additive lowest", "Where -inf", "Where on scores", "And", "Attention bool", "Attention additive"]


class Builder:
    def __init__(self, seed=7):
        self.nodes, self.stored, self.rng = [], [], np.random.default_rng(seed)

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name="node_" + name, **attributes))
        return name

    def constant(self, name, values, dtype=np.float32):
        if all(one.name != name for one in self.stored):
            self.stored.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def normal(self, name, *shape, scale=1.0):
        return self.constant(name, self.rng.standard_normal(shape) * scale)

    def norm(self, x, name, outlier=OUTLIER):
        """`outlier`: factor of one channel."""
        weight = 1 + 0.1 * self.rng.standard_normal(WIDTH)
        weight[3] *= outlier
        return self.node("LayerNormalization", [x, self.constant(name + "_w", weight), self.normal(name + "_b", WIDTH, scale=0.1)], name, epsilon=1e-12)

    def linear(self, x, name, rows, columns):
        product = self.node("MatMul", [x, self.normal(name + "_w", rows, columns, scale=rows ** -0.5)], name + "_p")
        return self.node("Add", [product, self.normal(name + "_b", columns, scale=0.1)], name)


def add_mask(b, form):
    """Returns the mask of all blocks: additive, or what is kept."""
    wide = b.node("Unsqueeze", ["attention_mask", b.constant("axes", [1, 2], np.int64)], "wide")
    kept = b.node("Cast", [wide], "kept", to=TensorProto.BOOL)
    if form.endswith("bool") or form == "Where on scores":
        return kept
    if form == "And":  # two masks, as exporters with a stored window write it
        return b.node("And", [kept, b.constant("window", np.ones((1, 1, LENGTH, LENGTH)), bool)], "both")
    low = {"additive -1e4": -1e4, "additive lowest": LOWEST, "Where -inf": -np.inf, "Attention additive": LOWEST}[form]
    if form in ("Where -inf", "Attention additive"):
        flat = b.node("Where", [kept, b.constant("zero", 0), b.constant("low", low)], "bias")
        return b.node("Expand", [flat, b.constant("square", [1, 1, LENGTH, LENGTH], np.int64)], "square_bias")
    left_out = b.node("Sub", [b.constant("one", 1), b.node("Cast", [wide], "kept_float", to=TensorProto.FLOAT)], "left_out")
    return b.node("Mul", [left_out, b.constant("low", low)], "bias")


def add_attention(b, heads, mask, form, name):
    q, k, v = heads
    if form.startswith("Attention"):
        if form.endswith("bool"):
            mask = b.node("Expand", [mask, b.constant("square", [1, 1, LENGTH, LENGTH], np.int64)], name + "_square")
        return b.node("Attention", [q, k, v, mask], name + "_read", scale=SIZE ** -0.5)
    scores = b.node("MatMul", [q, b.node("Transpose", [k], name + "_kt", perm=[0, 1, 3, 2])], name + "_scores")
    scores = b.node("Mul", [scores, b.constant("scale", SIZE ** -0.5)], name + "_scaled")
    if form in ("And", "Where on scores"):
        masked = b.node("Where", [mask, scores, b.constant("lowest", LOWEST)], name + "_masked")
    else:
        masked = b.node("Add", [scores, mask], name + "_masked")
    return b.node("MatMul", [b.node("Softmax", [masked], name + "_weights", axis=-1), v], name + "_read")


def add_block(b, x, mask, form, name, outlier):
    heads = []
    for part in "qkv":
        flat = b.linear(x, f"{name}_{part}", WIDTH, WIDTH)
        split = b.node("Reshape", [flat, b.constant("heads", [0, 0, HEADS, SIZE], np.int64)], f"{name}_{part}_split")
        heads.append(b.node("Transpose", [split], f"{name}_{part}_heads", perm=[0, 2, 1, 3]))
    read = b.node("Transpose", [add_attention(b, heads, mask, form, name)], name + "_turned", perm=[0, 2, 1, 3])
    joined = b.node("Reshape", [read, b.constant("flat", [0, 0, WIDTH], np.int64)], name + "_joined")
    x = b.norm(b.node("Add", [x, b.linear(joined, name + "_out", WIDTH, WIDTH)], name + "_sum"), name + "_norm")
    hidden = b.linear(x, name + "_up", WIDTH, 4 * WIDTH)
    erf = b.node("Erf", [b.node("Div", [hidden, b.constant("root", 2 ** 0.5)], name + "_d")], name + "_erf")
    gate = b.node("Mul", [b.node("Add", [erf, b.constant("one", 1)], name + "_g"), b.constant("half", 0.5)], name + "_gate")
    down = b.linear(b.node("Mul", [hidden, gate], name + "_gelu"), name + "_down", 4 * WIDTH, WIDTH)
    return b.norm(b.node("Add", [x, down], name + "_sum2"), name + "_norm2", outlier)


def make_encoder(form):
    b = Builder()
    x = b.node("Gather", [b.normal("words", VOCABULARY, WIDTH), "input_ids"], "word")
    x = b.node("Add", [x, b.normal("places", 1, LENGTH, WIDTH, scale=0.3)], "placed")
    x = b.node("Add", [x, b.node("Gather", [b.normal("types", 2, WIDTH, scale=0.3), "token_type_ids"], "type")], "typed")
    x, mask = b.norm(x, "embedded"), add_mask(b, form)
    for i in range(BLOCKS):
        x = add_block(b, x, mask, form, f"b{i}", OUTLIER if i + 1 < BLOCKS else 1)
    column = b.node("Unsqueeze", [b.node("Cast", ["attention_mask"], "ones", to=TensorProto.FLOAT), b.constant("last", [2], np.int64)], "column")
    total = b.node("ReduceSum", [b.node("Mul", [x, column], "seen"), b.constant("middle", [1], np.int64)], "total", keepdims=0)
    mean = b.node("Div", [total, b.node("ReduceSum", [column, "middle"], "count", keepdims=0)], "mean")
    b.node("Div", [mean, b.node("ReduceL2", [mean, b.constant("last_axis", [-1], np.int64)], "length", keepdims=1)], "embedding")
    opset = 23 if form.startswith("Attention") else 18
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", LENGTH]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = helper.make_graph(b.nodes, "encoder", inputs, [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])], b.stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    checker.check_model(model, full_check=True)
    return model


def draw_samples(count, seed=5):
    """Padded rows of ids that share words, so that some are closer to each other than others."""
    rng = np.random.default_rng(seed)
    topics, samples = rng.integers(1, VOCABULARY, (6, LENGTH)), []
    for i in range(count):
        length = int(rng.integers(3, LENGTH + 1))
        own = rng.integers(1, VOCABULARY, LENGTH)
        ids = np.where(rng.random(LENGTH) < 0.6, topics[i % len(topics)], own)
        mask = (np.arange(LENGTH) < length).astype(np.int64)
        samples.append({"input_ids": (ids * mask)[None], "attention_mask": mask[None], "token_type_ids": ((np.arange(LENGTH) >= 6) * mask)[None]})
    return samples
