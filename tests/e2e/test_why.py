# SPDX-License-Identifier: MIT
"""quarkq inspect --why: which decision left a tensor float, or quantized it as it is."""
import json
import os

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

from harness import expect, expect_equal, quarkq, run, temp_folder, test


def net(folder, norm=False):
    """Conv -> Relu -> Reshape by a stored shape -> Gemm -> Celu; with `norm` a BatchNormalization after the Conv."""
    rng = np.random.default_rng(3)
    stored = {"w": rng.normal(size=(4, 3, 3, 3)), "b": rng.normal(size=4), "fc": rng.normal(size=(4 * 36, 5))}
    stored |= {"g": np.ones(4), "beta": np.zeros(4), "mean": np.zeros(4), "var": np.ones(4)} if norm else {}
    tensors = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in stored.items()]
    tensors.append(numpy_helper.from_array(np.asarray([1, -1], np.int64), "shape"))
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv"),
        *([helper.make_node("BatchNormalization", ["c", "g", "beta", "mean", "var"], ["n"], "norm")] if norm else []),
        helper.make_node("Relu", ["n" if norm else "c"], ["r"], "relu"),
        helper.make_node("Reshape", ["r", "shape"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "fc"], ["m"], "fc_node"),
        helper.make_node("Celu", ["m"], ["y"], "celu"),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])], tensors)
    path = os.path.join(folder, "net.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def why(path, name, *options, config="xint8"):
    report = json.loads(quarkq("inspect", path, "--why", name, "--config", config, "--json", *options).stdout)
    return report["note"], {one["name"]: (one["outcome"], [(step["rule"], step["text"]) for step in one["steps"]]) for one in report["tensors"]}


CASES = {
    # name: (options, outcome, rule of a step, words of its text)
    "weight": ("w", [], "weight INT8", "marker", "as a weight by the rule of node conv (Conv)"),
    "activation": ("x", [], "activation UINT8", "marker", "as an activation"),
    "absorbed": ("c", [], "absorbed", "absorb-annotated", "inside the fused pair that begins at node conv (Conv)"),
    "shared": ("f", [], "activation UINT8", "resolve-sharing", "shares the parameters of r"),
    "operator": ("y", [], "float", "op-set", "not in the op set: node celu (Celu)"),
    "excluded": ("fc", ["--set", "exclude=[fc_node]"], "float", "exclude", "the settings exclude: node fc_node (Gemm)"),
    "included": ("fc", ["--set", "nodes_to_quantize=[conv]"], "float", "include", "does not list: node fc_node (Gemm)"),
}


@test(cases=list(CASES))
def names_the_decision(case):
    name, options, outcome, rule, words = CASES[case]
    with temp_folder() as folder:
        note, tensors = why(net(folder), name, *options)
        expect_equal(note, "", "note")
        expect(name in tensors, f"tensors {list(tensors)}")
        expect_equal(tensors[name][0], outcome, f"outcome of {name}: {tensors[name]}")
        expect(any(step[0] == rule and words in step[1] for step in tensors[name][1]), f"steps {tensors[name][1]}")


@test()
def follows_nodes_through_fusions():
    with temp_folder() as folder:
        path = net(folder, norm=True)
        for name in ("norm", "w"):
            note, tensors = why(path, name)
            expect("became" in note and "(Conv)" in note and "in preprocessing" in note, f"note {note!r}")
            expect(any(outcome == "weight INT8" for outcome, _ in tensors.values()), f"tensors {tensors}")


@test()
def prints_text_and_refuses_what_it_cannot_find():
    with temp_folder() as folder:
        path = net(folder)
        text = quarkq("inspect", path, "--why", "fc_node", "--config", "a8w8").stdout
        expect("fc: weight" in text and "marker" in text, f"printed {text!r}")
        missing = run("inspect", path, "--why", "fc_nod", "--config", "a8w8")
        expect_equal(missing.returncode, 2, "exit code")
        expect("fc_nod" in missing.stderr and "fc_node" in missing.stderr, f"said {missing.stderr!r}")
        bare = run("inspect", path, "--why", "fc_node")
        expect_equal(bare.returncode, 2, "exit code without --config")
        expect("--config" in bare.stderr, f"said {bare.stderr!r}")
        expect_equal(run("inspect", path, "--config", "a8w8").returncode, 2, "exit code of --config without --why")
