# SPDX-License-Identifier: MIT
"""Batches: targets that compute one row at a time, models and samples with several."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, expect_equal, expect_error, quarkq, run, run_model, temp_folder, test


def write_network(path, batch):
    random = np.random.default_rng(3)
    stored = [numpy_helper.from_array((random.standard_normal(dims) * scale).astype(np.float32), name)
              for name, dims, scale in (("w0", (8, 3, 3, 3), 0.2), ("w1", (8, 8, 3, 3), 0.1), ("w2", (128, 10), 0.1))]
    stored.append(numpy_helper.from_array(np.array([batch if isinstance(batch, int) else -1, 128]), "s"))
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4, strides=[2, 2]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "w1"], ["c"], pads=[1] * 4, strides=[2, 2]), helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node("Reshape", ["d", "s"], ["e"]), helper.make_node("MatMul", ["e", "w2"], ["y"])]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 16, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 10])], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_samples(folder, batch, count=6):
    os.mkdir(folder)
    values = np.random.default_rng(5).standard_normal((count, batch, 3, 16, 16)).astype(np.float32)
    for i, value in enumerate(values):
        np.save(os.path.join(folder, f"{i}.npy"), value)
    return values


def batch_of(path):
    return onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0]


# (batch of the model, batch of the samples)
CASES = {"symbolic, samples of 4": ("N", 4), "fixed, samples of 4": (4, 4), "fixed, single samples": (4, 1)}


@test(cases=[f"{name}, {target}" for name in CASES for target in ("xint8@x1", "a8w8@x2")])
def a_named_target_gets_one_row(case):
    name, preset = case.rsplit(", ", 1)
    batch, rows = CASES[name]
    preset, target = preset.split("@")
    with temp_folder() as folder:
        model, data, out = (os.path.join(folder, one) for one in ("m.onnx", "data", "q.onnx"))
        write_network(model, batch)
        values = write_samples(data, rows)
        text = run("quantize", model, "--config", preset, "--target", target, "--calib", data, "-o", out, "--require", "deployable").stderr
        expect_equal(batch_of(out).dim_value, 1, "batch of the result")
        expect(("[shape-set]" in text) and ("samples-split" in text) == (rows > 1), text)
        quarkq("evaluate", "--float", model, "--quantized", out, "--data", data, "--min-cos", "0.99")
        # The result computes row by row what the float model computes of the batch.
        outputs = os.path.join(folder, "outputs")
        run_model(out, data, outputs)
        expect_equal(len(os.listdir(outputs)), values.shape[0] * rows, "outputs")


@test()
def labels_of_cut_batches_belong_to_rows():
    with temp_folder() as folder:
        model, data, labels = (os.path.join(folder, one) for one in ("m.onnx", "data", "labels.csv"))
        write_network(model, 1)
        write_samples(data, 4)
        command = ("evaluate", model, "--data", data, "--metric", "top1", "--labels", labels)
        for rows in (1, 4):
            with open(labels, "w", encoding="utf-8") as file:
                file.writelines(f"{i}{f'_{row}' if rows > 1 else ''},{row}\n" for i in range(6) for row in range(rows))
            result = run(*command)
            if rows == 1:
                expect_error(result, 4, "sample 0_0: no label in ", "it has one for 0, whose rows are samples of their own", "0_0, 0_1")
            else:
                expect(result.returncode == 0 and "6 of several rows each are run row by row, as 24 samples [samples-split]" in result.stderr, result.stderr)


@test()
def without_a_named_target_the_batch_stays():
    with temp_folder() as folder:
        data, out = os.path.join(folder, "data"), os.path.join(folder, "q.onnx")
        write_samples(data, 4)
        for batch in (4, "N"):
            model = os.path.join(folder, f"{batch}.onnx")
            write_network(model, batch)
            quarkq("quantize", model, "--config", "xint8", "--calib", data, "-o", out, "--quiet")
            found = batch_of(out)
            expect_equal(found.dim_param or found.dim_value, batch, "batch of the result")


@test(cases=["fixed", "symbolic"])
def rows_that_depend_on_each_other_stay_together(batch):
    with temp_folder() as folder:
        model, data, out = (os.path.join(folder, one) for one in ("m.onnx", "data", "q.onnx"))
        write_network(model, 4 if batch == "fixed" else "N")
        network = onnx.load(model)
        network.graph.node[-1].output[0] = "t"
        network.graph.node.append(helper.make_node("Softmax", ["t"], ["y"], axis=0))
        onnx.save(network, model)
        write_samples(data, 4)
        result = run("quantize", model, "--config", "xint8", "--target", "x1", "--calib", data, "-o", out)
        text = result.stderr
        if batch == "symbolic":  # samples of one row would be a choice of the user
            expect(result.returncode == 4 and "without the other rows" in text and not os.path.exists(out), f"{result.returncode} {text}")
            return
        expect("[batch-kept]" in text and "without the other rows" in text, text)
        expect_equal(batch_of(out).dim_value, 4, "batch of the result")
