# SPDX-License-Identifier: MIT
"""A small decoder-only language model with a cache of keys and values, as exporters write them."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

VOCABULARY, WIDTH, HEADS, PLACES = 96, 64, 2, 128
SIZE = WIDTH // HEADS
INPUTS = ["input_ids", "attention_mask", "position_ids", "past_key_values.0.key", "past_key_values.0.value"]
OUTPUTS = ["logits", "present.0.key", "present.0.value"]


class Parts:
    def __init__(self):
        self.nodes, self.initializers, self.rng = [], [], np.random.default_rng(5)

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name="node_" + name, **attributes))
        return name

    def stored(self, name, values, dtype):
        self.initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def matrix(self, name, rows, columns, scale=None):
        return self.stored(name, self.rng.standard_normal([rows, columns]) * (scale or rows ** -0.5), np.float32)


def add_masked_scores(p, q, k):
    """Scores [batch, heads, length, all], -1e4 for later places and for those that the mask leaves out."""
    scores = p.add("MatMul", [q, p.add("Transpose", [k], "kt", perm=[0, 1, 3, 2])], "scores")
    length = p.add("Shape", ["attention_mask"], "total", start=1, end=2)
    total = p.add("Squeeze", [length], "total0")
    places = p.add("Range", [p.stored("zero", 0, np.int64), total, p.stored("one", 1, np.int64)], "places")
    own = p.add("Unsqueeze", ["position_ids", p.stored("last", [1, 3], np.int64)], "own")
    late = p.add("Greater", [places, own], "late")
    seen = p.add("Unsqueeze", [p.add("Cast", ["attention_mask"], "mask", to=TensorProto.BOOL), p.stored("middle", [1, 2], np.int64)], "seen")
    hidden = p.add("Or", [late, p.add("Not", [seen], "unseen")], "hidden")
    return p.add("Where", [hidden, p.stored("never", -1e4, np.float32), scores], "masked")


def make_decoder(length="length", tied=False):
    """`tied`: the output matrix is the transposed table of the inputs."""
    p = Parts()
    x = p.add("Gather", [p.matrix("table", VOCABULARY, WIDTH, scale=1), "input_ids"], "embedded")
    x = p.add("Add", [x, p.add("Gather", [p.matrix("places_table", PLACES, WIDTH, scale=0.3), "position_ids"], "placed")], "x")
    p.stored("heads", [0, 0, HEADS, SIZE], np.int64)
    heads = {}
    for name in "qkv":
        own = p.add("Reshape", [p.add("MatMul", [x, p.matrix(name + "_weight", WIDTH, WIDTH)], name + "_flat"), "heads"], name + "_heads")
        heads[name] = p.add("Transpose", [own], name, perm=[0, 2, 1, 3])
    k = p.add("Concat", ["past_key_values.0.key", heads["k"]], "present.0.key", axis=2)
    v = p.add("Concat", ["past_key_values.0.value", heads["v"]], "present.0.value", axis=2)
    seen = p.add("Softmax", [add_masked_scores(p, heads["q"], k)], "weights", axis=-1)
    y = p.add("Transpose", [p.add("MatMul", [seen, v], "read")], "read_last", perm=[0, 2, 1, 3])
    y = p.add("Reshape", [y, p.stored("flat", [0, 0, WIDTH], np.int64)], "joined")
    x = p.add("Add", [x, p.add("MatMul", [y, p.matrix("o_weight", WIDTH, WIDTH)], "o")], "after")
    output = p.add("Transpose", ["table"], "turned", perm=[1, 0]) if tied else p.matrix("output_weight", WIDTH, VOCABULARY)
    p.add("MatMul", [x, output], "logits")
    return finished(p, length)


def finished(p, length):
    def tensor(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)
    past, present = ["batch", HEADS, "past", SIZE], ["batch", HEADS, "all", SIZE]
    inputs = [tensor("input_ids", TensorProto.INT64, ["batch", length]), tensor("attention_mask", TensorProto.INT64, ["batch", "all"]),
              tensor("position_ids", TensorProto.INT64, ["batch", length]), *(tensor(name, TensorProto.FLOAT, past) for name in INPUTS[3:])]
    outputs = [tensor("logits", TensorProto.FLOAT, ["batch", length, VOCABULARY]), *(tensor(name, TensorProto.FLOAT, present) for name in OUTPUTS[1:])]
    graph = helper.make_graph(p.nodes, "decoder", inputs, outputs, p.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model, full_check=True)
    return model


def feeds(tokens):
    """What all inputs hold for [batch, length] tokens without a past."""
    batch, length = tokens.shape
    empty = np.zeros([batch, HEADS, 0, SIZE], np.float32)
    return dict(zip(INPUTS, [tokens.astype(np.int64), np.ones([batch, length], np.int64),
                             np.tile(np.arange(length, dtype=np.int64), (batch, 1)), empty, empty]))
