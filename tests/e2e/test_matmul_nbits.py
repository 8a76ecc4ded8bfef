# SPDX-License-Identifier: MIT
"""4-bit matrices of linear layers, in whichever form the model or the float passes have them."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import decoders
from harness import expect, expect_equal, quantize, quarkq, run_model, temp_folder, test
from reference import (check_model, cosine, expect_same_file, make_model, mean_cosines, onnxruntime_results, results_like, save_samples, session,
                       weights)

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


@test(cases=["matmulnbits", "qdq"])
def inspect_shows_bits_and_blocks(form):
    with temp_folder() as folder:
        model, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
        calib = save_samples(os.path.join(folder, "calib"), shape=(1, 64))
        onnx.save(layers("MatMul and Add"), model)
        made = quantize(model, out, calib, "matmul_nbits", "--set", "MatMulNBitsParams={Bits: 8, GroupSize: 32, Steps: 5}", "--set", f"quarkq.nbits_form={form}")
        expect("MatMulNBitsParams.Steps: is read by the Algorithm AUTOROUND only" in made.stderr, made.stderr)
        expect((form == "qdq") == ("weights in blocks (quarkq.nbits_form qdq) need opset 21" in made.stderr), made.stderr)
        name = "UINT8" if form == "matmulnbits" else "INT8"
        text = quarkq("inspect", out, "--scales").stdout
        expect(f"2 stored {name} in blocks of 32, a scale per block" in text and f"| stored | {name} in blocks of 32 |" in text, text)
        found = json.loads(quarkq("inspect", out, "--json").stdout)["quantized"]
        expect_equal([(group["type"], group["block"], group["per_channel"]) for group in found], [(name, 32, 0)], "groups")


@test()
def other_nodes_of_float16_models_are_not_missed():
    """convert_fp16_to_fp32 would quantize no further nodes."""
    with temp_folder() as folder:
        model, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "q.onnx")
        network = layers("MatMul and Add")
        for stored in network.graph.initializer:
            stored.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(stored).astype(np.float16), stored.name))
        for value in (*network.graph.input, *network.graph.output):
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
        onnx.save(network, model)
        calib = save_samples(os.path.join(folder, "calib"), shape=(1, 64))
        made = quantize(model, out, calib, "matmul_nbits", "--set", "MatMulNBitsParams.GroupSize=16")
        expect("float16-partly" not in made.stderr, made.stderr)


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
            moments = np.mean([np.load(os.path.join(base, name)) ** 2 for base, _, names in os.walk(calib) for name in names], 0).reshape(1, 4, 16)
            importance = moments * (np.abs(blocks) + np.sqrt((blocks ** 2).mean(-1, keepdims=True)))
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


FORMATS = [(bits, block, form) for bits in (2, 3, 4, 8) for block in (16, 128, 256) for form in ("matmulnbits", "qdq") if bits != 2 or form != "qdq"]


@test(cases=[f"{bits} bits, blocks of {block}, {form}, {algorithm}" for bits, block, form in FORMATS for algorithm in ("DEFAULT", "HQQ", "K_QUANT", "GPTQ", "AWQ", "AUTOROUND")])
def every_width_runs_in_onnx_runtime(case):
    bits, block, form, algorithm = (part.split()[-1 if "of" in part else 0] for part in case.split(", "))
    with temp_folder() as folder:
        model, out, results = (os.path.join(folder, name) for name in ("m.onnx", "q.onnx", "results"))
        calib = save_samples(os.path.join(folder, "calib"), shape=(1, 64))
        onnx.save(layers("MatMul and Add"), model)
        for symmetric in ("true", "false"):
            quantize(model, out, calib, "matmul_nbits", "--on-collapse", "warn", "--set", f"quarkq.nbits_form={form}", "--set",
                     f"MatMulNBitsParams={{Algorithm: {algorithm}, Bits: {bits}, GroupSize: {block}, Symmetric: {symmetric}, AccuracyLevel: 0}}")
            check_model(out)
            ops = [node.op_type for node in onnx.load(out).graph.node]
            expect_equal(ops.count("MatMulNBits" if form == "matmulnbits" else "DequantizeLinear"), 2, f"matrices in {ops}")
            run_model(out, calib, results)
            runtime = onnxruntime_results(out, calib)
            worst = min(mean_cosines(results_like(results, runtime), runtime).values())
            expect(worst > 0.9999, f"symmetric {symmetric}: ONNX Runtime computes something else, cosine {worst}")


@test(cases=["4", "8", "2"])
def tied_weights_are_stored_once(bits):
    with temp_folder() as folder:
        model, out, tokens = (os.path.join(folder, name) for name in ("m.onnx", "q.onnx", "tokens.npy"))
        onnx.save(decoders.make_decoder(tied=True), model)
        np.save(tokens, np.random.default_rng(3).integers(0, decoders.VOCABULARY, [4, 12]))
        quantize(model, out, tokens, "matmul_nbits", "--on-collapse", "warn", "--set",
                 f"MatMulNBitsParams={{Algorithm: K_QUANT, GroupSize: 32, EmbeddingBits: 8, HeadBits: {bits}}}")
        check_model(out)
        graph = onnx.load(out).graph
        lookup = next(node for node in graph.node if node.op_type == "GatherBlockQuantized" and node.input[1] == "input_ids")
        head = next(node for node in graph.node if node.op_type == "MatMulNBits" and node.output[0] == "logits")
        view = next(node for node in graph.node if node.output[0] == lookup.input[0])
        expect_equal([view.op_type, view.input[0], lookup.input[2]], ["Reshape", head.input[1], head.input[2]], "what table and matrix read")
        run_model(out, tokens, os.path.join(folder, "results"))
        found = np.load(os.path.join(folder, "results", "logits", "tokens_0.npy"))
        wanted = session(out).run(["logits"], decoders.feeds(np.load(tokens)[:1]))[0]
        expect(cosine(found, wanted) > 0.9999, "ONNX Runtime computes something else")


@test()
def a_target_size_is_met_and_its_plan_gives_the_same_file():
    with temp_folder() as folder:
        model, tokens, plan = (os.path.join(folder, name) for name in ("m.onnx", "tokens.npy", "plan.yaml"))
        onnx.save(decoders.make_decoder(), model)
        np.save(tokens, np.random.default_rng(3).integers(0, decoders.VOCABULARY, [4, 12]))
        outs = [os.path.join(folder, name) for name in ("a.onnx", "b.onnx")]
        common = ("--on-collapse", "warn", "--set", "MatMulNBitsParams={Algorithm: K_QUANT, Symmetric: false, EmbeddingBits: 8}", "--set", "quarkq.metadata=false")
        quantize(model, outs[0], tokens, "matmul_nbits", *common, "--target-size", "26k", "--nbits-plan-out", plan)
        quantize(model, outs[1], tokens, "matmul_nbits", *common, "--nbits-plan", plan)
        expect_same_file(*outs, "results of the target and of its plan")
        stored = sum(numpy_helper.to_array(one).nbytes for one in onnx.load(outs[0]).graph.initializer)
        expect(20 * 1024 < stored <= 26 * 1024, f"{stored} bytes")


@test(cases=["GPTQ", "AWQ", "AUTOROUND"])
def no_byte_depends_on_threads(algorithm):
    with temp_folder() as folder:
        model, tokens = (os.path.join(folder, name) for name in ("m.onnx", "tokens.npy"))
        onnx.save(decoders.make_decoder(), model)
        np.save(tokens, np.random.default_rng(3).integers(0, decoders.VOCABULARY, [4, 12]))
        outs = [os.path.join(folder, name) for name in ("a.onnx", "b.onnx")]
        for out, threads in zip(outs, "12"):
            quantize(model, out, tokens, "matmul_nbits", "--on-collapse", "warn", "--threads", threads, "--set", "quarkq.metadata=false",
                     "--set", f"MatMulNBitsParams={{Algorithm: {algorithm}, Symmetric: false, GroupSize: 32}}")
        expect_same_file(*outs, "results of one and of two threads")
