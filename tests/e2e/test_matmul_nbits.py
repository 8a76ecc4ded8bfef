# SPDX-License-Identifier: MIT
"""4-bit matrices of linear layers, in whichever form the model or the float passes have them."""
import json
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

from harness import expect, expect_equal, quantize, run_model, temp_folder, test
from reference import check_model, make_model, mean_cosines, onnxruntime_results, results_like, save_samples, weights

MIN_COSINE = 0.97  # of 4 bits with the float model; 0.99 is usual


def layers(form):
    """Two linear layers with biases and a Relu between: x [1, 64] -> y [1, 16]."""
    first, second, b, c = weights("m", 64, 32), weights("n", 32, 16), weights("b", 32), weights("c", 16)
    relu = helper.make_node("Relu", ["s"], ["r"], name="relu")
    if form == "MatMul and Add":  # the basic optimizer makes Gemms of them
        nodes = [helper.make_node("MatMul", ["x", "m"], ["p"], name="one"), helper.make_node("Add", ["p", "b"], ["s"], name="bias one"),
                 relu, helper.make_node("MatMul", ["r", "n"], ["o"], name="two"), helper.make_node("Add", ["o", "c"], ["y"], name="bias two")]
        return make_model(nodes, [("x", [1, 64])], [("y", [1, 16])], [first, second, b, c])
    turned = [numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(one).T), one.name) for one in (first, second)]
    nodes = [helper.make_node("Gemm", ["x", "m", "b"], ["s"], name="one", transB=1), relu,
             helper.make_node("Gemm", ["r", "n", "c"], ["y"], name="two", transB=1)]
    return make_model(nodes, [("x", [1, 64])], [("y", [1, 16])], [*turned, b, c])


@test(cases=["MatMul and Add", "Gemm"])
def every_linear_layer_is_quantized(form):
    with temp_folder() as folder:
        model, out, report, results = (os.path.join(folder, name) for name in ("m.onnx", "q.onnx", "r.json", "results"))
        calib = save_samples(os.path.join(folder, "calib"), shape=(1, 64))
        onnx.save(layers(form), model)
        quantize(model, out, calib, "matmul_nbits", "--report", report, "--set", "MatMulNBitsParams={GroupSize: 16}")
        check_model(out)
        ops = [node.op_type for node in onnx.load(out).graph.node]
        expect_equal([ops.count(op) for op in ("MatMulNBits", "MatMul", "Gemm")], [2, 0, 0], f"MatMulNBits, MatMul and Gemm in {ops}")
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        expect(not found["nothing_to_quantize"], "the float model was copied")
        expect_equal(found["nodes"]["selected"], 4 if form != "Gemm" else 2, "nodes of the loaded model that are quantized")
        run_model(out, calib, results)
        wanted = onnxruntime_results(model, calib)
        cosine = min(mean_cosines(results_like(results, wanted), wanted).values())
        expect(cosine >= MIN_COSINE, f"cosine with the float model is {cosine:.4f}, at least {MIN_COSINE} expected")
        runtime = onnxruntime_results(out, calib)
        expect(min(mean_cosines(results_like(results, runtime), runtime).values()) > 0.9999, "ONNX Runtime computes something else")


@test()
def least_squares_come_closer_than_ranges():
    """K_QUANT beside DEFAULT: squared errors of the stored weights, each weighted by what K_QUANT weights them by."""
    with temp_folder() as folder:
        model = os.path.join(folder, "m.onnx")
        onnx.save(layers("MatMul and Add"), model)
        calib, floats, off = save_samples(os.path.join(folder, "calib"), shape=(1, 64)), numpy_helper.to_array(weights("m", 64, 32)), {}
        for algorithm in ("DEFAULT", "K_QUANT"):
            out, results = os.path.join(folder, algorithm + ".onnx"), os.path.join(folder, algorithm)
            quantize(model, out, calib, "matmul_nbits", "--set", "include_cle=false", "--set",
                     f"MatMulNBitsParams={{Algorithm: {algorithm}, GroupSize: 16, Symmetric: false}}")
            check_model(out)
            stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(out).graph.initializer}
            name = next(name[:-3] for name, one in stored.items() if name.endswith("_Q4") and one.shape == (32, 4, 8))
            codes, zeros = (np.stack([one & 15, one >> 4], -1).reshape(32, 4, -1).astype(np.float32) for one in (stored[name + "_Q4"], stored[name + "_zero_points"]))
            blocks = floats.T.reshape(32, 4, 16)
            importance = np.abs(blocks) + np.sqrt((blocks ** 2).mean(-1, keepdims=True))
            off[algorithm] = float((importance * ((codes - zeros) * stored[name + "_scales"].reshape(32, 4, 1) - blocks) ** 2).sum())
            run_model(out, calib, results)
            runtime = onnxruntime_results(out, calib)
            expect(min(mean_cosines(results_like(results, runtime), runtime).values()) > 0.9999, "ONNX Runtime computes something else")
        expect(off["K_QUANT"] < 0.85 * off["DEFAULT"], f"errors {off}")


@test()
def excluded_layers_stay_float():
    with temp_folder() as folder:
        model, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
        onnx.save(layers("Gemm"), model)
        quantize(model, out, save_samples(os.path.join(folder, "calib"), shape=(1, 64)), "matmul_nbits", "--set",
                 "MatMulNBitsParams={GroupSize: 16}", "--set", "nodes_to_exclude=[two]")
        ops = sorted(node.op_type for node in onnx.load(out).graph.node)
    expect_equal(ops, ["Add", "Gemm", "MatMulNBits", "Relu"], "operators")
