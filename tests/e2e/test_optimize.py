# SPDX-License-Identifier: MIT
"""`quarkq optimize`: every shared model still computes what it did, in ONNX Runtime; twice changes nothing; the same bytes every time."""
import glob
import json
import os

import numpy as np
import onnx
import onnxruntime

from harness import SHARED, expect, expect_equal, quarkq, run, shared, temp_folder, test

MODELS = sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(SHARED, "models", "*.onnx")))

# The simplifier finds two nodes more once the basic optimizer has run; in the reference as well.
MORE_THE_SECOND_TIME = ["gtcrn_stream"]


def sample(model, session):
    """The first evaluation sample, by input name."""
    folder = shared("golden", "inputs", model, "eval")
    inputs = session.get_inputs()
    if len(inputs) == 1:
        return {inputs[0].name: np.load(sorted(glob.glob(folder + "/*.npy"))[0])}
    feed = {}
    for value in inputs:
        own = os.path.join(folder, value.name.replace("/", "_").replace(":", "_"))
        own = own if os.path.isdir(own) else os.path.join(folder, value.name)
        feed[value.name] = np.load(sorted(glob.glob(own + "/*.npy"))[0])
    return feed


def outputs(path, feed=None, model=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = feed or sample(model, session)
    return session.run(None, feed), feed


@test(cases=MODELS)
def keeps_the_function(model):
    source = shared("models", model + ".onnx")
    with temp_folder() as folder:
        first, second, again = (os.path.join(folder, name) for name in ("first.onnx", "second.onnx", "again.onnx"))
        result = quarkq("optimize", source, "-o", first, "--json")
        report = json.loads(result.stdout)
        onnx.checker.check_model(first)
        expected, feed = outputs(source, model=model)
        found, _ = outputs(first, feed)
        for a, b in zip(expected, found):
            expect_equal((a.shape, a.dtype), (b.shape, b.dtype), "shape and type")
            if a.dtype.kind != "f":
                continue
            a, b = a.astype(np.float64), b.astype(np.float64)
            limit = (1e-2 if expected[0].dtype == np.float16 else 1e-4) * max(np.abs(a).max(), 1e-30)
            expect(np.abs(a - b).max() <= limit, f"output differs by {np.abs(a - b).max()}, allowed is {limit}")
        quarkq("optimize", source, "-o", again, "--quiet")
        with open(first, "rb") as x, open(again, "rb") as y:
            expect(x.read() == y.read(), "another run gave other bytes")
        quarkq("optimize", first, "-o", second, "--quiet")
        ops = [sorted(node.op_type for node in onnx.load(path).graph.node) for path in (first, second)]
        if model not in MORE_THE_SECOND_TIME:
            expect_equal(ops[0], ops[1], "operators after a second run")
        rolled = [f["subject"] for f in report["findings"] if f["id"] == "pass-rolled-back"]
        expect_equal(rolled, [], "passes rolled back")
        slowest = report["seconds"]
        expect(slowest <= 10, f"{slowest} s")


@test()
def passes_can_be_chosen():
    source = shared("models", "ultraface_rfb_320.onnx")
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        one = json.loads(quarkq("optimize", source, "-o", out, "--pass", "fuse-batch-norm", "--json").stdout)
        expect_equal([p["name"] for p in one["passes"] if p["changed"]], ["fuse-batch-norm"], "passes that changed something")
        rest = json.loads(quarkq("optimize", source, "-o", out, "--skip", "fuse-batch-norm", "--json").stdout)
        expect("fuse-batch-norm" not in [p["name"] for p in rest["passes"]], "a skipped pass ran")
        dump = quarkq("optimize", source, "-o", out, "--dump-after", "simplify-model", "--quiet").stdout
        expect("Conv(" in dump, dump[:200])


@test(cases=[("pass", ["--pass", "fuse-batch-nrm"], 2, "did you mean fuse-batch-norm?"), ("later", ["--pass", "emit-qdq"], 2, "not a pass on the float model"),
             ("folder", ["--calib", "/no/such/folder"], 4, "no such folder")])
def bad_arguments_are_refused(case):
    _, options, code, message = case
    with temp_folder() as folder:
        out = os.path.join(folder, "o.onnx")
        result = run("optimize", shared("models", "ultraface_rfb_320.onnx"), "-o", out, *options)
        expect_equal(result.returncode, code, "exit code")
        expect(message in result.stderr, result.stderr)
        expect(not os.path.exists(out), "a file was left")
