#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random valid models through quarkq and ONNX Runtime: compare_ort.py [--models N] [--first NUMBER] [--kinds A,B] [--oldest OPSET] [--record FILE] [--keep FOLDER] [--coverage].

A model is drawn from its number, so that a finding can be drawn again (--first NUMBER --models 1 --keep FOLDER). Kinds of models and of
comparisons are the table KINDS. Each model is run as it is by ONNX Runtime, without its optimizations; a difference is a finding unless a
row of explained.py gives its reason. The last line counts; the exit status is 1 with findings.
"""
import argparse
import collections
import contextlib
import glob
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "e2e"), os.path.join(ROOT, "tests", "conformance"), os.path.join(ROOT, "python")]
for variable, file in (("QUARKQ_LIBRARY", "libquarkq.so"), ("QUARKQ_ORT_OPS_LIBRARY", "libquarkq_ort_ops.so")):
    os.environ.setdefault(variable, os.path.join(ROOT, "build", "release", file))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

import coverage  # noqa: E402
import differences  # noqa: E402
import explained  # noqa: E402
import model_forms  # noqa: E402
import node_cases  # noqa: E402
import quarkq  # noqa: E402
import random_graphs  # noqa: E402
import random_operators  # noqa: E402
import single_calls  # noqa: E402
import workers  # noqa: E402
from operators.builder import TypedBuilder  # noqa: E402

onnxruntime.set_default_logger_severity(4)
PRESETS = ["A8W8", "XINT8", "A16W8", "U8S8_AAWS", "S8S8_AAWS", "BF16", "MX9", "INT8_TRANSFORMER_DEFAULT", "UINT8_DYNAMIC_QUANT"]
BINARY = os.environ.get("QUARKQ", os.path.join(ROOT, "build/release/quarkq"))
PERTURBED = 1e-6  # relative change of inputs that shows how much a graph amplifies roundings
AMPLIFIED = 50.0  # so much of what it shows is allowed


TARGETS = ["x1", "x2", "winml", "vaiml-bf16", "gen2-vint8", "ort-cpu"]
LIKE_FLOAT = 0.9  # least cosine of an output that the program calls good, on the sample that calibrated it


class NotDrawn(Exception):
    """The draw is no model that both programs are asked to run; the text says why."""


class Declined(Exception):
    """A request that quarkq may decline, with a message and without a result."""


class Model:
    """A drawn model with its inputs and what ONNX Runtime makes of them."""

    def __init__(self, proto, feeds, ops):
        self.proto, self.feeds, self.ops = proto, feeds, ops
        self.bytes = proto.SerializeToString()
        self.outputs = [output.name for output in proto.graph.output]
        try:
            self.session = session(self.bytes)
            self.wanted = run_session(self.session, self.feeds)
        except Exception as error:
            raise NotDrawn(f"ONNX Runtime: {reason_of(error)}") from error


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if b"com.amd.quark" in model:
        options.register_custom_ops_library(os.environ["QUARKQ_ORT_OPS_LIBRARY"])
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_session(runner, feeds):
    names = [output.name for output in runner.get_outputs()]
    return dict(zip(names, (np.asarray(array) for array in runner.run(names, feeds))))


def run_rows(runner, feeds):
    """Like run_session(); a model whose batch was made 1 for a target gets one row after the other."""
    batches = {len(feeds[value.name]) for value in runner.get_inputs() if value.shape and value.shape[0] == 1 and feeds[value.name].ndim}
    if batches in (set(), {1}):
        return run_session(runner, feeds)
    rows = [run_session(runner, {name: array[i:i + 1] for name, array in feeds.items()}) for i in range(batches.pop())]
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def as_taken(runner, feeds):
    """The inputs as a quantized model takes them: settings of targets turn float16 into float32."""
    wide = {value.name for value in runner.get_inputs() if value.type == "tensor(float)"}
    return {name: array.astype(np.float32) if name in wide else array for name, array in feeds.items()}


def reason_of(error):
    """The kind of a refusal, short enough to be counted."""
    text = str(error)
    return "no kernel" if "NOT_IMPLEMENTED" in text else "refused"


def from_builder(b, ops):
    try:
        return Model(b.model("drawn"), b.feeds, ops)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise NotDrawn("the onnx library: invalid") from error


def draw_call(number):
    names = random_operators.names()
    name = names[number % len(names)]
    return from_builder(random_operators.single_call(name, number), [name])


def draw_chain(number, among=None):
    b = random_operators.chain_of_calls(among or random_operators.names(), number)
    return from_builder(b, sorted({node.op_type for node in b.nodes}))


def draw_network(number, rare=False):
    proto, shape = random_graphs.random_model(number, opset=[17, 17, 13, 14, 15, 16][number % 6], rare=rare)
    feeds = {"x": np.random.default_rng(number).uniform(-1, 1, shape).astype(np.float32)}
    return Model(proto, feeds, sorted({node.op_type for node in proto.graph.node}))


def draw_form(number):
    """A model in a form that means the same, which ONNX Runtime loads, too."""
    base = (draw_network, draw_chain, draw_network, draw_call)[number % 4](number)
    formed, done = model_forms.other_form(base.proto, number)
    if not done:
        raise NotDrawn("no other form")
    model = Model(formed, base.feeds, base.ops)
    if differences.first_difference(model.wanted, base.wanted):
        raise NotDrawn("another function")
    model.proto = base.proto  # what explained.py looks into
    return model


def draw_opset(number):
    """One call of any opset, and another opset to convert it to."""
    names = [name for name in random_operators.names() if ":" not in name]
    name, rng = names[number % len(names)], np.random.default_rng([number, 3])
    b = TypedBuilder([number, 3], int(rng.integers(random_operators.OLDEST_OPSET, random_operators.NEWEST_OPSET + 1)))
    if not random_operators.add_call(b, name):
        raise NotDrawn("the opset lacks it")
    model = from_builder(b, [name])
    model.other_opset = int(rng.integers(random_operators.OLDEST_OPSET, random_operators.NEWEST_OPSET + 1))
    return model


def archive_cases():
    """Folders of the operator tests of onnx: every operator, with and without its optional inputs."""
    problem = node_cases.make_node_cases()
    if problem:
        raise NotDrawn(problem)
    return sorted(glob.glob(os.path.join(node_cases.data_folder(), "node", "*")))


WALKED_OPSETS = range(7, 29)


def draw_case(number):
    """One case of the archive. In the order of the numbers each goes to every opset, through `optimize`, and through every preset."""
    cases = archive_cases()
    folder = cases[number % len(cases)]
    with open(os.path.join(folder, "model.onnx"), "rb") as file:
        proto = onnx.ModelProto.FromString(file.read())
    feeds = {}
    for i, value in enumerate(proto.graph.input):
        if not value.type.HasField("tensor_type"):
            raise NotDrawn("an input is no tensor")
        with open(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"), "rb") as file:
            feeds[value.name] = numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))
    return Model(proto, feeds, sorted({node.op_type for node in proto.graph.node}))


def compare_case(model, number):
    step = number // len(archive_cases())
    if step < len(WALKED_OPSETS):
        model.other_opset = WALKED_OPSETS[step]
        return compare_converted(model)
    step -= len(WALKED_OPSETS)
    try:
        if step > 0 and differences.first_difference(in_quarkq(model.bytes, model.feeds), model.wanted):
            raise Declined("run differs: tests/conformance/out_of_scope.txt has the reasons")
    except quarkq.QuarkqError as error:
        raise Declined("does not run: tests/conformance/out_of_scope.txt has the reasons") from error
    return compare_optimized(model) if step == 0 else compare_quantized(model, PRESETS[(step - 1) % len(PRESETS)])


def in_quarkq(model, feeds):
    return quarkq.run(model, [feeds], threads=1)[0]


def moved(array, rng):
    if array.dtype.kind != "f":
        return array
    with np.errstate(over="ignore"):  # masks hold the lowest number of their type
        return np.asarray(array * (1 + PERTURBED * rng.choice([-1, 1], array.shape)), array.dtype)


def with_moved_weights(proto, rng):
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for stored in changed.graph.initializer:
        stored.CopyFrom(numpy_helper.from_array(moved(numpy_helper.to_array(stored), rng), stored.name))
    return changed.SerializeToString()


def amplification(model):
    """{output: how far it moves when float inputs and weights do, hardly}, times what is allowed of it."""
    rng = np.random.default_rng(7)
    feeds = {name: moved(array, rng) for name, array in model.feeds.items()}
    slack = {}
    try:
        other = run_session(session(with_moved_weights(model.proto, rng)), feeds)
    except Exception:  # scales of a Resize decide shapes
        return slack
    for name, array in model.wanted.items():
        if array.dtype.kind == "f" and other[name].shape == array.shape:
            with np.errstate(invalid="ignore", over="ignore"):
                slack[name] = AMPLIFIED * np.nan_to_num(np.abs(other[name].astype(np.float64) - array.astype(np.float64)), nan=np.inf)
    return slack


def compare_run(model):
    """Results of `quarkq run`."""
    found = in_quarkq(model.bytes, model.feeds)
    difference = differences.first_difference(found, model.wanted)
    if difference and difference.kind == "values" and len(model.ops) > 1:
        difference = differences.first_difference(found, model.wanted, amplification(model))
    return difference


def check_written(model):
    """The onnx library's checker, which wants a shape of every input and output; ONNX and ONNX Runtime do not."""
    proto = onnx.ModelProto.FromString(model)
    if all(value.type.HasField("sequence_type") or value.type.tensor_type.HasField("shape") for value in (*proto.graph.input, *proto.graph.output)):
        onnx.checker.check_model(model, full_check=True)


def is_checked(model):
    """Whether the onnx library's checker accepts the model itself: it fails on some operators that ONNX Runtime runs."""
    try:
        check_written(model.bytes)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def compare_optimized(model):
    """What ONNX Runtime makes of the model after `quarkq optimize`."""
    with tempfile.TemporaryDirectory(prefix="quarkq-compare-") as folder:
        given, made = os.path.join(folder, "given.onnx"), os.path.join(folder, "made.onnx")
        with open(given, "wb") as file:
            file.write(model.bytes)
        with declining("(op_type:Scan)"):
            quarkq.optimize(given, made, threads=1)
        with open(made, "rb") as file:
            optimized = file.read()
    if is_checked(model):
        check_written(optimized)
    found = run_session(session(optimized), model.feeds)
    difference = differences.first_difference(found, model.wanted)
    return difference and differences.first_difference(found, model.wanted, amplification(model))


@contextlib.contextmanager
def declining(*texts):
    """Refusals that say one of these texts are answers."""
    try:
        yield
    except quarkq.QuarkqError as error:
        reason = next((text for text in texts if text in str(error)), None)
        if reason is None:
            raise
        raise Declined(reason) from error


def quantize(model, preset, **more):
    """The report of a quantization, whose result has the interface of the float model."""
    with declining("is quantized already", "has no kernel", "needs opset", "contain NaN", "(op_type:Scan)"):
        report = quarkq.quantize(model.bytes, config=preset, data=[model.feeds], threads=1, **more)
    made = onnx.ModelProto.FromString(report.joined or report.model).graph
    for kind in ("input", "output"):
        names = [[value.name for value in getattr(graph, kind)] for graph in (made, onnx.ModelProto.FromString(model.bytes).graph)]
        stored = {one.name for one in made.initializer} if kind == "input" else set()
        if [name for name in names[0] if name not in stored] != [name for name in names[1] if name in model.feeds or kind == "output"]:
            raise AssertionError(f"{kind}s are {names[0]}, expected {names[1]}")
    return report


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-30))


def compare_placed(model, number):
    """What a target's settings make of it loads in ONNX Runtime, and is like the float model where the program says so."""
    target, preset = TARGETS[number % len(TARGETS)], (None, *PRESETS)[number // len(TARGETS) % (len(PRESETS) + 1)]
    with declining("target"):
        report = quantize(model, preset, target=target)
    check_written(report.model)
    whole = report.joined or report.model
    if b"com.amd.quark" in whole:
        return None
    if report.joined:
        check_written(report.joined)
    found = run_rows(session(whole), model.feeds)
    for name, array in model.wanted.items():
        if report.grade != "good" or array.dtype.kind != "f" or not np.isfinite(array).all() or np.abs(array).max(initial=0) < 1e-3:
            continue
        if cosine(found[name], array) < LIKE_FLOAT:
            return differences.Difference(name, "values", f"{preset} for {target}: good, cosine of {name} is {cosine(found[name], array):.4f}")
    return None


def compare_quantized(model, preset):
    """The quantized model: it loads in ONNX Runtime, and both programs make the same of it, up to single steps."""
    quantized = quantize(model, preset).model
    if is_checked(model):
        check_written(quantized)
    runner = session(quantized)
    feeds = as_taken(runner, model.feeds)
    wanted = run_session(runner, feeds)
    with declining("has no kernel"):
        found = in_quarkq(quantized, feeds)
    for name, array in wanted.items():
        if found[name].shape != array.shape or found[name].dtype != array.dtype:
            return differences.first_difference(found, wanted)
        if array.dtype.kind != "f" or not np.isfinite(array).all() or np.abs(array).max(initial=0) < 1e-3:
            continue
        alike = cosine(found[name], array)
        if alike <= 0.99:
            return differences.Difference(name, "values", f"{preset}: cosine of {name} is {alike:.5f}", 1 - alike)
    return None


def compare_converted(model):
    """What ONNX Runtime makes of the model in another opset. Types that its kernels of an old opset lack are no matter of the conversion."""
    try:
        made = quarkq.convert(model.bytes, in_memory=True, passes=[f"convert-opset-version:version={model.other_opset}"]).model
    except quarkq.ModelError as error:
        raise Declined("not converted") from error
    try:
        found = run_session(session(made), model.feeds)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):
            raise Declined("ONNX Runtime: no kernel in that opset") from error
        raise
    return differences.first_difference(found, model.wanted)


def compare_form(model, number):
    """The form as it is, after `optimize`, and quantized: in turn."""
    turn = number // 4 % 3
    if turn == 0:
        return compare_run(model)
    if turn == 1:
        return compare_optimized(model)
    return compare_quantized(model, PRESETS[number // 12 % len(PRESETS)])


def compare_rare(model, number):
    """Float16 islands and masks, through `run`, the presets, and the targets in turn."""
    turn = number % 4
    if turn == 0:
        return compare_run(model)
    return compare_placed(model, number // 4) if turn == 1 else compare_quantized(model, PRESETS[number // 4 % len(PRESETS)])


# kind: (draw, compare, share)
KINDS = {
    "call": (draw_call, lambda model, _: compare_run(model), 50),
    "chain": (draw_chain, lambda model, _: compare_run(model), 20),
    "network": (draw_network, lambda model, _: compare_run(model), 10),
    "optimized": (lambda number: (draw_network, draw_chain)[number % 2](number), lambda model, _: compare_optimized(model), 10),
    "form": (draw_form, compare_form, 12),
    "placed": (draw_network, compare_placed, 12),
    "opset": (draw_opset, lambda model, _: compare_converted(model), 12),
    "rare": (lambda number: draw_network(number, rare=True), compare_rare, 12),
    "archive": (draw_case, compare_case, 12),
    "quantized": (draw_network, lambda model, number: compare_quantized(model, PRESETS[number // 7 % len(PRESETS)]), 10),
}


def kind_of(number, kinds):
    order = [kind for kind in kinds for _ in range(KINDS[kind][2])]
    return order[number * 37 % len(order)]


def outcome_of(number, kinds, keep=""):
    """{"kind", "ops", "outcome", "text"} of one number."""
    kind = kind_of(number, kinds)
    draw, compare, _ = KINDS[kind]
    try:
        model = draw(number)
    except NotDrawn as reason:
        return {"kind": kind, "ops": [], "outcome": str(reason), "text": ""}
    if keep:
        onnx.save(model.proto, os.path.join(keep, f"{number}.onnx"))
        np.savez(os.path.join(keep, f"{number}.npz"), **model.feeds)
    try:
        difference = compare(model, number)
    except Declined as reason:
        return {"kind": kind, "ops": [], "outcome": str(reason), "text": ""}
    except Exception as error:  # a refusal, or a result that ONNX Runtime or the checker refuses
        difference = differences.Difference("", "refused", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    calls = coverage.calls_of(model.proto)
    if difference is None:
        return {"kind": kind, "ops": model.ops, "calls": calls, "outcome": "agrees", "text": ""}
    row = explained.find(model, difference)
    reason = row.id if row else single_calls.CARRIED if single_calls.explains(model, difference, in_quarkq, session) else ""
    return {"kind": kind, "ops": model.ops, "calls": calls, "outcome": f"explained: {reason}" if reason else "finding", "text": difference.text}


class Tally:
    def __init__(self):
        self.kinds = collections.defaultdict(collections.Counter)
        self.ops = collections.Counter()
        self.calls = collections.Counter()  # by operator and type
        self.findings = []

    def add(self, number, result):
        if isinstance(result, workers.Died):
            self.findings.append(f"model {number}: {result}")
            return
        self.kinds[result["kind"]][result["outcome"]] += 1
        if result["outcome"] == "agrees" or result["outcome"].startswith("explained"):
            self.ops.update(result["ops"])
            self.calls.update(result["calls"])
        if result["outcome"] == "finding":
            self.findings.append(f"model {number}, {result['kind']} of {' '.join(result['ops'])}: {result['text']}")

    def compared(self):
        return sum(count for outcomes in self.kinds.values() for outcome, count in outcomes.items()
                   if outcome in ("agrees", "finding") or outcome.startswith("explained"))

    def record(self, arguments, seconds):
        return {"first": arguments.first, "drawn": arguments.models, "compared": self.compared(), "findings": len(self.findings),
                "onnxruntime": onnxruntime.__version__, "CPU seconds": round(seconds),
                "kinds": {kind: dict(sorted(outcomes.items())) for kind, outcomes in sorted(self.kinds.items())},
                "operators": dict(sorted(self.ops.items())), "types": coverage.by_operator(self.calls)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--oldest", type=int, default=0, help="oldest opset of calls and chains that are drawn")
    parser.add_argument("--record", default="")
    parser.add_argument("--keep", default="", help="folder for the models and their inputs")
    parser.add_argument("--coverage", action="store_true", help="also print which operators and types are never or seldom compared")
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    random_operators.draw_from(arguments.oldest)
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    tally = Tally()
    numbers = list(range(arguments.first, arguments.first + arguments.models))
    for number, result in workers.run_numbers(lambda one: outcome_of(one, kinds, arguments.keep), numbers):
        tally.add(number, result)
        if tally.findings and not isinstance(result, workers.Died) and result["outcome"] == "finding" or isinstance(result, workers.Died):
            print(tally.findings[-1], flush=True)
    record = tally.record(arguments, workers.cpu_seconds())
    if arguments.record:
        with open(arguments.record, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    if arguments.coverage:
        print(*coverage.report(record["types"], record["drawn"], coverage.operators_with_kernels(BINARY)), sep="\n")
    print(f"{record['drawn']} models drawn, {record['compared']} compared, {record['findings']} findings, {record['CPU seconds']} CPU seconds")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
