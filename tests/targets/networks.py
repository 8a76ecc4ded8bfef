# SPDX-License-Identifier: MIT
"""Public image networks as ONNX graphs, with BatchNormalization folded where an exporter folds it, and random weights. Input 1 x 3 x 224 x 224,
the size of the published ones: large global pools are split in two."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

SIZE = 224


class Builder:
    def __init__(self, name):
        self.name, self.nodes, self.weights, self.channels = name, [], [], {"x": 3}
        self.random = np.random.default_rng(1)

    def op(self, kind, *inputs, channels=None, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], f"{kind}_{len(self.nodes)}", **attributes))
        self.channels[out] = channels or self.channels[inputs[0]]
        return out

    def stored(self, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def normal(self, *shape):
        return self.stored((self.random.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32))

    def conv(self, x, out, kernel=1, stride=1, group=1, pad=None):
        pad = kernel // 2 if pad is None else pad
        return self.op("Conv", x, self.normal(out, self.channels[x] // group, kernel, kernel), self.normal(out), channels=out, kernel_shape=[kernel] * 2,
                       strides=[stride] * 2, pads=[pad] * 4, dilations=[1, 1], group=group)

    def relu(self, x):
        return self.op("Relu", x)

    def relu6(self, x):
        return self.op("Clip", x, self.stored(np.float32(0)), self.stored(np.float32(6)))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def hard_sigmoid(self, x):
        return self.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)

    def hard_swish(self, x):
        return self.op("Mul", x, self.hard_sigmoid(x))

    def max_pool(self, x, kernel=3, stride=2, pad=1):
        return self.op("MaxPool", x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def gap(self, x):
        return self.op("GlobalAveragePool", x)

    def gemm(self, x, out):
        return self.op("Gemm", x, self.normal(out, self.channels[x]), self.normal(out), channels=out, transB=1)

    def head(self, x):
        return self.gemm(self.op("Flatten", self.gap(x)), 10)

    def model(self, y):
        self.nodes[-1].output[0] = "y"
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 3, SIZE, SIZE]), ("y", ["N", "C"]))]
        graph = helper.make_graph(self.nodes, self.name, value[:1], value[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def resnet(name, layers, bottleneck, group=1, width=1):
    b = Builder(name)
    x = b.max_pool(b.relu(b.conv("x", 64, 7, 2)))
    for stage, count in enumerate(layers):
        mid, out = 64 * 2 ** stage * width, 64 * 2 ** stage * (4 if bottleneck else 1)
        for block in range(count):
            stride = 2 if stage and not block else 1
            skip = b.conv(x, out, 1, stride) if stride != 1 or b.channels[x] != out else x
            if bottleneck:
                y = b.conv(b.relu(b.conv(b.relu(b.conv(x, mid)), mid, 3, stride, group)), out)
            else:
                y = b.conv(b.relu(b.conv(x, out, 3, stride)), out, 3)
            x = b.relu(b.op("Add", y, skip))
    return b.model(b.head(x))


def squeezenet(name, first, pools):
    b = Builder(name)
    x = b.relu(b.conv("x", first[0], first[1], 2, pad=0))
    for index, (squeeze, expand) in enumerate([(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]):
        if index in pools:
            x = b.max_pool(x, pad=0)
        s = b.relu(b.conv(x, squeeze))
        x = b.op("Concat", b.relu(b.conv(s, expand)), b.relu(b.conv(s, expand, 3)), channels=2 * expand, axis=1)
    return b.model(b.op("Flatten", b.gap(b.relu(b.conv(x, 10)))))


def mobilenet_v2(name):
    b = Builder(name)
    x = b.relu6(b.conv("x", 32, 3, 2))
    for expand, out, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(count):
            mid = b.channels[x] * expand
            y = x if expand == 1 else b.relu6(b.conv(x, mid))
            y = b.conv(b.relu6(b.conv(y, mid, 3, stride if not block else 1, mid)), out)
            x = b.op("Add", x, y) if block else y
    return b.model(b.head(b.relu6(b.conv(x, 1280))))


def squeeze_excite(b, x, mid, inner, gate):
    y = b.conv(inner(b.conv(b.gap(x), mid)), b.channels[x])
    return b.op("Mul", x, gate(y))


V3_SMALL = [(3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2), (5, 240, 40, 1, 1, 1), (5, 240, 40, 1, 1, 1),
            (5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1), (5, 288, 96, 1, 1, 2), (5, 576, 96, 1, 1, 1), (5, 576, 96, 1, 1, 1)]


def mobilenet_v3(name):
    b = Builder(name)
    x = b.hard_swish(b.conv("x", 16, 3, 2))
    for kernel, mid, out, has_se, is_hard, stride in V3_SMALL:
        act = b.hard_swish if is_hard else b.relu
        y = x if mid == b.channels[x] else act(b.conv(x, mid))
        y = act(b.conv(y, mid, kernel, stride, mid))
        if has_se:
            y = squeeze_excite(b, y, mid // 4, b.relu, b.hard_sigmoid)
        y = b.conv(y, out)
        x = b.op("Add", x, y) if stride == 1 and b.channels[x] == out else y
    x = b.op("Flatten", b.gap(b.hard_swish(b.conv(x, 576))))
    return b.model(b.gemm(b.hard_swish(b.gemm(x, 1024)), 10))


def efficientnet(name, depth):
    b = Builder(name)
    x = b.silu(b.conv("x", 32, 3, 2))
    for expand, kernel, stride, out, count in [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
                                               (6, 3, 1, 320, 1)]:
        for block in range(int(np.ceil(count * depth))):
            mid, se = b.channels[x] * expand, max(1, b.channels[x] // 4)
            y = x if expand == 1 else b.silu(b.conv(x, mid))
            y = squeeze_excite(b, b.silu(b.conv(y, mid, kernel, stride if not block else 1, mid)), se, b.silu, lambda v: b.op("Sigmoid", v))
            y = b.conv(y, out)
            x = b.op("Add", x, y) if block else y
    return b.model(b.head(b.silu(b.conv(x, 1280))))


def shufflenet(name, widths):
    b = Builder(name)
    x = b.max_pool(b.relu(b.conv("x", 24, 3, 2)))
    size = SIZE // 4
    for out, count in zip(widths, (4, 8, 4)):
        size //= 2
        for block in range(count):
            half = out // 2
            if block:
                left, right = (b.op("Slice", x, *[b.stored(np.asarray([v], np.int64)) for v in (begin, end, 1)], channels=half)
                               for begin, end in ((0, half), (half, out)))
            else:
                left, right = b.relu(b.conv(b.conv(x, b.channels[x], 3, 2, b.channels[x]), half)), x
            y = b.relu(b.conv(right, half))
            y = b.relu(b.conv(b.conv(y, half, 3, 1 if block else 2, half), half))
            x = b.op("Concat", left, y, channels=out, axis=1)
            x = b.op("Reshape", x, b.stored(np.asarray([1, 2, half, size, size], np.int64)))
            x = b.op("Transpose", x, perm=[0, 2, 1, 3, 4])
            x = b.op("Reshape", x, b.stored(np.asarray([1, out, size, size], np.int64)))
    x = b.op("ReduceMean", b.relu(b.conv(x, 1024)), axes=[2, 3], keepdims=0)
    return b.model(b.gemm(x, 10))


def densenet(name, layers):
    b = Builder(name)

    def norm_relu(x):
        parts = [b.stored(b.random.uniform(0.5, 1.5, b.channels[x]).astype(np.float32)) for _ in range(4)]
        return b.relu(b.op("BatchNormalization", x, *parts))
    x = b.max_pool(b.relu(b.conv("x", 64, 7, 2)))
    for stage, count in enumerate(layers):
        for _ in range(count):
            y = b.conv(norm_relu(b.conv(norm_relu(x), 128)), 32, 3)
            x = b.op("Concat", x, y, channels=b.channels[x] + 32, axis=1)
        if stage < 3:
            x = b.op("AveragePool", b.conv(norm_relu(x), b.channels[x] // 2), kernel_shape=[2, 2], strides=[2, 2])
    return b.model(b.head(norm_relu(x)))


NETWORKS = {
    "resnet18": lambda name: resnet(name, (2, 2, 2, 2), False),
    "resnet34": lambda name: resnet(name, (3, 4, 6, 3), False),
    "resnet50": lambda name: resnet(name, (3, 4, 6, 3), True),
    "resnext50_32x4d": lambda name: resnet(name, (3, 4, 6, 3), True, 32, 2),
    "squeezenet1_0": lambda name: squeezenet(name, (96, 7), (0, 3, 7)),
    "squeezenet1_1": lambda name: squeezenet(name, (64, 3), (0, 2, 4)),
    "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3": mobilenet_v3,
    "efficientnet_b0": lambda name: efficientnet(name, 1.0),
    "efficientnet_b1": lambda name: efficientnet(name, 1.1),
    "shufflenet_v2_x0_5": lambda name: shufflenet(name, (48, 96, 192)),
    "shufflenet_v2_x1_0": lambda name: shufflenet(name, (116, 232, 464)),
    "densenet121": lambda name: densenet(name, (6, 12, 24, 16)),
}
