# SPDX-License-Identifier: MIT
"""Settings of the reference's documents that ended in an error or in silence: each does what they say, is refused or is named."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from reference import cosine, session


def save(folder, nodes, dims, output, stored, opset=17, kind=np.float32):
    types = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", types[kind], dims)], [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], stored)
    path = os.path.join(folder, "m.onnx")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    os.makedirs(os.path.join(folder, "in"))
    rng = np.random.default_rng(6)
    for i in range(4):
        x = rng.integers(0, 6, dims) if kind == np.int64 else rng.standard_normal(dims)
        np.save(os.path.join(folder, "in", f"{i}.npy"), x.astype(kind))
    return path


def stored(rng, name, *dims):
    return numpy_helper.from_array((rng.standard_normal(dims) * 0.5).astype(np.float32), name)


def constant(name, value, kind=np.float32):
    return numpy_helper.from_array(np.asarray(value, kind), name)


def expect_close(folder, model, written, least=0.99):
    x = {"x": np.load(os.path.join(folder, "in", "0.npy"))}
    found = cosine(session(written).run(None, x)[0], session(model).run(None, x)[0])
    expect(found >= least, f"cosine {found:.4f}")


def quantized(folder, model, preset, *more):
    written = os.path.join(folder, "q.onnx")
    result = quarkq("quantize", "--config", preset, "--calib", os.path.join(folder, "in"), "-o", written, *more, model)
    return written, result.stderr


def gelu_nodes(form):
    """Gelu of a bias Add, with the factors in the order of `form`."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["mm"], name="mm"), helper.make_node("Add", ["mm", "b"], ["a"], name="bias"),
             helper.make_node("Div", ["a", "root"], ["r"], name="div"), helper.make_node("Erf", ["r"], ["e"], name="erf"), helper.make_node("Add", ["e", "one"], ["s"], name="sum")]
    pairs = {"x(1+e)h": ("a", "s"), "(1+e)xh": ("s", "a")}
    if form in pairs:
        nodes += [helper.make_node("Mul", list(pairs[form]), ["p"], name="mul"), helper.make_node("Mul", ["p", "half"], ["y"], name="halve")]
    elif form == "h(1+e)x":
        nodes += [helper.make_node("Mul", ["half", "s"], ["p"], name="halve"), helper.make_node("Mul", ["p", "a"], ["y"], name="mul")]
    else:
        nodes += [helper.make_node("Mul", ["a", "half"], ["p"], name="halve"), helper.make_node("Mul", ["s", "p"], ["y"], name="mul")]
    return nodes


@test(cases=[(f"{form} opset {opset} {' '.join(more)}", form, opset, more) for form in ("x(1+e)h", "(1+e)xh", "h(1+e)x", "(1+e)hx") for opset in (17, 20)
             for more in ((), ("SimplifyModel=false",), ("SimplifyModel=false", "OptimizeModel=false"))])
def gelu_behind_a_bias_is_fused(case):
    _, form, opset, more = case
    rng = np.random.default_rng(2)
    values = [stored(rng, "w", 8, 8), stored(rng, "b", 8), constant("root", np.sqrt(2)), constant("one", 1), constant("half", 0.5)]
    with temp_folder() as folder:
        model = save(folder, gelu_nodes(form), [4, 8], "y", values, opset)
        for preset in ("a8w8", "vint8"):
            written, _ = quantized(folder, model, preset, "--target", "none", *(part for one in more for part in ("--set", one)))
            expect_close(folder, model, written)
            if preset == "a8w8":
                expect_equal("Gelu" in [node.op_type for node in onnx.load(written).graph.node], opset >= 20, "Gelu is one node")
        written = os.path.join(folder, "c.onnx")
        quarkq("convert", model, written, "--pass", "fuse-gelu")
        expect_close(folder, model, written, 0.999999)


@test(cases=["a16w8", "a8w8", "u8s8_aaws"])
def a_table_keeps_its_type_when_a_concat_is_aligned(preset):
    """The Concat's scale does not replace the one that the codes of a gathered table are written in."""
    rng = np.random.default_rng(3)
    nodes = [helper.make_node("Gather", ["table", "x"], ["e"], name="gather"), helper.make_node("Relu", ["e"], ["r"], name="relu"), helper.make_node("Add", ["r", "r"], ["m"], name="add"),
             helper.make_node("Concat", ["e", "m"], ["c"], name="concat", axis=1), helper.make_node("MatMul", ["c", "w"], ["y"], name="mm")]
    values = [stored(rng, "table", 6, 8), stored(rng, "w", 16, 5)]
    with temp_folder() as folder:
        model = save(folder, nodes, [4], "y", values, kind=np.int64)
        extended = ("--set", "quant_format=ExtendedQuantFormat.QDQ") if preset == "u8s8_aaws" else ()
        written, _ = quantized(folder, model, preset, "--set", "AlignConcat=true", *extended)
        expect_close(folder, model, written)
        graph = onnx.load(written).graph
        kinds = {one.name: one.data_type for one in graph.initializer}
        expect_equal(kinds["table_zero_point"], kinds["table_quantized"], "types of codes and zero point")
        scales = {one.name: float(numpy_helper.to_array(one)) for one in graph.initializer if one.name in ("e_scale", "c_scale")}
        expect(np.isclose(scales["e_scale"], scales["c_scale"]), f"scales {scales}")


def small_conv(folder):
    rng = np.random.default_rng(5)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", kernel_shape=[3, 3])]
    return save(folder, nodes, [1, 3, 8, 8], "y", [stored(rng, "w", 4, 3, 3, 3), stored(rng, "b", 4)])


# What the documents allow and no runtime runs, or what has no effect: each has a line that names it.
NAMED = [("activation_type=ExtendedQuantType.QInt32", "a8w8", "type-does-not-load"), ("weight_type=ExtendedQuantType.QInt32", "a8w8", "type-does-not-load"), ("RemoveInputInit=false", "u8s8_aaws", "option-no-effect"),
         ("UseUnsignedReLU=true", "u8s8_aaws", "option-no-effect"), ("UseUnsignedReLU=true", "bfp16", "option-no-effect"), ("CalibOptimizeDisk=true", "u8s8_aaws", "option-inert"), ("TmpDir=scratch", "u8s8_aaws", "option-inert"), ("EncryptionAlgorithm=AES-128", "u8s8_aaws", "option-inert"),
         ("execution_providers=[CUDAExecutionProvider]", "u8s8_aaws", "option-inert"), ("calibrate_method=CalibrationMethod.Distribution", "u8s8_aaws", "method-mismatch")]


@test(cases=[(f"{setting} {preset}", setting, preset, name) for setting, preset, name in NAMED])
def settings_without_effect_are_named(case):
    _, setting, preset, name = case
    with temp_folder() as folder:
        _, messages = quantized(folder, small_conv(folder), preset, "--set", setting, "--on-collapse", "warn")
        expect(f"[{name}]" in messages, f"{setting}: {messages}")


@test(cases=[("scale_type", "input_tensors", {"scale_type": "ScaleType.Int16", "calibration_method": "CalibMethod.Percentile"}, "setting-no-effect"),
             ("Distribution", "input_tensors", {"calibration_method": "CalibMethod.Distribution"}, "method-mismatch"),
             ("Entropy of weights", "weight", {"calibration_method": "CalibMethod.Entropy"}, "setting-no-effect")])
def specs_without_effect_are_named(case):
    _, role, spec, name = case
    with temp_folder() as folder:
        config = os.path.join(folder, "settings.yaml")
        with open(config, "w", encoding="utf-8") as file:
            given = "".join(f", {key}: {value}" for key, value in spec.items())
            file.write("global_config:\n" + "".join(f"  {one}: {{spec: Int8Spec{given if one == role else ''}}}\n" for one in ("input_tensors", "weight")))
        _, messages = quantized(folder, small_conv(folder), config, "--on-collapse", "warn")
        expect(f"[{name}]" in messages, messages)
        _, messages = quantized(folder, os.path.join(folder, "m.onnx"), config, "--compat", "quark-0.13")
        expect(f"[{name}]" not in messages, messages)


@test()
def the_documents_name_of_excluded_nodes_is_suggested():
    with temp_folder() as folder:
        expect_error(run("quantize", "-c", "a8w8", "--set", "exclude_nodes=[conv]", "-o", os.path.join(folder, "q.onnx"), small_conv(folder)), 2,
                     "--set exclude_nodes: unknown setting, did you mean nodes_to_exclude?")


def conv_relu_conv(folder, size=8):
    rng = np.random.default_rng(7)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("Conv", ["r", "v", "a"], ["y"], name="last")]
    return save(folder, nodes, [1, 3, size, size], "y", [stored(rng, "w", 4, 3, 3, 3), stored(rng, "b", 4), stored(rng, "v", 2, 4, 3, 3), stored(rng, "a", 2)])


def parameter(written, name):
    return next(numpy_helper.to_array(one) for one in onnx.load(written).graph.initializer if one.name == name)


@test()
def outputs_of_relu_become_asymmetric():
    with temp_folder() as folder:
        model = conv_relu_conv(folder)
        written, messages = quantized(folder, model, "a8w8", "--set", "UseUnsignedReLU=true")
        expect("UseUnsignedReLU" not in messages, messages)
        expect_equal((int(parameter(written, "r_zero_point")), int(parameter(written, "y_zero_point"))), (-128, 0), "zero points of the Relu and of the output")
        expect_close(folder, model, written)
        _, messages = quantized(folder, model, "a8w8", "--set", "UseUnsignedReLU=true", "--compat", "quark-0.13")
        expect("[option-no-effect]" in messages, messages)


@test(cases=["OpTypesToExcludeOutputQuantization=[Relu]", "NodesToExcludeOutputQuantization=[relu]"])
def excluded_outputs_stay_float_before_quantized_nodes(setting):
    with temp_folder() as folder:
        model = conv_relu_conv(folder)
        for preset in ("a8w8", "int8_transformer_default"):
            written, _ = quantized(folder, model, preset, "--set", setting)
            expect(not any(node.input[0] == "r" for node in onnx.load(written).graph.node if node.op_type == "QuantizeLinear"), f"{preset}: r is quantized")
            expect_close(folder, model, written)


@test()
def calibration_follows_the_users_constant_and_symmetry():
    averaged = ("--set", "calibrate_method=CalibrationMethod.MinMax", "--set", "CalibMovingAverage=true")
    with temp_folder() as folder:
        model = conv_relu_conv(folder)

        def scale(*settings):
            return float(parameter(quantized(folder, model, "u8s8_aaws", *settings)[0], "x_scale"))
        x = [np.load(os.path.join(folder, "in", f"{i}.npy")) for i in range(4)]
        expect(np.isclose(scale(*averaged), (np.mean([one.max() for one in x]) - np.mean([one.min() for one in x])) / 255, rtol=1e-5), "the mean")
        low, high = x[0].min(), x[0].max()
        for one in x[1:]:
            low, high = low + 0.3 * (one.min() - low), high + 0.3 * (one.max() - high)
        expect(np.isclose(scale(*averaged, "--set", "CalibMovingAverageConstant=0.3"), (high - low) / 255, rtol=1e-5), "the constant")
        percentile = ("--set", "calibrate_method=CalibrationMethod.Percentile", "--set", "Percentile=100", "--set", "CalibTensorRangeSymmetric=true")
        most = max(np.abs(one).max() for one in x)
        expect(np.isclose(scale(*percentile), 2 * most / 255, rtol=1e-5), "a symmetric percentile")


@test()
def float_scales_are_searched_for_activations():
    """MinMSE with float scales cuts an outlier that MinMax and the default percentile keep."""
    with temp_folder() as folder:
        model, config = conv_relu_conv(folder, 64), os.path.join(folder, "settings.yaml")
        for i in range(4):
            x = np.load(os.path.join(folder, "in", f"{i}.npy"))
            x[0, 0, 0, 0] = 8
            np.save(os.path.join(folder, "in", f"{i}.npy"), x)
        scales = {}
        for method in ("MinMax", "MinMSE"):
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"global_config:\n  input_tensors: {{spec: Int8Spec, calibration_method: {method}}}\n  weight: Int8Spec\n")
            written, messages = quantized(folder, model, config)
            expect("[method-changed]" not in messages, messages)
            expect_close(folder, model, written)
            scales[method] = float(parameter(written, "x_scale"))
        expect(scales["MinMSE"] < scales["MinMax"] and np.log2(scales["MinMSE"]) % 1 != 0, f"scales {scales}")


@test(cases=["vint8", "xint8", "a8w8"])
def a_copy_of_a_preset_file_is_the_preset(name):
    with temp_folder() as folder:
        model, copy = small_conv(folder), os.path.join(folder, "copy.yaml")
        source = os.path.join(os.path.dirname(__file__), "..", "..", "configs", "presets", name + ".yaml")
        with open(source, encoding="utf-8") as file, open(copy, "w", encoding="utf-8") as made:
            made.write(file.read())
        by_file, messages = quantized(folder, model, copy)
        expect("[option-no-effect]" not in messages, messages)
        with open(by_file, "rb") as file:
            data = file.read()
        with open(quantized(folder, model, name)[0], "rb") as file:
            expect(file.read() == data, "the results differ")


@test(cases=["bf16", "fp16"])
def half_scales_of_half_formats_are_refused(preset):
    with temp_folder() as folder:
        model = onnx.load(conv_relu_conv(folder))
        for one in [*model.graph.input, *model.graph.output]:
            one.type.tensor_type.elem_type = TensorProto.FLOAT16
        for one in model.graph.initializer:
            one.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(one).astype(np.float16), one.name))
        del model.graph.value_info[:]
        halves = os.path.join(folder, "half.onnx")
        onnx.save(model, halves)
        expect_error(run("quantize", "-c", preset, "--set", "UseFP32Scale=false", "--set", "UseRandomData=true", "-o", os.path.join(folder, "q.onnx"), halves), 2,
                     "UseFP32Scale: found false", "convert_fp16_to_fp32=true")


@test(cases=[("Gelu", "FuseGelu", 20), ("LayerNormalization", "FuseLayerNorm", 17)])
def fusions_that_are_off_do_not_happen(case):
    kind, option, opset = case
    rng = np.random.default_rng(8)
    if kind == "Gelu":
        nodes, values = gelu_nodes("x(1+e)h"), [stored(rng, "w", 8, 8), stored(rng, "b", 8), constant("root", np.sqrt(2)), constant("one", 1), constant("half", 0.5)]
    else:
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="mm"), helper.make_node("ReduceMean", ["a"], ["m"], axes=[-1]), helper.make_node("Sub", ["a", "m"], ["d"]), helper.make_node("Pow", ["d", "two"], ["s"]),
                 helper.make_node("ReduceMean", ["s"], ["v"], axes=[-1]), helper.make_node("Add", ["v", "eps"], ["e"]), helper.make_node("Sqrt", ["e"], ["q"]),
                 helper.make_node("Div", ["d", "q"], ["n"]), helper.make_node("Mul", ["n", "g"], ["k"]), helper.make_node("Add", ["k", "b"], ["y"])]
        values = [stored(rng, "w", 8, 8), constant("two", 2), constant("eps", 1e-5), stored(rng, "g", 8), stored(rng, "b", 8)]
    with temp_folder() as folder:
        model = save(folder, nodes, [4, 8], "y", values, opset)
        for preset in ("a8w8", "vint8"):
            for setting, fused in (("true", True), ("false", False)):
                written, _ = quantized(folder, model, preset, "--target", "none", "--set", f"{option}={setting}")
                expect_equal(kind in [node.op_type for node in onnx.load(written).graph.node], fused, f"{preset} {option}={setting}")
                expect_close(folder, model, written)


@test(cases=[("Clip, Expand", "Clip", True), ("Clip", "Clip", False), ("Max", "Max", False)])
def divided_l2_norms_are_fused(case):
    """The form in which PyTorch exports F.normalize."""
    _, limit, expands = case
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"), helper.make_node("ReduceL2", ["c"], ["n"], name="norm", axes=[1], keepdims=1),
             helper.make_node(limit, ["n", "eps"], ["l"], name="limit"), helper.make_node("Div", ["c", "e" if expands else "l"], ["y"], name="div")]
    nodes[3:3] = [helper.make_node("Shape", ["c"], ["dims"]), helper.make_node("Expand", ["l", "dims"], ["e"], name="expand")] if expands else []
    rng = np.random.default_rng(9)
    with temp_folder() as folder:
        model = save(folder, nodes, [1, 3, 4, 4], "y", [stored(rng, "w", 5, 3, 1, 1), constant("eps", 1e-12)])
        for setting, fused in (("true", True), ("false", False)):
            for more in ((), ("--set", "SimplifyModel=false", "--set", "OptimizeModel=false")):
                written, _ = quantized(folder, model, "a8w8", "--set", f"FuseL2Norm={setting}", *more)
                expect_equal("LpNormalization" in [node.op_type for node in onnx.load(written).graph.node], fused, f"FuseL2Norm={setting} {more}")
                expect_close(folder, model, written)
        written, _ = quantized(folder, model, "a8w8", "--compat", "quark-0.13")
        expect("LpNormalization" not in [node.op_type for node in onnx.load(written).graph.node], "compat mode keeps the nodes")


@test(cases=[(f"{square}, {axes}, factors of rank {rank}", square, axes, rank) for square in ("Mul", "Pow") for axes in ([2, 3], [-1, -2]) for rank in (3, 4)])
def divided_instance_norms_are_fused(case):
    _, square, axes, rank = case
    shape = [1] * (rank - 3) + [5, 1, 1]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"), helper.make_node("ReduceMean", ["c"], ["m"], axes=axes), helper.make_node("Sub", ["c", "m"], ["d"]),
             helper.make_node(square, ["d", "d" if square == "Mul" else "two"], ["s"]), helper.make_node("ReduceMean", ["s"], ["v"], axes=axes), helper.make_node("Add", ["v", "eps"], ["e"]),
             helper.make_node("Sqrt", ["e"], ["q"]), helper.make_node("Div", ["d", "q"], ["n"]), helper.make_node("Mul", ["n", "g"], ["k"]), helper.make_node("Add", ["k", "b"], ["y"])]
    rng = np.random.default_rng(10)
    with temp_folder() as folder:
        model = save(folder, nodes, [1, 3, 6, 4], "y", [stored(rng, "w", 5, 3, 1, 1), constant("eps", 1e-5), constant("two", 2), stored(rng, "g", *shape), stored(rng, "b", *shape)])
        for setting, fused in (("true", True), ("false", False)):
            written, _ = quantized(folder, model, "a8w8", "--set", f"FuseInstanceNorm={setting}")
            expect_equal("InstanceNormalization" in [node.op_type for node in onnx.load(written).graph.node], fused, f"FuseInstanceNorm={setting}")
            expect_close(folder, model, written)
        written = os.path.join(folder, "o.onnx")
        quarkq("optimize", model, "-o", written, "--config", "a8w8")
        expect_close(folder, model, written, 0.999999)
