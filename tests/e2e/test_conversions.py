# SPDX-License-Identifier: MIT
"""Conversions of the float model, each alone on random models: other opsets, channels-last inputs, float16, fixed and free batch sizes. The
result computes what ONNX Runtime computes of the model as given."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import random_graphs
from harness import expect, expect_equal, quarkq, temp_folder, test
from reference import check_model, session

GROUPS = [(f"{start}-{start + 2}", range(start, start + 3)) for start in (200, 203, 206, 209)]


def optimized(model, folder, *sets):
    source, out = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    onnx.save(model, source)
    quarkq("optimize", source, "-o", out, "--config", "A8W8", "--target", "none", "--quiet", *(part for one in sets for part in ("--set", one)))
    check_model(out)
    return onnx.load(out)


def outputs_of(model, feeds):
    runner = session(model.SerializeToString(), optimize=False)
    return dict(zip([output.name for output in model.graph.output], runner.run(None, feeds)))


def expect_close(found, wanted, tolerance, what):
    expect_equal(sorted(found), sorted(wanted), f"{what}: outputs")
    for name, values in wanted.items():
        expect_equal((found[name].shape, found[name].dtype), (values.shape, values.dtype), f"{what}: shape and type of {name}")
        if values.dtype.kind != "f" or values.size == 0:
            expect(np.array_equal(found[name], values), f"{what}: {name} differs")
            continue
        limit = tolerance * max(1.0, float(np.abs(values).max()))
        worst = float(np.abs(found[name].astype(np.float64) - values).max())
        expect(worst <= limit, f"{what}: {name} is off by {worst:.3g}, allowed is {limit:.3g}")


def random_input(shape, seed, kind=np.float32):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(kind)


@test(cases=[(f"{old} to {new}, {label}", old, new, seeds) for old, new in ((13, 17), (14, 18), (15, 20), (17, 13), (17, 19), (17, 21)) for label, seeds in GROUPS])
def other_opsets_compute_the_same(case):
    _, old, new, seeds = case
    for seed in seeds:
        model, shape = random_graphs.random_model(seed, opset=old)
        with temp_folder() as folder:
            made = optimized(model, folder, f"ConvertOpsetVersion={new}")
            versions = {entry.domain: entry.version for entry in made.opset_import}
            # Where the onnx library cannot convert an operator the model keeps its opset.
            expect(versions[""] in (old, new), f"seed {seed}: opset {versions['']}, asked for {new}")
            feeds = {"x": random_input(shape, seed)}
            expect_close(outputs_of(made, feeds), outputs_of(model, feeds), 5e-5, f"seed {seed}")


def image_models(seeds):
    for seed in seeds:
        model, shape = random_graphs.random_model(seed)
        if len(shape) == 4:
            yield seed, model, shape


@test(cases=[(label, seeds) for label, seeds in ((f"{start}-{start + 7}", range(start, start + 8)) for start in (300, 308, 316, 324))])
def channels_last_inputs_are_transposed(case):
    _, seeds = case
    met = 0
    for seed, model, shape in image_models(seeds):
        met += 1
        with temp_folder() as folder:
            made = optimized(model, folder, "ConvertNCHWToNHWC=true")
            dims = [d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim]
            expect_equal(dims, [shape[i] for i in (0, 2, 3, 1)], f"seed {seed}: shape of the input")
            x = random_input(shape, seed)
            wanted = outputs_of(model, {"x": x})
            found = outputs_of(made, {made.graph.input[0].name: np.ascontiguousarray(x.transpose(0, 2, 3, 1))})
            for (name, values), mine in zip(wanted.items(), found.values()):
                turned = values.transpose(0, 2, 3, 1) if values.ndim == 4 else values
                expect_equal(mine.shape, turned.shape, f"seed {seed}: shape of {name}")
                limit = 5e-5 * max(1.0, float(np.abs(values).max(initial=0)))
                expect(float(np.abs(mine - turned).max(initial=0)) <= limit, f"seed {seed}: {name} differs")
    expect(met > 0, "no model of these seeds takes images")


def as_half(model):
    """The same model in float16."""
    half = onnx.ModelProto()
    half.CopyFrom(model)
    stay = {node.input[2] for node in half.graph.node if node.op_type == "Resize"}  # scales are float32 whatever the image is
    for one in half.graph.initializer:
        if one.data_type == TensorProto.FLOAT and one.name not in stay:
            one.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(one).astype(np.float16), one.name))
    for value in (*half.graph.input, *half.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return half


def is_runnable(model):
    try:
        session(model.SerializeToString(), optimize=False)
        return True
    except Exception:  # ONNX Runtime has no float16 kernels for some operators on the CPU
        return False


@test(cases=[(label, seeds) for label, seeds in GROUPS])
def float16_becomes_float32(case):
    _, seeds = case
    for seed in seeds:
        model, shape = random_graphs.random_model(seed, length=6)
        half = as_half(model)
        with temp_folder() as folder:
            made = optimized(half, folder, "ConvertFP16ToFP32=true")
            kinds = {one.data_type for one in made.graph.initializer} | {value.type.tensor_type.elem_type for value in (*made.graph.input, *made.graph.output)}
            expect(TensorProto.FLOAT16 not in kinds, f"seed {seed}: float16 is left")
            # The weights were rounded to float16, the rest is computed in float32.
            rounded = onnx.ModelProto()
            rounded.CopyFrom(half)
            for one in rounded.graph.initializer:
                if one.data_type == TensorProto.FLOAT16:
                    one.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(one).astype(np.float32), one.name))
            for value in (*rounded.graph.input, *rounded.graph.output):
                value.type.tensor_type.elem_type = TensorProto.FLOAT
            feeds = {"x": random_input(shape, seed)}
            expect_close(outputs_of(made, feeds), outputs_of(rounded, feeds), 5e-5, f"seed {seed}")


@test(cases=[(label, seeds) for label, seeds in GROUPS])
def float16_models_run(case):
    _, seeds = case
    for seed in seeds:
        model, shape = random_graphs.random_model(seed, length=6)
        half = as_half(model)
        if not is_runnable(half):
            continue
        with temp_folder() as folder:
            path, place = os.path.join(folder, "m.onnx"), os.path.join(folder, "in")
            onnx.save(half, path)
            os.makedirs(place)
            x = random_input(shape, seed, np.float16)
            np.save(os.path.join(place, "0.npy"), x)
            quarkq("run", path, "--inputs", place, "--outputs", os.path.join(folder, "out"), "--quiet")
            wanted = outputs_of(half, {"x": x})
            for name, values in wanted.items():
                mine = np.load(os.path.join(folder, "out", *([name] if len(wanted) > 1 else []), "0.npy"))
                expect_equal((mine.shape, mine.dtype), (values.shape, values.dtype), f"seed {seed}: shape and type of {name}")
                limit = 1e-2 * max(1.0, float(np.abs(values.astype(np.float64)).max(initial=0)))
                worst = float(np.abs(mine.astype(np.float64) - values.astype(np.float64)).max(initial=0))
                expect(worst <= limit or not np.isfinite(limit), f"seed {seed}: {name} is off by {worst}, allowed is {limit}")


def free_batch_model(rng):
    """A network of which the batch size is a name; what is computed from shapes follows it."""
    def weight(name, *shape):
        return numpy_helper.from_array((rng.standard_normal(shape) * 0.4).astype(np.float32), name)

    def ints(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Shape", ["r"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Concat", ["n", "rest"], ["target"], axis=0), helper.make_node("Reshape", ["r", "target"], ["f"]),
             helper.make_node("Transpose", ["f"], ["t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["t", "v"], ["m"]),
             helper.make_node("ReduceMean", ["m"], ["p"], axes=[1], keepdims=0), helper.make_node("Gemm", ["p", "g", "h"], ["y"], transB=1)]
    graph = helper.make_graph(nodes, "free", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 6, 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])],
                              [weight("w", 4, 3, 3, 3), ints("zero", 0), ints("rest", 4, 36), weight("v", 4, 7), weight("g", 5, 7), weight("h", 5)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


@test(cases=["A8W8", "XINT8", "U8S8_AAWS", "BF16"])
def free_batch_sizes_stay_free(preset):
    model = free_batch_model(np.random.default_rng(3))
    with temp_folder() as folder:
        source, samples = os.path.join(folder, "in.onnx"), os.path.join(folder, "samples")
        onnx.save(model, source)
        os.makedirs(samples)
        for index in range(4):
            np.save(os.path.join(samples, f"{index}.npy"), random_input([1, 3, 6, 6], index))
        plain = optimized(model, folder)
        for batch in (1, 2, 5):
            feeds = {"x": random_input([batch, 3, 6, 6], 90 + batch)}
            expect_close(outputs_of(plain, feeds), outputs_of(model, feeds), 5e-5, f"batch {batch}")
        out = os.path.join(folder, "quantized.onnx")
        quarkq("quantize", "--config", preset, "--target", "none", "--calib", samples, "-o", out, "--quiet", source)
        made = onnx.load(out)
        expect_equal(made.graph.input[0].type.tensor_type.shape.dim[0].dim_param, "batch", "name of the batch dimension")
        for batch in (1, 3):
            place, results = os.path.join(folder, f"in{batch}"), os.path.join(folder, f"out{batch}")
            os.makedirs(place)
            x = random_input([batch, 3, 6, 6], batch)
            np.save(os.path.join(place, "0.npy"), x)
            quarkq("run", out, "--inputs", place, "--outputs", results, "--quiet")
            found, wanted = np.load(os.path.join(results, "0.npy")), outputs_of(model, {"x": x})["y"]
            expect_equal(found.shape, wanted.shape, f"shape for batch {batch}")
            expect(np.abs(found - wanted).max() <= 0.1 * np.abs(wanted).max(), f"batch {batch}: off by {np.abs(found - wanted).max()}")


@test(cases=[("one size", "x:[4,3,6,6];y:[4,5]", 4), ("another", "x:[1,3,6,6];y:[1,5]", 1)])
def shapes_can_be_fixed(case):
    _, shapes, batch = case
    model = free_batch_model(np.random.default_rng(4))
    with temp_folder() as folder:
        made = optimized(model, folder, f"FixShapes='{shapes}'")
        dims = [d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim]
        expect_equal(dims, [batch, 3, 6, 6], "shape of the input")
        feeds = {"x": random_input([batch, 3, 6, 6], 7)}
        expect_close(outputs_of(made, feeds), outputs_of(model, feeds), 5e-5, "with fixed shapes")
