# SPDX-License-Identifier: MIT
"""Forms of layers that a target's compiler does not place: the result for the target is placed whole and computes the same."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from reference import save_samples, session
from target_network import weight

PRESETS = {"x1": "xint8", "x2": "a8w8", "gen2-vint8": "vint8"}


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, *values):
    return numpy_helper.from_array(np.array(values, np.float32).reshape(() if len(values) == 1 else -1), name)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, output if isinstance(output, list) else [output], **attributes)


def conv(inputs, output, group=1, size=3, stride=1, dilation=1):
    pad = dilation * (size // 2)
    return node("Conv", inputs, output, group=group, kernel_shape=[size, size], strides=[stride] * 2, pads=[pad] * 4, dilations=[dilation] * 2)


def shuffled():
    """Concat, channel shuffle of rank 5, halves by Split: a block of ShuffleNet."""
    middle = [conv(["a", "k1"], "b"), node("Concat", ["a", "b"], "c", axis=1), node("Reshape", ["c", "five"], "r"),
              node("Transpose", ["r"], "t", perm=[0, 2, 1, 3, 4]), node("Reshape", ["t", "four"], "s"), node("Split", ["s"], ["l", "m"], axis=1),
              conv(["m", "k2"], "n"), node("Concat", ["l", "n"], "o", axis=1)]
    return middle, [weight("k1", 8, 8, 3, 3, seed=4), weight("k2", 8, 8, 3, 3, seed=5), ints("five", 1, 2, 8, 8, 8), ints("four", 1, 16, 8, 8)]


def gathered():
    """Halves of a shuffle by Gather from a tensor of rank 5."""
    middle = [node("Reshape", ["a", "three"], "r"), node("Transpose", ["r"], "t", perm=[1, 0, 2]), node("Reshape", ["t", "five"], "u"),
              node("Gather", ["u", "first"], "l", axis=0), node("Gather", ["u", "second"], "m", axis=0), conv(["m", "k1"], "n"),
              node("Concat", ["l", "n"], "o", axis=1)]
    one = lambda name, value: numpy_helper.from_array(np.array(value, np.int64), name)  # noqa: E731
    return middle, [weight("k1", 4, 4, 3, 3, seed=4), ints("three", 4, 2, 64), ints("five", 2, 1, 4, 8, 8), one("first", 0), one("second", 1)]


def clipped():
    middle = [conv(["a", "k1"], "b", group=8), node("Clip", ["b", "low", "high"], "c"), conv(["c", "k2"], "o")]
    return middle, [weight("k1", 8, 1, 3, 3, seed=4), weight("k2", 8, 8, 3, 3, seed=5), floats("low", 0), floats("high", 0.75)]


def squeezed():
    middle = [node("GlobalAveragePool", ["a"], "p"), node("Flatten", ["p"], "f"), node("Gemm", ["f", "m1", "c1"], "g"), node("Relu", ["g"], "r"),
              node("Gemm", ["r", "m2", "c2"], "h"), node("HardSigmoid", ["h"], "s", alpha=1 / 6), node("Reshape", ["s", "image"], "i"),
              node("Mul", ["a", "i"], "o")]
    rows = [weight("m1", 8, 4, seed=4), weight("m2", 4, 8, seed=5), weight("c1", 4, seed=6), weight("c2", 8, seed=7)]
    return middle, [*rows, ints("image", 1, 8, 1, 1)]


def enlarged():
    middle = [node("Resize", ["a", "", "twice"], "b", mode="linear", coordinate_transformation_mode="pytorch_half_pixel"), conv(["b", "k1"], "c"),
              node("Resize", ["c", "", "half"], "o", mode="linear", coordinate_transformation_mode="half_pixel")]
    return middle, [weight("k1", 8, 8, 3, 3, seed=4), floats("twice", 1, 1, 2, 2), floats("half", 1, 1, 0.5, 0.5)]


def transposed():
    middle = [node("ConvTranspose", ["a", "k1"], "b", strides=[2, 2], pads=[1, 1, 1, 1]), node("Relu", ["b"], "o")]
    return middle, [weight("k1", 8, 8, 4, 4, seed=4)]


def dilated():
    return [conv(["a", "k1"], "o", group=8, dilation=4)], [weight("k1", 8, 1, 3, 3, seed=4)]


def subtracted():
    middle = [conv(["a", "k1"], "b"), node("Sub", ["b", "a"], "c"), node("Sub", ["c", "half"], "d"), node("Tanh", ["d"], "o")]
    return middle, [weight("k1", 8, 8, 3, 3, seed=4), floats("half", 0.5)]


FORMS = {form.__name__: form for form in (shuffled, gathered, clipped, squeezed, enlarged, transposed, dilated, subtracted)}


def save(folder, middle, weights, head=("Conv",), element=TensorProto.FLOAT, size=8):
    """x -> Conv -> Relu -> middle -> Conv, and a last Flatten of pooled values if the head has one."""
    nodes = [conv(["x", "v"], "y0"), node("Relu", ["y0"], "a"), *middle]
    known = onnx.shape_inference.infer_shapes(helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", element, [1, 3, 8, 8])], [helper.make_tensor_value_info("o", element, None)],
        [weight("v", 8, 3, 3, 3, seed=1), *weights]), opset_imports=[helper.make_opsetid("", 17)]))
    channels = known.graph.output[0].type.tensor_type.shape.dim[1].dim_value
    nodes.append(conv(["o", "w"], "y" if head == ("Conv",) else "z", size=1))
    if head != ("Conv",):
        nodes += [node("GlobalAveragePool", ["z"], "p"), node("Flatten", ["p"], "y")]
    shape = [1, 3, size, size]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", element, shape)], [helper.make_tensor_value_info("y", element, None)],
                              [weight("v", 8, 3, 3, 3, seed=1), *weights, weight("w", 4, channels, 1, 1, seed=2)])
    path = os.path.join(folder, "net.onnx")
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    onnx.save(model, path)
    return path


def quantized(folder, model, target, *options, samples=None):
    out = os.path.join(folder, "out.onnx")
    quarkq("quantize", model, "-c", PRESETS[target], "--target", target, "--calib", samples or save_samples(os.path.join(folder, "calib"), 16), "-o",
           out, "--on-collapse", "warn", *options)
    return out, json.loads(run("check", out, "--target", target, "--json", "-").stdout)


def outputs(path):
    x = np.random.default_rng(9).random((1, 3, 8, 8), dtype=np.float32)
    return session(path).run(None, {"x": x})[0].ravel()


@test(cases=[f"{form}@{target}" for form in FORMS for target in PRESETS])
def a_form_is_placed_whole(case):
    form, target = case.split("@")
    with temp_folder() as folder:
        model = save(folder, *FORMS[form]())
        out, found = quantized(folder, model, target)
        left = [one["name"] for one in found["nodes"] if one["region"] is None]
        expect(not found["blocked"] and found["predicted"]["subgraphs"] == 1 and not left, f"{target} leaves {left}")
        onnx.checker.check_model(out, full_check=True)
        a, b = outputs(model), outputs(out)
        cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        expect(cosine > 0.98, f"cosine {cosine} with the float outputs")


@test(cases=["shuffled", "clipped"])
def the_integers_stay(form):
    """With the rewrite and without it the result computes the same outputs, to the bit."""
    key = {"shuffled": "channel_shuffle_to_conv", "clipped": "clip_to_relu"}[form]
    with temp_folder() as folder:
        model = save(folder, *FORMS[form]())
        rewritten = outputs(quantized(folder, model, "x2")[0])
        kept = outputs(quantized(folder, model, "x2", "--set", f"legalize.{key}=false")[0])
        np.testing.assert_array_equal(rewritten, kept)


@test(cases=["x1", "x2"])
def a_last_flatten_is_quantized(target):
    with temp_folder() as folder:
        model = save(folder, *clipped(), head=("Conv", "Flatten"))
        out, found = quantized(folder, model, target)
        left = [one["name"] for one in found["nodes"] if one["region"] is None]
        expect(not found["blocked"] and not left, f"{target} leaves {left}")
        expect_equal(onnx.load(out).graph.node[-1].op_type, "DequantizeLinear", "last node")


@test(cases=["x1", "x2"])
def a_float16_model_gets_a_float32_interface(target):
    with temp_folder() as folder:
        path = save(folder, *dilated())
        model = onnx.load(path)
        for tensor in model.graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
        del model.graph.value_info[:]
        onnx.save(model, path)
        out, found = quantized(folder, path, target)
        left = [one["name"] for one in found["nodes"] if one["region"] is None]
        expect(not found["blocked"] and not left, f"{target} leaves {left}")
        expect_equal(onnx.load(out).graph.input[0].type.tensor_type.elem_type, TensorProto.FLOAT, "type of the input")


@test(cases=["x1", "gen2-vint8"])
def unknown_sizes_become_those_of_the_samples(target):
    with temp_folder() as folder:
        model = save(folder, *dilated(), size="S")
        out, found = quantized(folder, model, target)
        expect(not found["blocked"], f"found {found['findings']}")
        dims = onnx.load(out).graph.input[0].type.tensor_type.shape.dim
        expect_equal([dim.dim_value for dim in dims], [1, 3, 8, 8], "shape of the input")


@test()
def samples_of_several_sizes_need_a_shape():
    with temp_folder() as folder:
        model = save(folder, *dilated(), size="S")
        calib = save_samples(os.path.join(folder, "calib"), 4)
        np.save(os.path.join(calib, "9999.npy"), np.zeros((1, 3, 16, 8), np.float32))
        result = run("quantize", model, "--target", "x1", "--calib", calib, "-o", os.path.join(folder, "out.onnx"))
        expect_error(result, 2, "input x", "1,3,8,8", "1,3,16,8", "pass --shape x=1,3,8,8")
