# SPDX-License-Identifier: MIT
"""Language models judged by text: perplexity and greedy continuations against ONNX Runtime's."""
import json
import os

import numpy as np
import onnx

import decoders
from harness import expect, expect_equal, quantize, quarkq, shared, temp_folder, test
from reference import session

ROWS, LENGTH = 32, 24


def surprises(logits, ids):
    """-ln of the probability of each id after the first, [rows, length - 1]."""
    logits = logits[:, :-1].astype(np.float64)
    logits -= logits.max(-1, keepdims=True)
    return np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, ids[:, 1:, None], -1)[..., 0]


def continued(logits_of, ids):
    """The second half of each row, token by token."""
    ids = ids.copy()
    for place in range((ids.shape[1] + 1) // 2, ids.shape[1]):
        ids[:, place] = logits_of(ids[:, :place])[:, -1].argmax(-1)
    return ids[:, (ids.shape[1] + 1) // 2:]


def run_of(path, feeds):
    runner = session(path)
    return lambda ids: runner.run(["logits"], feeds(ids))[0]


def expect_text(text, float_logits, quantized_logits, ids):
    """The figures of the report against those of both models in ONNX Runtime."""
    expected, found = surprises(float_logits(ids), ids), surprises(quantized_logits(ids), ids)
    for name, value in (("float_perplexity", np.exp(expected.mean())), ("quantized_perplexity", np.exp(found.mean())),
                        ("perplexity_ratio", np.exp(found.mean() - expected.mean()))):
        figure = text[name]
        expect(abs(figure["value"] / value - 1) < 1e-3, f"{name}: {figure}, {value}")
        expect(figure["low"] <= figure["value"] <= figure["high"], f"{name}: {figure}")
    expect_equal(text["tokens"], expected.size, "tokens")
    same = (float_logits(ids)[:, :-1].argmax(-1) == quantized_logits(ids)[:, :-1].argmax(-1)).mean()
    expect(abs(text["same_next"] - same) < 0.01, f"same_next {text['same_next']}, {same}")
    expect_equal(len(text["continuations"]), 16, "prompts")
    rows = [int(one["sample"].rsplit("_", 1)[1]) for one in text["continuations"]]
    given, other = continued(float_logits, ids[rows]), continued(quantized_logits, ids[rows])
    agree = 0
    for one, a, b in zip(text["continuations"], given, other):
        expect_equal(one["prompt"] + one["length"], ids.shape[1], "length")
        different = np.flatnonzero(a != b)
        wanted = int(different[0]) if different.size else None
        agree += one["same"] == int((a == b).sum()) and one["first_difference"] == wanted
    expect(agree >= 15, f"{agree} of 16 continuations are those of ONNX Runtime")  # a near tie may go either way


def own_text(path):
    """Text of the decoder itself, which it predicts well: the next token is drawn by its own probabilities."""
    rng = np.random.default_rng(7)
    logits_of, ids = run_of(path, decoders.feeds), rng.integers(0, decoders.VOCABULARY, [ROWS, 1])
    for _ in range(LENGTH - 1):
        logits = logits_of(ids)[:, -1].astype(np.float64)
        ids = np.concatenate([ids, (2 * logits + rng.gumbel(size=logits.shape)).argmax(-1)[:, None]], 1)
    return ids


def report_of(model, folder, tokens, *settings):
    given, out, report = (os.path.join(folder, name) for name in ("tokens.npy", "q.onnx", "report.json"))
    np.save(given, tokens)
    printed = quantize(model, out, given, *settings, "--eval", given, "--report", report)
    with open(report, encoding="utf-8") as file:
        return json.load(file), out, printed


@test()
def a_decoder_with_a_cache_is_judged_by_text():
    with temp_folder() as folder:
        model = os.path.join(folder, "model.onnx")
        onnx.save(decoders.make_decoder(), model)
        tokens = own_text(model)
        report, out, _ = report_of(model, folder, tokens, "matmul_nbits", "--set", "MatMulNBitsParams={GroupSize: 32, EmbeddingBits: 8}")
        expect_text(report["text"], run_of(model, decoders.feeds), run_of(out, decoders.feeds), tokens)
        logits = next(one for one in report["outputs"] if one["name"] == "logits")
        expect_equal(logits["task"]["task"], "text", "task")
        done = quarkq("evaluate", "--float", model, "--quantized", out, "--data", os.path.join(folder, "tokens.npy"),
                      "--metric", "text_perplexity", "--metric", "next_token", "--json")
        found = {one["name"]: one for one in json.loads(done.stdout)["metrics"]}
        for side, name in (("baseline", "float_perplexity"), ("value", "quantized_perplexity")):
            expect(abs(found["text_perplexity"][side] / report["text"][name]["value"] - 1) < 1e-6, f"{side}: {found}")
        wanted = (run_of(out, decoders.feeds)(tokens)[:, :-1].argmax(-1) == tokens[:, 1:]).mean()
        expect(abs(found["next_token"]["value"] - wanted) < 0.01, f"{found['next_token']}, {wanted}")
        return logits["task"]["text"]


@test()
def random_ids_are_not_text():
    with temp_folder() as folder:
        model = os.path.join(folder, "model.onnx")
        onnx.save(decoders.make_decoder(), model)
        tokens = np.random.default_rng(1).integers(0, decoders.VOCABULARY, [ROWS, LENGTH])
        report, _, _ = report_of(model, folder, tokens, "matmul_nbits", "--set", "MatMulNBitsParams={GroupSize: 32}")
        expect_equal(report["text"], None, "text")
        expect(any(one["id"] == "not-compared" and "not text" in one["text"] for one in report["findings"]), f"{report['findings']}")


@test(cases=["LLM_W4", "2 bits"])
def char_gpt_is_judged_by_text(form):
    model, data = shared("models", "char_gpt.onnx"), shared("data", "tensors", "char_gpt", "inputs.npy")
    tokens = np.load(data).astype(np.int64)
    tokens = tokens.reshape(len(tokens), -1)
    with temp_folder() as folder:
        calib, out, report = (os.path.join(folder, name) for name in ("calib.npy", "q.onnx", "report.json"))
        held_out = os.path.join(folder, "tokens.npy")
        np.save(calib, tokens[:64])
        np.save(held_out, tokens[128:128 + ROWS])
        more = () if form == "LLM_W4" else ("--set", "MatMulNBitsParams={Algorithm: GPTQ, Bits: 2, GroupSize: 32, Symmetric: false}")
        printed = quantize(model, out, calib, form if form == "LLM_W4" else "matmul_nbits", "--on-collapse", "warn", "--eval", held_out,
                           "--report", report, *more)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        feeds = lambda ids: {"tokens": ids}
        expect_text(found["text"], run_of(model, feeds), run_of(out, feeds), tokens[128:128 + ROWS])
        expect("perplexity" in found["verdict"]["why"], found["verdict"]["why"])
        grades = ("good", "fair") if form == "LLM_W4" else ("poor",)
        expect(found["verdict"]["grade"] in grades, f"{found['verdict']}")
        expect("greedy continuations of 16 prompts" in printed.stdout, printed.stdout)
        return f"{found['verdict']['grade']}: {found['verdict']['why']}"
