# SPDX-License-Identifier: MIT
"""Samples of a language model from arrays of tokens alone; perplexity on them."""
import json
import os

import numpy as np
import onnx

import decoders
from harness import expect, expect_equal, quantize, quarkq, run, run_model, temp_folder, test
from reference import check_model, cosine, expect_same_bytes, expect_same_file, session

COUNT, LENGTH = 6, 12


def tokens_of(shape, seed=3):
    return np.random.default_rng(seed).integers(0, decoders.VOCABULARY, shape)


def save_all_inputs(folder, tokens, name="tokens"):
    """A folder for each input, a file for each row of the tokens."""
    for index, row in enumerate(tokens):
        for input_name, values in decoders.feeds(row[None]).items():
            os.makedirs(os.path.join(folder, input_name), exist_ok=True)
            np.save(os.path.join(folder, input_name, f"{name}_{index}.npy"), values)
    return folder


def saved(folder, length="length", **options):
    model = os.path.join(folder, "model.onnx")
    onnx.save(decoders.make_decoder(length, **options), model)
    return model


@test(cases=["one file", "a folder", "rows of one file, int32"])
def the_other_inputs_follow_from_tokens(form):
    with temp_folder() as folder:
        model, tokens = saved(folder), tokens_of([COUNT, LENGTH])
        whole = save_all_inputs(os.path.join(folder, "whole"), tokens)
        given = os.path.join(folder, "tokens.npy")
        if form == "a folder":
            given = os.path.join(folder, "tokens")
            os.mkdir(given)
            for index, row in enumerate(tokens):
                np.save(os.path.join(given, f"tokens_{index}.npy"), row)  # [length]
        else:
            np.save(given, tokens.astype(np.int32 if "int32" in form else np.int64))
        results = [os.path.join(folder, name) for name in ("of_whole", "of_tokens")]
        run_model(model, whole, results[0])
        run_model(model, given, results[1])
        expect_same_bytes(*results, "results")
        logits = np.load(os.path.join(results[1], "logits", "tokens_2.npy"))
        wanted = session(model).run(["logits"], decoders.feeds(tokens[2:3]))[0]
        expect(np.abs(logits - wanted).max() < 1e-4, "logits differ from ONNX Runtime's")


@test(cases=["a8w8", "matmul_nbits"])
def tokens_calibrate(preset):
    with temp_folder() as folder:
        model, tokens = saved(folder), tokens_of([COUNT, LENGTH])
        whole, given = save_all_inputs(os.path.join(folder, "whole"), tokens), os.path.join(folder, "tokens.npy")
        np.save(given, tokens)
        outs = [os.path.join(folder, name) for name in ("a.onnx", "b.onnx")]
        more = ["--set", "MatMulNBitsParams={Algorithm: GPTQ, GroupSize: 32}"] if preset == "matmul_nbits" else []
        for out, calib in zip(outs, (whole, given)):
            quantize(model, out, calib, preset, "--on-collapse", "warn", *more)
        expect_same_file(*outs, preset)
        check_model(outs[0])


@test()
def a_row_of_tokens_is_cut_to_the_length_of_the_model():
    with temp_folder() as folder:
        model, row = saved(folder, LENGTH), tokens_of([3 * LENGTH + 5])
        stream, rows = os.path.join(folder, "tokens.npy"), os.path.join(folder, "rows", "tokens.npy")
        os.mkdir(os.path.dirname(rows))
        np.save(stream, row)
        np.save(rows, row[:3 * LENGTH].reshape(3, LENGTH))
        for given, out in ((stream, "of_row"), (rows, "of_rows")):
            run_model(model, given, os.path.join(folder, out))
        expect_same_bytes(os.path.join(folder, "of_row"), os.path.join(folder, "of_rows"), "results")
        expect_equal(len(os.listdir(os.path.join(folder, "of_row", "logits"))), 3, "windows")


@test(cases=["corpus.txt", "tokenizer.json", "a folder of both"])
def texts_are_refused_with_what_to_do(form):
    with temp_folder() as folder:
        model, texts = saved(folder), os.path.join(folder, "texts")
        os.mkdir(texts)
        for name in ("corpus.txt", "tokenizer.json"):
            with open(os.path.join(texts, name), "w", encoding="utf-8") as file:
                file.write("{}")
        given = texts if form == "a folder of both" else os.path.join(texts, form)
        done = run("quantize", model, "-o", os.path.join(folder, "out.onnx"), "-c", "a8w8", "--calib", given)
        expect_equal(done.returncode, 4, "exit code")
        for words in ("text is not tokenized here", "tokenizer.json", "[n, length]", ".npy"):
            expect(words in done.stderr, done.stderr)


@test(cases=[("too long", {"length": LENGTH}, [2, LENGTH + 1]), ("no integers", {}, None)])
def tokens_that_do_not_fit_are_refused(case):
    _, options, shape = case
    with temp_folder() as folder:
        model, given = saved(folder, **options), os.path.join(folder, "tokens.npy")
        np.save(given, tokens_of(shape) if shape else np.ones([2, LENGTH], np.float32))
        done = run("run", model, "--inputs", given, "--outputs", os.path.join(folder, "out"))
        expect_equal(done.returncode, 4, done.stderr)
        expect("tokens" in done.stderr and "input_ids" in done.stderr, done.stderr)


def perplexity(logits, labels):
    logits = logits.astype(np.float64)
    surprise = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return float(np.exp(surprise.mean()))


def saved_text(folder, text):
    """Files of the tokens and of those that follow them."""
    given, labels = (os.path.join(folder, name) for name in ("tokens.npy", "next.npy"))
    np.save(given, text[:, :-1])
    np.save(labels, text[:, 1:])
    return given, labels


@test()
def perplexity_of_token_files():
    """The label of each place is the next token."""
    with temp_folder() as folder:
        model, text, out = saved(folder), tokens_of([COUNT, LENGTH + 1]), os.path.join(folder, "q.onnx")
        given, labels = saved_text(folder, text)
        quantize(model, out, given, "matmul_nbits", "--set", "MatMulNBitsParams={GroupSize: 32, EmbeddingBits: 8}")
        done = quarkq("evaluate", "--float", model, "--quantized", out, "--data", given, "--metric", "perplexity", "--labels", labels,
                      "--labels-output", "logits", "--json")
        found = json.loads(done.stdout)["metrics"][0]
        for path, value in ((model, found["baseline"]), (out, found["value"])):
            logits = session(path).run(["logits"], decoders.feeds(text[:, :-1]))[0]
            expect(abs(value / perplexity(logits, text[:, 1:]) - 1) < 1e-4, f"{path}: {value}, {perplexity(logits, text[:, 1:])}")
        return f"{found['baseline']:.2f} float, {found['value']:.2f} quantized"


@test()
def tune_takes_token_files():
    with temp_folder() as folder:
        model, text, out = saved(folder), tokens_of([COUNT, LENGTH + 1]), os.path.join(folder, "q.onnx")
        given, labels = saved_text(folder, text)
        done = quarkq("tune", model, "-o", out, "--config", "a8w8", "--calib", given, "--eval", given, "--labels", labels, "--labels-output", "logits",
                      "--metric", "perplexity", "--goal", "value<=1000", "--json")
        report = json.loads(done.stdout)
        expect_equal(report["metric"]["name"], "perplexity", "metric")
        check_model(out)


@test()
def embedding_tables_in_8_bits():
    """Both tables become codes; a row is off by half a step of its blocks at most, the logits by what is printed."""
    with temp_folder() as folder:
        model, tokens = saved(folder), tokens_of([COUNT, LENGTH])
        given, out, results = (os.path.join(folder, name) for name in ("tokens.npy", "q.onnx", "results"))
        np.save(given, tokens)
        quantize(model, out, given, "matmul_nbits", "--set", "nodes_to_exclude=[node_q_flat, node_k_flat, node_v_flat, node_o, node_logits]",
                 "--set", "MatMulNBitsParams={GroupSize: 16, EmbeddingBits: 8}")
        check_model(out)
        written = onnx.load(out)
        ops = [node.op_type for node in written.graph.node]
        expect_equal((ops.count("GatherBlockQuantized"), ops.count("Gather")), (2, 0), f"operators {ops}")
        stored = {one.name: onnx.numpy_helper.to_array(one) for one in [*written.graph.initializer, *onnx.load(model).graph.initializer]}
        scales = np.repeat(stored["table_scales"], 16, axis=1)
        off = np.abs((stored["table_Q8"].astype(np.float32) - 128) * scales - stored["table"])
        expect((off <= scales * 0.5001).all(), f"a row is off by {(off / scales).max()} steps")
        wanted = session(model).run(["logits"], decoders.feeds(tokens))[0]
        found = session(out).run(["logits"], decoders.feeds(tokens))[0]
        noise = 10 * np.log10((wanted ** 2).sum() / ((found - wanted) ** 2).sum())
        expect(noise > 38, f"SQNR of the logits is {noise:.1f} dB")
        run_model(out, given, results)
        ours = np.stack([np.load(os.path.join(results, "logits", f"tokens_{i}.npy"))[0] for i in range(COUNT)])
        expect(cosine(ours, found) > 0.9999999, "ONNX Runtime computes something else")
        return f"SQNR {noise:.1f} dB"


@test()
def tied_tables_are_stored_in_both_forms():
    """The transposed table of the output matrix is a matrix of its own after the float rewrites: neither is left in float."""
    with temp_folder() as folder:
        model, out, given = saved(folder, tied=True), os.path.join(folder, "q.onnx"), os.path.join(folder, "tokens.npy")
        np.save(given, tokens_of([COUNT, LENGTH]))
        quantize(model, out, given, "matmul_nbits", "--set", "MatMulNBitsParams={GroupSize: 32, EmbeddingBits: 8}")
        check_model(out)
        written = onnx.load(out)
        ops = [node.op_type for node in written.graph.node]
        expect_equal((ops.count("GatherBlockQuantized"), ops.count("Gather"), ops.count("MatMulNBits")), (2, 0, 5), f"operators {ops}")
        floats = [one.name for one in written.graph.initializer if one.data_type == onnx.TensorProto.FLOAT and np.prod(one.dims) >= decoders.VOCABULARY * decoders.WIDTH]
        expect_equal(floats, [], "tables left in float")
