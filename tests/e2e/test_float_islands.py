# SPDX-License-Identifier: MIT
"""quarkq convert to float16 and bfloat16 around what has no such form: sequences, operators of other domains, types that are not known. These
stay in float32 between Casts and are named."""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import expect, quarkq, temp_folder, test
from reference import cosine, session, weights

SHAPE = [1, 4, 8, 8]


def info(name, shape=None, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", domain=domain, **attributes)


def numbers(name, values):
    return numpy_helper.from_array(np.asarray(values, np.int64), name)


def loop_body():
    return helper.make_graph([node("SequenceAt", ["s", "i"], ["a"]), node("Add", ["c", "a"], ["sum"]), node("Identity", ["k"], ["go"])], "body",
                             [info("i", [], TensorProto.INT64), info("k", [], TensorProto.BOOL), info("c")], [info("go", [], TensorProto.BOOL), info("sum")])


CONVS = [weights("w", 4, 4, 3, 3), weights("w2", 4, 4, 3, 3)]
# name: (nodes, initializers, domains, a node that is left)
MODELS = {
    "sequence": ([node("Conv", ["x", "w"], ["t"]), node("SplitToSequence", ["t", "parts"], ["s"], axis=1), node("SequenceAt", ["s", "first"], ["y"])],
                 [*CONVS, numbers("parts", [1, 3]), numbers("first", 0)], {}, "SplitToSequence_s"),
    "sequence in a Loop": ([node("Relu", ["x"], ["t"]), node("SplitToSequence", ["t"], ["s"], axis=1), node("Loop", ["n", "", "z"], ["y"], body=loop_body())],
                           [numbers("n", 4), weights("z", 1, 1, 8, 8)], {}, "Loop_y"),
    "MeanVarianceNormalization": ([node("MeanVarianceNormalization", ["x"], ["t"]), node("Relu", ["t"], ["y"])], [], {}, None),
    "FusedConv": ([node("FusedConv", ["x", "w"], ["t"], "com.microsoft", activation="Relu", kernel_shape=[3, 3]), node("Conv", ["t", "w2"], ["y"])], CONVS,
                  {"com.microsoft": 1}, "Conv_y"),
    "operator of ai.onnx.ml": ([node("Reshape", ["x", "flat"], ["r"]), node("Normalizer", ["r"], ["t"], "ai.onnx.ml", norm="L2"), node("MatMul", ["t", "m"], ["y"])],
                               [numbers("flat", [1, 256]), weights("m", 256, 3)], {"ai.onnx.ml": 1}, None),
    "LayerNormalization with its mean": ([node("LayerNormalization", ["x", "s"], ["n", "y"])], [weights("s", 8)], {}, None),
}


@test(cases=[(f"{name} {kind}", name, kind) for name in MODELS for kind in ("fp16", "bf16")])
def what_has_no_such_form_stays(case):
    _, name, kind = case
    nodes, initializers, domains, left = MODELS[name]
    imports = [helper.make_opsetid("", 17), *(helper.make_opsetid(*entry) for entry in domains.items())]
    model = helper.make_model(helper.make_graph(nodes, "g", [info("x", SHAPE)], [info("y")], initializers), opset_imports=imports, ir_version=8)
    with temp_folder() as folder:
        path, out = os.path.join(folder, "float.onnx"), os.path.join(folder, "half.onnx")
        onnx.save(model, path)
        report = json.loads(quarkq("convert", path, out, "--pass", f"fp32-to-{kind}", "--json").stdout)
        if left:
            expect(any(left in entry["node"] for entry in report["passes"][0]["left"]), f"{left} is named: {report['passes'][0]['left']}")
        x = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
        wanted = session(path, False).run(None, {"x": x})[0]
        try:
            found = session(out, False).run(None, {"x": x})[0]
        except Exception as error:
            expect(kind == "bf16" and "NOT_IMPLEMENTED" in str(error), str(error))  # its kernels take few operators in bfloat16
            return "ONNX Runtime has no kernel in bfloat16"
        expect(cosine(found.astype(np.float32), wanted) > 0.999, "the result")
    return None
