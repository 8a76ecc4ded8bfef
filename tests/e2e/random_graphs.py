# SPDX-License-Identifier: MIT
"""Random float models: chains and branches of common operators with weights, shape computations and several outputs. The seed says which."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LARGEST = 6000  # elements of a value: larger ones are cut down


class Builder:
    """A graph under construction; every value is a float tensor of a known shape."""

    def __init__(self, seed, opset=17):
        self.rng = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.initializers, self.shapes = [], [], {}

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share):
        return self.rng.random() < share

    def constant(self, array, dtype=np.float32):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def weight(self, *shape, scale=0.5):
        return self.constant(self.rng.standard_normal(shape) * scale)

    def ints(self, values):
        return self.constant(values, np.int64)

    def node(self, op, inputs, shape, outputs=1, **attributes):
        """The names of its outputs; `shape` is that of the first, or a list of them."""
        names = [f"v{len(self.shapes) + i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        for name, dims in zip(names, shape if outputs > 1 else [shape]):
            self.shapes[name] = None if dims is None else list(dims)
        return names if outputs > 1 else names[0]


def unary(b, x):
    shape = b.shapes[x]
    op = b.pick(["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Identity", "Softplus", "Erf", "HardSigmoid", "LeakyRelu", "Clip", "Dropout", "HardSwish",
                 "Elu"])
    if op == "HardSwish" and b.opset < 14:
        op = "Sigmoid"
    if op == "Clip":
        low, high = b.pick([(0, 6), (-1, 1), (0, 1), (-0.5, None), (None, 2)])
        return b.node("Clip", [x, b.constant(low) if low is not None else "", *([b.constant(high)] if high is not None else [])], shape)
    return b.node(op, [x], shape)


def binary(b, x):
    shape = b.shapes[x]
    kind = b.pick(["scalar", "full", "channel", "row", "value"])
    if kind == "value":
        others = [name for name, dims in b.shapes.items() if dims == shape]
        return b.node(b.pick(["Add", "Mul", "Sub", "Max", "Min"]), [x, b.pick(others)], shape)
    dims = {"scalar": b.pick([[], [1]]), "full": shape, "row": shape[-1:],
            "channel": [shape[1]] + [1] * (len(shape) - 2) if len(shape) > 1 else shape}[kind]
    op = b.pick(["Add", "Mul", "Sub", "Div"])
    other = b.constant(b.rng.uniform(0.5, 2, dims)) if op == "Div" else b.weight(*dims)
    operands = [x, other] if op == "Div" or b.chance(0.7) else [other, x]
    return b.node(op, operands, shape)


def transpose(b, x):
    shape = b.shapes[x]
    perm = list(b.rng.permutation(len(shape)))
    y = b.node("Transpose", [x], [shape[i] for i in perm], perm=[int(i) for i in perm])
    if b.chance(0.4):
        y = unary(b, y)
    if b.chance(0.4):
        back = list(np.argsort(perm))
        y = b.node("Transpose", [y], [b.shapes[y][i] for i in back], perm=[int(i) for i in back])
    return y


def factorization(b, count):
    dims, left = [], count
    for _ in range(int(b.rng.integers(1, 4))):
        choices = [d for d in range(1, min(left, 12) + 1) if left % d == 0]
        dims.append(int(b.pick(choices)))
        left //= dims[-1]
    return dims + [left]


def reshape(b, x):
    shape = b.shapes[x]
    dims = factorization(b, math.prod(shape))
    written = list(dims)
    if b.chance(0.5):
        written[int(b.rng.integers(len(written)))] = -1
    if dims[0] == shape[0] and b.chance(0.5) and written[0] != -1:
        written[0] = 0
    if b.chance(0.25) and shape[0] == dims[0]:  # the first dimension is computed
        length = b.node("Shape", [x], None)
        first = b.node("Gather", [length, b.ints([0])], None)
        rest = b.ints(dims[1:])
        target = b.node("Concat", [first, rest], None, axis=0)
        return b.node("Reshape", [x, target], dims)
    return b.node("Reshape", [x, b.ints(written)], dims)


def views(b, x):
    shape = b.shapes[x]
    kind = b.pick(["Flatten", "Squeeze", "Unsqueeze"])
    if kind == "Flatten":
        axis = int(b.rng.integers(0, len(shape) + 1))
        return b.node("Flatten", [x], [math.prod(shape[:axis]), math.prod(shape[axis:])], axis=axis)
    ones = [i for i, d in enumerate(shape) if d == 1]
    if kind == "Squeeze" and ones and len(shape) > 1:
        axis = b.pick(ones)
        return b.node("Squeeze", [x, b.ints([axis if b.chance(0.5) else axis - len(shape)])], shape[:axis] + shape[axis + 1:])
    if len(shape) >= 5:
        return unary(b, x)
    axis = int(b.rng.integers(0, len(shape) + 1))
    return b.node("Unsqueeze", [x, b.ints([axis])], shape[:axis] + [1] + shape[axis:])


def concat(b, x):
    shape = b.shapes[x]
    if math.prod(shape) * 2 > LARGEST:
        return slice_of(b, x)
    axis = int(b.rng.integers(len(shape)))
    others = [name for name, dims in b.shapes.items() if dims == shape]
    out = list(shape)
    out[axis] *= 2
    return b.node("Concat", [x, b.pick(others)], out, axis=b.pick([axis, axis - len(shape)]))


def slice_of(b, x):
    shape = b.shapes[x]
    axis = int(b.rng.integers(len(shape)))
    length = shape[axis]
    start = int(b.rng.integers(0, length))
    step = b.pick([1, 1, 2])
    stop = int(b.rng.integers(start + 1, length + 1))
    out = list(shape)
    out[axis] = len(range(start, stop, step))
    end = stop if b.chance(0.6) else (2**31 if stop == length else stop - length)
    begin = start if b.chance(0.7) else start - length
    return b.node("Slice", [x, b.ints([begin]), b.ints([end]), b.ints([axis]), b.ints([step])], out)


def split(b, x):
    shape = b.shapes[x]
    axes = [i for i, d in enumerate(shape) if d > 1]
    if not axes:
        return unary(b, x)
    axis = b.pick(axes)
    cut = int(b.rng.integers(1, shape[axis]))
    parts = [shape[:axis] + [n] + shape[axis + 1:] for n in (cut, shape[axis] - cut)]
    first, second = b.node("Split", [x, b.ints([cut, shape[axis] - cut])], parts, outputs=2, axis=axis)
    if b.chance(0.5):
        return b.node("Concat", [second, first], shape, axis=axis)
    return b.pick([first, second])


def pad(b, x):
    shape = b.shapes[x]
    begins, ends = [0] * len(shape), [0] * len(shape)
    axis = int(b.rng.integers(len(shape)))
    begins[axis], ends[axis] = int(b.rng.integers(0, 3)), int(b.rng.integers(0, 3))
    out = [d + lo + hi for d, lo, hi in zip(shape, begins, ends)]
    if math.prod(out) > LARGEST:
        return unary(b, x)
    mode = b.pick(["constant", "constant", "edge"])
    inputs = [x, b.ints(begins + ends)] + ([b.constant(b.pick([0.0, 0.5]))] if mode == "constant" else [])
    return b.node("Pad", inputs, out, mode=mode)


def reduce(b, x):
    shape = b.shapes[x]
    if len(shape) < 2:
        return unary(b, x)
    axis = int(b.rng.integers(len(shape)))
    keep = int(b.chance(0.6))
    out = [1 if i == axis else d for i, d in enumerate(shape) if keep or i != axis]
    op = b.pick(["ReduceMean", "ReduceSum", "ReduceMax"])
    if op == "ReduceSum":
        return b.node(op, [x, b.ints([axis])], out, keepdims=keep)
    if b.opset >= 18:
        return b.node(op, [x, b.ints([axis])], out, keepdims=keep)
    return b.node(op, [x], out, axes=[axis], keepdims=keep)


def choose(b, x):
    shape = b.shapes[x]
    kind = b.pick(["Softmax", "Gather", "Tile", "Expand"])
    axis = int(b.rng.integers(len(shape)))
    if kind == "Softmax":
        return b.node("Softmax", [x], shape, axis=axis)
    if kind == "Gather":
        count = int(b.rng.integers(1, 4))
        indices = b.rng.integers(-shape[axis], shape[axis], count)
        return b.node("Gather", [x, b.ints(indices)], shape[:axis] + [count] + shape[axis + 1:], axis=axis)
    if math.prod(shape) * 2 > LARGEST:
        return unary(b, x)
    if kind == "Tile":
        repeats = [2 if i == axis else 1 for i in range(len(shape))]
        return b.node("Tile", [x, b.ints(repeats)], [d * r for d, r in zip(shape, repeats)])
    if len(shape) >= 5:
        return unary(b, x)
    return b.node("Expand", [x, b.ints([2] + [1] * len(shape))], [2] + shape)


def product(b, x):
    shape = b.shapes[x]
    out = int(b.rng.integers(2, 9))
    if len(shape) == 1:
        return binary(b, x)
    if len(shape) == 2 and b.chance(0.5):
        turned = int(b.chance(0.5))
        w = b.weight(out, shape[1]) if turned else b.weight(shape[1], out)
        inputs = [x, w] + ([b.weight(out)] if b.chance(0.7) else [])
        return b.node("Gemm", inputs, [shape[0], out], transB=turned, alpha=b.pick([1.0, 1.0, 0.5]), beta=b.pick([1.0, 1.0, 2.0]))
    y = b.node("MatMul", [x, b.weight(shape[-1], out)], shape[:-1] + [out])
    return b.node("Add", [y, b.weight(out)], shape[:-1] + [out]) if b.chance(0.5) else y


def normalize(b, x):
    shape = b.shapes[x]
    last = shape[-1]
    if len(shape) < 2 or b.opset < 17:
        return unary(b, x)
    return b.node("LayerNormalization", [x, b.constant(b.rng.uniform(0.5, 1.5, last)), b.weight(last)], shape, axis=-1)


def convolution(b, x):
    n, channels, height, width = b.shapes[x]
    kernel, stride = b.pick([(1, 1), (3, 1), (3, 2)])
    edge = b.pick([0, 1]) if kernel == 3 else 0
    size = [(d + 2 * edge - kernel) // stride + 1 for d in (height, width)]
    if min(height, width) + 2 * edge < kernel:
        return unary(b, x)
    depthwise = b.chance(0.3)
    out = channels if depthwise else int(b.rng.integers(1, 9))
    w = b.weight(out, 1 if depthwise else channels, kernel, kernel)
    if n * out * size[0] * size[1] > LARGEST:
        return unary(b, x)
    inputs = [x, w] + ([b.weight(out)] if b.chance(0.6) else [])
    y = b.node("Conv", inputs, [n, out, *size], pads=[edge] * 4, strides=[stride] * 2, group=channels if depthwise else 1)
    return image_tail(b, y)


def image_tail(b, x):
    """What often follows a Conv."""
    shape = b.shapes[x]
    channels = shape[1]
    kind = b.pick(["", "norm", "scale", "Relu", "norm Relu"])
    if "norm" in kind:
        parameters = [b.constant(b.rng.uniform(0.5, 1.5, channels)), b.weight(channels), b.weight(channels),
                      b.constant(b.rng.uniform(0.5, 1.5, channels))]
        x = b.node("BatchNormalization", [x, *parameters], shape)
    if kind == "scale":
        x = b.node(b.pick(["Mul", "Add"]), [x, b.weight(channels, 1, 1)], shape)
    return b.node("Relu", [x], shape) if "Relu" in kind else x


def pool(b, x):
    n, channels, height, width = b.shapes[x]
    kind = b.pick(["MaxPool", "AveragePool", "GlobalAveragePool", "InstanceNormalization", "Resize", "DepthToSpace"])
    if kind == "GlobalAveragePool":
        return b.node(kind, [x], [n, channels, 1, 1])
    if kind == "InstanceNormalization" and height * width > 2:
        return b.node(kind, [x, b.constant(b.rng.uniform(0.5, 1.5, channels)), b.weight(channels)], b.shapes[x])
    if kind == "Resize" and math.prod(b.shapes[x]) * 4 <= LARGEST:
        return b.node(kind, [x, "", b.constant([1, 1, 2, 2])], [n, channels, height * 2, width * 2], mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    if kind == "DepthToSpace" and channels % 4 == 0:
        return b.node(kind, [x], [n, channels // 4, height * 2, width * 2], blocksize=2)
    if min(height, width) < 2:
        return unary(b, x)
    op = b.pick(["MaxPool", "AveragePool"])
    return b.node(op, [x], [n, channels, (height - 2) // 2 + 1, (width - 2) // 2 + 1], kernel_shape=[2, 2], strides=[2, 2])


def half_island(b, x):
    """A few nodes that compute in float16, as exporters leave them in float32 models."""
    shape = b.shapes[x]
    y = b.node("Cast", [x], None, to=TensorProto.FLOAT16)  # without a shape nothing else reads it
    for _ in range(int(b.rng.integers(1, 4))):
        op = b.pick(["Relu", "Sigmoid", "Mul", "Add", "Tanh"])
        other = [b.constant(b.rng.uniform(-1, 1, shape[-1:]), np.float16)] if op in ("Mul", "Add") else []
        y = b.node(op, [y, *other], None)
    return b.node("Cast", [y], shape, to=TensorProto.FLOAT)


def masked_softmax(b, x):
    """Scores under a mask; every row keeps a place."""
    shape = b.shapes[x]
    keep = b.rng.random(shape[-2:]) < 0.6
    keep[..., 0] = True
    low = b.pick([-1e4, -65504, -1e9, float(np.finfo(np.float32).min), -np.inf])
    form = b.pick(["add", "where", "bias", "product"])
    if form == "product" and np.isinf(low):
        form = "add"
    if form == "add":
        y = b.node("Add", [x, b.constant(np.where(keep, 0, low))], None)  # without a shape only the Softmax reads it
    elif form == "where":
        y = b.node("Where", [b.constant(keep, bool), x, b.constant(low)], None)
    elif form == "bias":
        y = b.node("Add", [x, b.node("Where", [b.constant(keep, bool), b.constant(0), b.constant(low)], None)], None)
    else:
        no = b.node("Sub", [b.constant(1), b.node("Cast", [b.constant(keep, bool)], None, to=TensorProto.FLOAT)], None)
        y = b.node("Add", [x, b.node("Mul", [no, b.constant(low)], None)], None)
    y = b.node("Softmax", [y], shape, axis=-1)
    return b.node("MatMul", [y, b.weight(shape[-1], 4)], shape[:-1] + [4])


ANY = [unary, unary, binary, binary, transpose, reshape, views, concat, slice_of, split, pad, reduce, choose, product, normalize]
IMAGE = [convolution, convolution, convolution, pool]


RARE = [half_island, masked_softmax]


def random_model(seed, length=12, opset=17, rare=False):
    """The model and the shape of its one input "x". Opsets 13 to 17. rare: with float16 islands and attention masks."""
    b = Builder(seed, opset)
    shape = b.pick([[1, 4, 8, 8], [2, 3, 6, 5], [1, 6, 10], [4, 8], [2, 5, 4], [1, 8, 4, 4]])
    b.shapes["x"] = shape
    at = "x"
    for _ in range(length):
        if b.chance(0.2):  # go on from an earlier value
            at = b.pick([name for name, dims in b.shapes.items() if dims])
        is_image = len(b.shapes[at]) == 4 and math.prod(b.shapes[at]) > 0
        if rare and len(b.shapes[at]) > 1 and math.prod(b.shapes[at]) > 0 and b.chance(0.25):
            at = b.pick(RARE)(b, at)
        else:
            at = b.pick(ANY + (IMAGE * 2 if is_image else []))(b, at)
    read = {name for node in b.nodes for name in node.input}
    ends = [name for name, dims in b.shapes.items() if dims is not None and name not in read and name != "x"]
    outputs = ends + [name for name in [at] if name not in ends and name != "x"]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, b.shapes[name]) for name in outputs]
    return model_of(b, f"random{seed}", shape, infos), shape


def model_of(b, name, shape, infos):
    graph = helper.make_graph(b.nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], infos, b.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", b.opset)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model
