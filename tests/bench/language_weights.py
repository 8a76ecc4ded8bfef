#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time and peak memory of weight-only algorithms on a made-up decoder of some 110 million weights.

    language_weights.py [--quarkq BIN] [--threads 2] [--layers 8] [--width 1024] [--rows 16] [--output FILE.json] [--only REGEX]

Each run is a process of its own. GB/s per core: bytes of the float matrices over processor seconds of the whole process. The last column is extrapolated to 1.5
billion weights, linearly from the wall time. It is not a measurement: Gram matrices of wider layers take more per weight, and other programs on this machine
count. Also: bytes of one and of two threads, and a run that is killed in the middle (it leaves no result, and the next run writes the bytes of an undisturbed
one; there is no state to resume). Needs: numpy, onnx.
"""
import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper, save

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VOCABULARY, HEAD_SIZE, LARGE = 8000, 64, 1.5e9
ALGORITHMS = ["DEFAULT", "HQQ", "K_QUANT", "AWQ", "GPTQ", "AUTOROUND"]
NEED_SAMPLES = {"AWQ", "GPTQ", "AUTOROUND"}
# A child of its own: the peak that the system reports of a process is at least that of the one it was forked from.
MEASURE = "import resource, subprocess, sys, time; start = time.monotonic(); subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
          "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_maxrss, time.monotonic() - start, u.ru_utime + u.ru_stime)"


class Decoder:
    """Nodes of a decoder whose weights are written to a file as they are drawn."""

    def __init__(self, file, width):
        self.file, self.width, self.nodes, self.stored, self.weights = file, width, [], [], 0
        self.random = np.random.default_rng(3)

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name="n_" + name, **attributes))
        return name

    def external(self, name, values):
        values = np.ascontiguousarray(values, np.float32)
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=values.shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", os.path.basename(self.file.name)), ("offset", self.file.tell()), ("length", values.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self.file.write(values.tobytes())
        self.stored.append(tensor)
        return name

    def linear(self, x, name, rows, columns):
        self.weights += rows * columns
        values = self.random.standard_normal((rows, columns), np.float32) * np.float32(rows ** -0.5)
        return self.node("MatMul", [x, self.external(name + "_w", values)], name)

    def norm(self, x, name):
        weight = np.exp(self.random.standard_normal(self.width) * 0.5)  # channels of several sizes, which AWQ scales
        return self.node("LayerNormalization", [x, self.external(name + "_w", weight)], name)

    def constant(self, name, values):
        self.stored.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def block(self, x, name, inner):
        heads, n = {}, self.norm(x, name + "_norm1")
        for part in "qkv":
            split = self.node("Reshape", [self.linear(n, f"{name}_{part}", self.width, self.width), "heads"], f"{name}_{part}_split")
            heads[part] = self.node("Transpose", [split], f"{name}_{part}_heads", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])
        scores = self.node("MatMul", [heads["q"], heads["k"]], name + "_scores")
        read = self.node("MatMul", [self.node("Softmax", [scores], name + "_probs", axis=-1), heads["v"]], name + "_read")
        joined = self.node("Reshape", [self.node("Transpose", [read], name + "_turned", perm=[0, 2, 1, 3]), "flat"], name + "_joined")
        x = self.node("Add", [x, self.linear(joined, name + "_o", self.width, self.width)], name + "_sum1")
        n = self.norm(x, name + "_norm2")
        gate, up = (self.linear(n, f"{name}_{part}", self.width, inner) for part in ("gate", "up"))
        silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], name + "_sigmoid")], name + "_silu")
        down = self.linear(self.node("Mul", [silu, up], name + "_gated"), name + "_down", inner, self.width)
        return self.node("Add", [x, down], name + "_sum2")


def write_decoder(path, options):
    """Returns the number of weights in matrices."""
    with open(path + ".data", "wb") as file:
        d = Decoder(file, options.width)
        d.constant("heads", [0, 0, options.width // HEAD_SIZE, HEAD_SIZE])
        d.constant("flat", [0, 0, options.width])
        x = d.node("Gather", [d.external("table", d.random.standard_normal((VOCABULARY, options.width), np.float32)), "input_ids"], "embedded")
        for i in range(options.layers):
            x = d.block(x, f"b{i}", options.width * 11 // 4)
        d.linear(d.norm(x, "last"), "logits", options.width, VOCABULARY)
    graph = helper.make_graph(d.nodes, "decoder", [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "length", VOCABULARY])], d.stored)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return d.weights


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.model, self.tokens = os.path.join(folder, "m.onnx"), os.path.join(folder, "tokens.npy")
        self.weights = write_decoder(self.model, options)
        np.save(self.tokens, np.random.default_rng(5).integers(0, VOCABULARY, (options.rows, options.length)))

    def command(self, algorithm, out, threads):
        command = [self.options.quarkq, "quantize", self.model, "-o", out, "--config", "matmul_nbits", "--quiet", "--no-verify", "--threads", str(threads),
                   "--max-memory", "4G", "--set", f"MatMulNBitsParams={{Algorithm: {algorithm}, Symmetric: false}}", "--set", "quarkq.metadata=false"]
        return command + (["--calib", self.tokens] if algorithm in NEED_SAMPLES else [])

    def digest(self, out):
        """Of the result, whose data may be in a second file."""
        found = hashlib.sha256()
        for name in (out, out + ".data"):
            if os.path.exists(name):
                with open(name, "rb") as file:
                    found.update(file.read())
                os.remove(name)
        return found.hexdigest()[:16]

    def measure(self, algorithm, threads):
        out = os.path.join(self.folder, "q.onnx")
        done = subprocess.run([sys.executable, "-c", MEASURE, *self.command(algorithm, out, threads)], check=True, capture_output=True, text=True)
        kilobytes, seconds, processor = (float(word) for word in done.stdout.split())
        return {"algorithm": algorithm, "threads": threads, "seconds": round(seconds, 1), "processor_seconds": round(processor, 1),
                "peak_mb": round(kilobytes / 1024), "gb_per_core_second": round(self.weights * 4 / processor / 1e9, 3),
                "minutes_at_1.5e9_weights_extrapolated": round(seconds * LARGE / self.weights / 60, 1), "bytes": self.digest(out)}

    def killed(self, row):
        """Whether a run that is killed in the middle leaves no result, and whether the next one has the same bytes."""
        out = os.path.join(self.folder, "k.onnx")
        process = subprocess.Popen(self.command(row["algorithm"], out, row["threads"]), stdout=subprocess.DEVNULL)
        time.sleep(row["seconds"] / 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        leaves_none = not os.path.exists(out)
        subprocess.run(self.command(row["algorithm"], out, row["threads"]), check=True, stdout=subprocess.DEVNULL)
        return leaves_none and self.digest(out) == row["bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quarkq", default=os.path.join(ROOT, "build/release/quarkq"))
    for name, value in (("threads", 2), ("layers", 8), ("width", 1024), ("rows", 16), ("length", 128)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--output")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        print(f"{bench.weights / 1e6:.0f} million weights in matrices, {options.rows * options.length} tokens, load {os.getloadavg()[0]:.1f}", flush=True)
        print(f"{'algorithm':10} {'threads':>7} {'seconds':>8} {'cpu s':>8} {'peak MB':>8} {'GB/s/core':>10} {'min at 1.5e9 (extrapolated)':>28}", flush=True)
        rows = []
        for algorithm in ALGORITHMS:
            if not re.search(options.only, algorithm):
                continue
            row = bench.measure(algorithm, options.threads)
            rows.append(row)
            print(f"{algorithm:10} {row['threads']:>7} {row['seconds']:>8} {row['processor_seconds']:>8} {row['peak_mb']:>8} {row['gb_per_core_second']:>10} "
                  f"{row['minutes_at_1.5e9_weights_extrapolated']:>28}", flush=True)
        fastest = next((row for row in rows if row["algorithm"] == "AWQ"), rows[0])
        one = bench.measure(fastest["algorithm"], 1)
        checks = {"algorithm": fastest["algorithm"], "same_bytes_with_one_thread": one["bytes"] == fastest["bytes"], "same_bytes_after_a_kill": bench.killed(fastest)}
        print(checks, flush=True)
        if options.output:
            with open(options.output, "w", encoding="utf-8") as file:
                json.dump({"weights": bench.weights, "tokens": options.rows * options.length, "rows": rows, "checks": checks}, file, indent=1)
                file.write("\n")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
