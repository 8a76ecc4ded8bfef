# SPDX-License-Identifier: MIT
"""Small image networks with weights from a seed whose BatchNormalizations were trained: each has the mean and variance of what
comes to it when images in the right form run through the layers before."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from reference import session

SIZE = 24
MEAN, STD = np.array([0.485, 0.456, 0.406]) * 255, np.array([0.229, 0.224, 0.225]) * 255
# name -> pixels [N, H, W, C] to what a network takes
FORMS = {
    "raw": lambda x: x,
    "unit": lambda x: x / 255,
    "imagenet": lambda x: (x - MEAN) / STD,
    "tf": lambda x: x / 127.5 - 1,
    "caffe": lambda x: x[..., ::-1] - np.array([103.939, 116.779, 123.68]),
    "no scale": lambda x: (x - MEAN / 255) / (STD / 255),  # imagenet without 1/255
}


def photos(count, seed, channels=3):
    """Smooth pixels 0 to 255 whose mean and deviation are about those of photos: [N, H, W, C]."""
    random = np.random.default_rng(seed)
    grid = np.arange(SIZE) / SIZE
    images = []
    for _ in range(count):
        image = np.zeros((SIZE, SIZE, channels))
        for wave in range(1, 6):
            for _ in range(2):
                angle, phase = random.uniform(0, 2 * np.pi, 2)
                field = np.cos(2 * np.pi * wave * (np.cos(angle) * grid[:, None] + np.sin(angle) * grid[None, :]) + phase)
                image += field[..., None] * (1 + 0.3 * random.normal(size=channels)) / wave
        level = random.uniform(80, 150)
        images.append(np.clip(level + image * 60 + random.normal(size=image.shape) * 4, 0, 255).round())
    return np.array(images)


class Network:
    """Four layers of convolution, normalization and activation, then classes. `folded`: the normalization is in the weights, as
    exporters leave it. `form`: what it is trained with. `last`: images are [N, H, W, C]. `inside`: constants (subtracted,
    multiplied) within the graph."""

    def __init__(self, seed, form, activation="Relu", folded=False, channels=3, last=False, inside=None, normalized=True):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []
        self.channels, self.last = channels, last
        self.training = self.inputs(photos(12, seed + 1, channels), form)
        value = "x"
        if inside:
            for op, number in zip(("Sub", "Mul"), inside):
                value = self.add(op, [value, self.constant(np.float32(number))])
        if last:
            value = self.add("Transpose", [value], perm=[0, 3, 1, 2])
        count = channels
        for i, width in enumerate((16, 16, 24, 24)):
            value = self.layer(value, count, width, (activation, folded, normalized), stride=1 + i % 2)
            count = width
        value = self.add("GlobalAveragePool", [value])
        value = self.add("Flatten", [value])
        logits = self.add("Gemm", [value, self.constant(np.zeros((count, 10), np.float32)), self.constant(np.zeros(10, np.float32))])
        spread = self.run(value).std()
        weights = self.random.normal(size=(count, 10)) * 3 / (np.sqrt(count) * max(spread, 1e-6))
        self.replace(self.nodes[-1].input[1], weights)
        self.add("Softmax", [logits], output="y", axis=1)

    def inputs(self, pixels, form):
        values = FORMS[form](pixels).astype(np.float32)
        return values if self.last else np.ascontiguousarray(values.transpose(0, 3, 1, 2))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def replace(self, name, array):
        index = [one.name for one in self.weights].index(name)
        self.weights[index] = numpy_helper.from_array(np.asarray(array, np.float32), name)

    def add(self, op, inputs, output=None, **attributes):
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], f"n{len(self.nodes)}", **attributes))
        return output

    def layer(self, value, count, width, kind, stride):
        activation, folded, normalized = kind
        weights = self.random.normal(size=(width, count, 3, 3)) * np.sqrt(2 / (9 * count))
        plain = self.add("Conv", [value, self.constant(weights)], pads=[1, 1, 1, 1], strides=[stride, stride])
        gamma, beta = self.random.uniform(0.5, 1.5, width), self.random.normal(size=width) * 0.5
        seen = self.run(plain)
        mean, deviation = seen.mean((0, 2, 3)), seen.std((0, 2, 3)) + 1e-6
        if not normalized:  # as trained from zero biases
            bias = self.random.normal(size=width) * 0.02
            self.nodes[-1].input.append(self.constant(bias))
            out = plain
        elif folded:
            factor = gamma / deviation
            self.replace(self.nodes[-1].input[1], weights * factor[:, None, None, None])
            self.nodes[-1].input.append(self.constant(beta - mean * factor))
            out = plain
        else:
            parts = [self.constant(part) for part in (gamma, beta, mean, deviation ** 2)]
            out = self.add("BatchNormalization", [plain, *parts], epsilon=1e-9)
        if activation == "SiLU":
            return self.add("Mul", [out, self.add("Sigmoid", [out])])
        if activation == "Clip":
            return self.add("Clip", [out, self.constant(0), self.constant(6)])
        return self.add(activation, [out])

    def model(self, output="y", count=None):
        dims = ["N", SIZE, SIZE, self.channels] if self.last else ["N", self.channels, SIZE, SIZE]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, count)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def run(self, value):
        """What the layers so far make of the training images."""
        return session(self.model(value).SerializeToString()).run([value], {"x": self.training})[0]

    def save(self, path):
        onnx.save(onnx.shape_inference.infer_shapes(self.model("y", ["N", 10])), path)
        return path
