# SPDX-License-Identifier: MIT
"""Recipes of convolutions, pools, sampling and what else works on images."""
import numpy as np

from operators import recipe

TYPES = [np.float32, np.float32, np.float32, np.float64, np.float16]


class Window:
    """A sliding window over 1 to 3 dimensions, with sizes that it fits into."""

    def __init__(self, b, least=1, most=3, dilated=True, largest=3):
        count = b.integer(least, most)
        self.kernel = [b.integer(1, largest) for _ in range(count)]
        self.strides = [b.integer(1, 3) for _ in range(count)]
        self.dilations = [b.integer(1, 2) if dilated else 1 for _ in range(count)]
        self.auto = b.pick(["", "", "", "SAME_UPPER", "SAME_LOWER", "VALID"])
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        self.sizes = [r + b.integer(0, 5) for r in reach]
        self.pads = [b.integer(0, min(2, k - 1)) for k in self.kernel * 2]

    def attributes(self, with_dilations=True):
        found = {"kernel_shape": self.kernel, "strides": self.strides}
        if with_dilations:
            found["dilations"] = self.dilations
        return found | ({"auto_pad": self.auto} if self.auto else {"pads": self.pads})


def undilated(window):
    """Automatic pads and dilations together mean different things to different programs."""
    if window.auto.startswith("SAME"):
        window.dilations = [1] * len(window.kernel)
    return window


@recipe("Conv")
def conv(b, op):
    window = undilated(Window(b))
    group, inner, outer = b.pick([1, 1, 2, 3]), b.integer(1, 4), b.integer(1, 4)
    if b.chance(0.25):
        group, inner, outer = b.integer(1, 6), 1, b.pick([1, 1, 2])  # depthwise
    dtype = b.pick(TYPES)
    inputs = [b.operand([b.integer(1, 2), group * inner, *window.sizes], dtype), b.operand([group * outer, inner, *window.kernel], dtype, late=0.15)]
    b.call(op, inputs + ([b.operand([group * outer], dtype, late=0.15)] if b.chance(0.6) else []), group=group, **window.attributes())


@recipe("ConvTranspose")
def conv_transpose(b, op):
    window = undilated(Window(b))
    group, inner, outer = b.pick([1, 1, 2]), b.integer(1, 4), b.integer(1, 4)
    dtype = b.pick([np.float32, np.float32, np.float16])
    inputs = [b.operand([b.integer(1, 2), group * inner, *window.sizes], dtype), b.operand([group * inner, outer, *window.kernel], dtype, late=0.15)]
    attributes = window.attributes()
    if not window.auto:
        attributes["output_padding"] = [b.integer(0, max(s, d) - 1) if b.chance(0.3) else 0 for s, d in zip(window.strides, window.dilations)]
    b.call(op, inputs + ([b.operand([group * outer], dtype, late=0.15)] if b.chance(0.6) else []), group=group, **attributes)


@recipe("MaxPool")
def max_pool(b, op):
    window = undilated(Window(b))
    attributes = window.attributes(with_dilations=b.opset >= 10)
    if b.opset >= 10:
        attributes["ceil_mode"] = b.pick([None, 0, 1])
    dtype = b.pick([np.float32, np.float32, np.float64, np.float16] + ([np.int8, np.uint8] if b.opset >= 12 else []))
    outputs = 2 if b.opset >= 8 and b.chance(0.3) and np.dtype(dtype).kind == "f" else 1
    if outputs == 2:
        attributes["storage_order"] = b.pick([None, 0, 1])
    b.call(op, [b.operand([b.integer(1, 2), b.integer(1, 5), *window.sizes], dtype)], outputs, **attributes)


@recipe("AveragePool", "LpPool")
def average_pool(b, op):
    window = undilated(Window(b))
    dilated = b.opset >= (19 if op == "AveragePool" else 18)
    attributes = window.attributes(with_dilations=dilated)
    if op == "AveragePool" and b.opset >= 10 or b.opset >= 18:
        attributes["ceil_mode"] = b.pick([None, 0, 1])
    attributes |= {"count_include_pad": b.pick([None, 0, 1])} if op == "AveragePool" else {"p": b.pick([None, 1, 2, 3])}
    b.call(op, [b.operand([b.integer(1, 2), b.integer(1, 5), *window.sizes])], **attributes)


@recipe("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(b, op):
    dims = b.dims(least=3, most=5, empty=0)
    b.call(op, [b.operand(dims, b.pick([np.float32, np.float32, np.float64, np.float16]))], **({"p": b.pick([None, 1, 2])} if op == "GlobalLpPool" else {}))


MODES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]


@recipe("Resize", since=11)
def resize(b, op):
    mode = b.pick(["nearest", "linear", "cubic"])
    dims = [b.integer(1, 2), b.integer(1, 3), b.integer(1, 6), b.integer(1, 6)]
    places = MODES + (["tf_half_pixel_for_nn"] if b.opset < 13 else []) + (["half_pixel_symmetric"] if b.opset >= 19 else [])
    attributes = {"mode": mode, "coordinate_transformation_mode": b.pick(places)}
    if mode == "nearest":
        attributes["nearest_mode"] = b.pick([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": b.pick([None, -0.5]), "exclude_outside": b.pick([None, 0, 1])}
    if b.opset >= 18 and mode != "nearest":
        attributes["antialias"] = b.pick([None, 0, 0, 1])
    x = b.operand(dims, b.pick([np.float32, np.float32, np.float32, np.uint8] if mode != "cubic" else [np.float32]))
    axes = b.opset >= 18 and b.chance(0.3)
    if axes:
        attributes["axes"] = [2, 3]
    if b.chance(0.5):
        sizes = [b.integer(1, 9), b.integer(1, 9)]
        b.call(op, [x, "" if b.opset >= 13 else b.constant([], np.float32), "" if b.opset >= 13 else b.constant([], np.float32),
                    b.ints(sizes if axes else dims[:2] + sizes)], **attributes)
        return
    scales = [b.pick([0.5, 1.0, 2.0, 1.5, 3.0]) for _ in range(2)]
    scales = [max(s, 1 / d) for s, d in zip(scales, dims[2:])]
    b.call(op, [x, "" if b.opset >= 13 else b.constant([], np.float32), b.stored(np.float32(scales if axes else [1, 1, *scales]))], **attributes)


@recipe("Upsample", until=9)
def upsample(b, op):
    if b.opset > 9:
        return resize(b, "Resize") if b.opset >= 11 else b.call("Resize", [b.operand([1, 2, 3, 4]), b.constant([1, 1, 2, 2])])
    mode, scales = b.pick(["nearest", "linear"]), [1.0, 1.0, b.pick([1.0, 2.0, 1.5]), b.pick([1.0, 2.0, 3.0])]
    x = b.operand([b.integer(1, 2), b.integer(1, 3), b.integer(1, 5), b.integer(1, 5)])
    if b.opset < 9:
        return b.call(op, [x], mode=mode, scales=scales)
    return b.call(op, [x, b.stored(np.float32(scales))], mode=mode)


@recipe("GridSample", since=16)
def grid_sample(b, op):
    batch, size = b.integer(1, 2), [b.integer(1, 4), b.integer(1, 4)]
    modes = ["linear", "nearest", "cubic"] if b.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    inputs = [b.operand([batch, b.integer(1, 3), b.integer(2, 5), b.integer(2, 5)]), b.operand([batch, *size, 2], np.float32, -1.3, 1.3)]
    b.call(op, inputs, mode=b.pick([None, *modes]), padding_mode=b.pick([None, "zeros", "border", "reflection"]), align_corners=b.pick([None, 0, 1]))


@recipe("AffineGrid", since=20)
def affine_grid(b, op):
    batch = b.integer(1, 2)
    if b.chance(0.5):
        theta, size = [batch, 2, 3], [batch, 2, b.integer(1, 4), b.integer(1, 4)]
    else:
        theta, size = [batch, 3, 4], [batch, 2, b.integer(1, 3), b.integer(1, 3), b.integer(1, 3)]
    b.call(op, [b.operand(theta), b.ints(size)], align_corners=b.pick([None, 0, 1]))


@recipe("RoiAlign", since=10)
def roi_align(b, op):
    batch, count = b.integer(1, 2), b.integer(1, 3)
    corners = b.numbers([count, 2], np.float32, 0, 3)
    boxes = np.concatenate([corners, corners + b.numbers([count, 2], np.float32, 1, 4)], axis=1)
    inputs = [b.operand([batch, b.integer(1, 3), 6, 7]), b.stored(boxes, late=0.5), b.ints(b.numbers([count], np.int64, 0, batch - 1))]
    extra = {"coordinate_transformation_mode": b.pick([None, "half_pixel", "output_half_pixel"])} if b.opset >= 16 else {}
    b.call(op, inputs, mode=b.pick([None, "avg", "max"]), output_height=b.integer(1, 3), output_width=b.integer(1, 3), sampling_ratio=b.integer(0, 2),
           spatial_scale=b.pick([None, 0.5]), **extra)


@recipe("DeformConv", since=19)
def deform_conv(b, op):
    kernel, group = [b.integer(1, 3), b.integer(1, 3)], b.integer(1, 2)
    batch, inner, outer = b.integer(1, 2), b.integer(1, 2), b.integer(1, 2)
    size = [k + b.integer(0, 3) for k in kernel]
    out = [s - k + 1 for s, k in zip(size, kernel)]
    inputs = [b.operand([batch, group * inner, *size]), b.operand([group * outer, inner, *kernel]),
              b.operand([batch, 2 * kernel[0] * kernel[1], *out], np.float32, -1.5, 1.5)]
    if b.chance(0.5):
        inputs += [b.operand([group * outer]), b.operand([batch, kernel[0] * kernel[1], *out])]
    b.call(op, inputs, group=group, kernel_shape=kernel, pads=[0, 0, 0, 0])


@recipe("Col2Im", since=18)
def col2im(b, op):
    block, size, batch = [b.integer(1, 3), b.integer(1, 3)], [b.integer(3, 6), b.integer(3, 6)], b.integer(1, 2)
    strides, pads = [b.integer(1, 2), b.integer(1, 2)], [b.integer(0, 1) for _ in range(4)]
    count = [(s + pads[k] + pads[k + 2] - block[k]) // strides[k] + 1 for k, s in enumerate(size)]
    dims = [batch, b.integer(1, 3) * block[0] * block[1], count[0] * count[1]]
    b.call(op, [b.operand(dims), b.ints(size), b.ints(block)], strides=strides, pads=pads)
