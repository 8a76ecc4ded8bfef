# SPDX-License-Identifier: MIT
"""Chains of thousands of layers: what works layer by layer takes time in proportion to their number, not to its square."""
import os
import resource

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, quarkq, temp_folder, test

SHORT, LONG = 300, 1200
MOST = 1.5  # times the ratio of the lengths
SHAPE = [1, 4, 4, 4]


def chain(folder, layers):
    """Convs that only reorder channels and change signs, apart from a little noise, so that no signal is lost on the way."""
    rng = np.random.default_rng(0)
    nodes, stored, x = [], [], "x"
    for i in range(layers):
        weight = np.eye(4)[rng.permutation(4)] * rng.choice([-1, 1], 4) + rng.standard_normal((4, 4)) * 0.01
        stored += [numpy_helper.from_array(weight.astype(np.float32)[:, :, None, None], f"w{i}"), numpy_helper.from_array((rng.standard_normal(4) * 0.01).astype(np.float32), f"b{i}")]
        nodes.append(helper.make_node("Conv", [x, f"w{i}", f"b{i}"], [f"c{i}"], name=f"conv{i}"))
        x = f"c{i}"
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", x)]
    path = os.path.join(folder, "m.onnx")
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], stored), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    os.makedirs(os.path.join(folder, "in"))
    for i in range(4):
        np.save(os.path.join(folder, "in", f"{i}.npy"), rng.standard_normal(SHAPE).astype(np.float32))
    return path


def cpu_seconds(layers, *more):
    """Of the better of two runs."""
    with temp_folder() as folder:
        model, found = chain(folder, layers), []
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            quarkq("quantize", "--config", "a16w8", "--calib", os.path.join(folder, "in"), "-o", os.path.join(folder, "q.onnx"), "--threads", "1", *more, model)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(found)


@test(cases=[("plain", ()), ("compensated rounding", ("--set", "quarkq.rounding=compensated")), ("bias correction", ("--set", "BiasCorrection=true"))])
def time_grows_with_the_number_of_layers(case):
    _, more = case
    short, long = (cpu_seconds(layers, "--on-collapse", "warn", *more) for layers in (SHORT, LONG))
    expect(long <= MOST * LONG / SHORT * short, f"{LONG} layers take {long:.2f} s, {SHORT} layers {short:.2f} s")
    return f"{short:.2f} s and {long:.2f} s"


@test()
def nothing_is_rescued_where_nothing_is_lost():
    with temp_folder() as folder:
        model = chain(folder, SHORT)
        result = quarkq("quantize", "--config", "a16w8", "--calib", os.path.join(folder, "in"), "-o", os.path.join(folder, "q.onnx"), model)
        expect("rescue" not in result.stdout + result.stderr and "verdict    good" in result.stdout, result.stderr[-300:])
