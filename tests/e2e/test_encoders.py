# SPDX-License-Identifier: MIT
"""Text encoders: A8W8 and A16W8 with masks of every form, and the metrics of embeddings and answers against numpy."""
import json
import os

import numpy as np
import onnx

import encoders
from harness import expect, expect_equal, expect_error, quarkq, run, temp_folder, test
from reference import session

LEAST = {"a16w8": (0.99, 0.9), "a8w8": (0.98, 0.7)}  # Spearman of similarities with those of float, and equal nearest neighbours of 24


def write_samples(folder, samples):
    for i, sample in enumerate(samples):
        for name, values in sample.items():
            os.makedirs(os.path.join(folder, name), exist_ok=True)
            np.save(os.path.join(folder, name, f"s{i:02}.npy"), values.astype(np.int64))
    return folder


def embeddings(model, samples):
    runtime = session(model)
    return np.concatenate([runtime.run(None, sample)[0] for sample in samples])


def ranks(values):
    values = np.asarray(values)
    return np.array([(values < one).sum() + ((values == one).sum() - 1) / 2 for one in values])


def metrics_of(*arguments):
    return {one["name"]: one["value"] for one in json.loads(quarkq("evaluate", *arguments, "--json").stdout)["metrics"]}


@test(cases=[(f"{preset}, {form}", preset, form) for preset in LEAST for form in encoders.FORMS])
def quantized_encoders_keep_similarities(case):
    """The mask forms of exporters: nothing is NaN, and embeddings of unit length keep their order."""
    _, preset, form = case
    with temp_folder() as folder:
        model, out, pairs, floats = (os.path.join(folder, name) for name in ("m.onnx", "q.onnx", "pairs.csv", "floats.npy"))
        onnx.save(encoders.make_encoder(form), model)
        samples = encoders.draw_samples(48)
        calib, held_out = (write_samples(os.path.join(folder, name), part) for name, part in (("calib", samples[:24]), ("eval", samples[24:])))
        wanted = embeddings(model, samples[24:])
        similarities = wanted @ wanted.T
        with open(pairs, "w", encoding="utf-8") as file:
            file.writelines(f"{a},{b},{similarities[a, b]}\n" for a in range(24) for b in range(a))
        np.save(floats, wanted)
        quarkq("quantize", model, "-c", preset, "--calib", calib, "-o", out, "--on-collapse", "warn")
        found = embeddings(out, samples[24:])
        expect(np.isfinite(found).all(), "ONNX Runtime's results hold NaN or infinities")
        expect(np.abs(np.linalg.norm(found, axis=1) - 1).max() < 0.05, "embeddings have no unit length")
        scores = {**metrics_of(out, "--data", held_out, "--metric", "spearman", "--metric", "pearson", "--labels", pairs),
                  **metrics_of(out, "--data", held_out, "--metric", "neighbours", "--labels", floats)}
        lowest = np.tril_indices(24, -1)
        runtime = np.corrcoef(ranks((found @ found.T)[lowest]), ranks(similarities[lowest]))[0, 1]
        expect(abs(runtime - scores["spearman"]) < 0.01, f"Spearman in ONNX Runtime {runtime}, by evaluate {scores['spearman']}")
        least = LEAST[preset]
        expect(scores["spearman"] >= least[0] and scores["neighbours"] >= least[1], f"{scores}")
    return f"Spearman {scores['spearman']:.4f}, Pearson {scores['pearson']:.4f}, neighbours {scores['neighbours']:.3f}"


def toy_results(folder, rows=20, width=5):
    values = np.random.default_rng(4).standard_normal((rows, width)).astype(np.float32)
    os.makedirs(folder)
    for i, row in enumerate(values):
        np.save(os.path.join(folder, f"t{i:02}.npy"), row[None])
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    return unit @ unit.T


@test()
def metrics_of_embeddings_as_numpy_has_them():
    with temp_folder() as folder:
        results, path = os.path.join(folder, "results"), os.path.join(folder, "truth.csv")
        cosines = toy_results(results)
        rng = np.random.default_rng(6)
        pairs = [(a, b, float(rng.integers(0, 6))) for a in range(20) for b in range(a) if rng.random() < 0.3]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(["a,b,score\n", *(f"t{a:02},t{b:02}.npy,{score}\n" for a, b, score in pairs)])
        found = metrics_of(results, "--metric", "spearman", "--metric", "pearson", "--labels", path)
        values, scores = [cosines[a, b] for a, b, _ in pairs], [score for _, _, score in pairs]
        expect(abs(found["pearson"] - np.corrcoef(values, scores)[0, 1]) < 1e-5, f"Pearson {found}")
        expect(abs(found["spearman"] - np.corrcoef(ranks(values), ranks(scores))[0, 1]) < 1e-9, f"Spearman {found}")
        gate = run("evaluate", results, "--metric", "spearman", "--labels", path, "--confidence", "0.95", "--require", f"spearman>={found['spearman'] - 0.01}")
        expect_error(gate, 5, f"not enough pairs to tell, there are {len(pairs)}, about ")
        queries = {query: {int(d): int(rng.integers(1, 4)) for d in rng.choice(np.arange(5, 20), 4, replace=False)} for query in range(5)}
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{query},{d},{grade}\n" for query, grades in queries.items() for d, grade in grades.items())
        found = metrics_of(results, "--metric", "recall3", "--metric", "ndcg5", "--labels", path)
        recall, gain = [], []
        for query, grades in queries.items():
            order = 5 + np.argsort(-cosines[query, 5:], kind="stable")
            recall.append(len(set(order[:3]) & set(grades)) / len(grades))
            discount = 1 / np.log2(np.arange(5) + 2)
            best = sorted(grades.values(), reverse=True) + [0]
            gain.append(np.sum(discount * [grades.get(d, 0) for d in order[:5]]) / np.sum(discount * best[:5]))
        expect(abs(found["recall3"] - np.mean(recall)) < 1e-9 and abs(found["ndcg5"] - np.mean(gain)) < 1e-9, f"{found}, {np.mean(recall)}, {np.mean(gain)}")
        own = np.stack([np.load(os.path.join(results, f"t{i:02}.npy"))[0] for i in range(20)])
        np.save(os.path.join(folder, "own.npy"), own)
        expect_equal(metrics_of(results, "--metric", "neighbours", "--labels", os.path.join(folder, "own.npy"))["neighbours"], 1.0, "own neighbours")


@test()
def answers_are_spans_of_two_outputs():
    with temp_folder() as folder:
        rng, path = np.random.default_rng(8), os.path.join(folder, "answers.csv")
        f1, exact, lines = [], [], []
        for i in range(12):
            logits = rng.standard_normal((2, 9)).astype(np.float32)
            for name, values in zip(("start_logits", "end_logits"), logits):
                os.makedirs(os.path.join(folder, "results", name), exist_ok=True)
                np.save(os.path.join(folder, "results", name, f"q{i}.npy"), values[None])
            first, last = max(((a, b) for a in range(9) for b in range(a, 9)), key=lambda ends: logits[0, ends[0]] + logits[1, ends[1]])
            wanted = sorted(rng.integers(0, 9, 2)) if i % 3 else [first, last]
            shared = max(0, min(last, wanted[1]) - max(first, wanted[0]) + 1)
            f1.append(2 * shared / (last - first + 1 + wanted[1] - wanted[0] + 1))
            exact.append(wanted == [first, last])
            lines.append(f"q{i},{wanted[0]},{wanted[1]}\n")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        found = metrics_of(os.path.join(folder, "results"), "--metric", "span_f1", "--metric", "span_exact", "--labels", path)
        expect(abs(found["span_f1"] - np.mean(f1)) < 1e-9 and found["span_exact"] == np.mean(exact), f"{found}, {np.mean(f1)}, {np.mean(exact)}")
        gate = run("evaluate", os.path.join(folder, "results"), "--metric", "span_f1", "--labels", path, "--require", "span_f1>=0.99")
        expect_equal(gate.returncode, 5, "exit code of a gate that is missed")
