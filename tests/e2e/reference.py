# SPDX-License-Identifier: MIT
"""What the end-to-end tests compare with: ONNX Runtime's results, and small models made for a test."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness import QUARKQ, ROOT, Failure, expect, shared

MODELS = ["squeezenet1_1", "mobilenetv1_025_vww_96", "resnet8_cifar10", "superres_x3", "efficientnet_lite0_224", "ultraface_rfb_320",
          "nanodet_m_416"]
# All shared models; the tests on quantized results take those above, which every step from the first on could run.
ALL_MODELS = ["char_gpt", "deeplabv3_mnv2_voc_257", "efficientnet_lite0_224", "fastestdet_352", "grid_detector", "gtcrn_stream",
              "lstr_360x640", "mlsd_tiny_320", "mobilenetv1_025_vww_96", "mobilenetv3_digits", "mobilenetv3_digits_fp16",
              "nanodet_m_416", "ppocrv3_det", "resnet8_cifar10", "silero_vad_16k", "squeezenet1_1", "style_candy_256",
              "superres_x3", "tbefn_240x320", "ultraface_rfb_320", "vit_cifar10_ibp_3_3_8", "vit_digits"]
# The operators of com.amd.quark for ONNX Runtime.
LIBRARY = os.environ.get("QUARKQ_ORT_OPS", os.path.join(os.path.dirname(QUARKQ), "libquarkq_ort_ops.so"))
DIGITS = os.path.join(ROOT, "examples", "digits")


def adds_products_exactly():
    """Whether this processor adds products of uint8 and int8 in 32 bits. Without VNNI, ONNX Runtime adds pairs of them in 16 bits,
    which saturate."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return True
    return "vnni" in text or "avx2" not in text


def session(model, optimize=True):
    """Where sums of integer products are not exact, Q/DQ nodes are run as they stand, around float operators."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    if not adds_products_exactly():
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def load_samples(folder, inputs):
    """{file name: {input: array}} of an input folder, in file order."""
    folders = {name: os.path.join(folder, name.replace("/", "_").replace(":", "_")) for name in inputs}
    if len(inputs) == 1 and not os.path.isdir(folders[inputs[0]]):
        folders = {inputs[0]: folder}
    files = sorted(entry for entry in os.listdir(folders[inputs[0]]) if entry.endswith(".npy"))
    expect(files, f"{folder} holds no samples")
    return {file: {name: np.load(os.path.join(folders[name], file)) for name in inputs} for file in files}


def onnxruntime_results(model, folder, optimize=True):
    """{file: {output: array}} of the model over an input folder."""
    runner = session(model, optimize)
    outputs = [output.name for output in runner.get_outputs()]
    samples = load_samples(folder, [one.name for one in runner.get_inputs()])
    return {file: dict(zip(outputs, runner.run(outputs, feeds))) for file, feeds in samples.items()}


def read_results(folder, outputs, files):
    """What `quarkq run` wrote, in the form of onnxruntime_results()."""
    results = {}
    for file in files:
        results[file] = {}
        for name in outputs:
            own = os.path.join(folder, name.replace("/", "_").replace(":", "_")) if len(outputs) > 1 else folder
            path = os.path.join(own, file)
            if not os.path.exists(path):
                raise Failure(f"no result {os.path.relpath(path, folder)} was written")
            results[file][name] = np.load(path)
    return results


def results_like(folder, wanted):
    first = next(iter(wanted.values()))
    return read_results(folder, list(first), list(wanted))


def cosine(a, b):
    a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    return 1.0 if norm == 0 and np.array_equal(a, b) else float(a @ b / norm) if norm else 0.0


def mean_cosines(results, wanted):
    """{output: mean over the samples of the cosine}, float outputs only."""
    first = next(iter(wanted.values()))
    names = [name for name, value in first.items() if value.dtype.kind == "f"]
    return {name: float(np.mean([cosine(results[file][name], wanted[file][name]) for file in wanted])) for name in names}


def folder_bytes(folder):
    """{path inside: bytes} of every file."""
    found = {}
    for parent, _, files in os.walk(folder):
        for file in files:
            with open(os.path.join(parent, file), "rb") as data:
                found[os.path.relpath(os.path.join(parent, file), folder)] = data.read()
    return found


def expect_same_bytes(folder_a, folder_b, what):
    """Both folders hold the same files with the same bytes."""
    a, b = folder_bytes(folder_a), folder_bytes(folder_b)
    expect(a, f"{what}: nothing was written")
    expect(a.keys() == b.keys(), f"{what}: different files, {sorted(a)} and {sorted(b)}")
    for name in a:
        expect(a[name] == b[name], f"{what}: {name} differs")


def expect_same_file(path_a, path_b, what):
    with open(path_a, "rb") as a, open(path_b, "rb") as b:
        expect(a.read() == b.read(), f"{what}: {os.path.basename(path_a)} and {os.path.basename(path_b)} differ")


def check_model(path):
    """onnx.checker with full checks, and loadable in ONNX Runtime with its default optimizations."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:
        raise Failure(f"onnx.checker refuses {os.path.basename(path)}: {error}") from error
    try:
        return session(path)
    except Exception as error:
        raise Failure(f"ONNX Runtime refuses {os.path.basename(path)}: {error}") from error


def shared_model(name):
    return shared("models", name + ".onnx")


def weights(name, *shape, seed=3):
    values = np.random.default_rng(seed + len(name)).standard_normal(shape) * 0.3
    return numpy_helper.from_array(values.astype(np.float32), name)


def make_model(nodes, inputs, outputs, initializers=(), opset=17, **extra):
    """A model from nodes, [(name, shape)] of float inputs and outputs, and initializers."""
    def infos(entries):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in entries]
    graph = helper.make_graph(nodes, "test", infos(inputs), infos(outputs), list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **extra)
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def conv_model():
    """x [1, 3, 8, 8] -> Conv -> Relu -> y [1, 4, 8, 8]."""
    return make_model([helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
                       helper.make_node("Relu", ["c"], ["y"], name="relu")],
                      [("x", [1, 3, 8, 8])], [("y", [1, 4, 8, 8])], [weights("w", 4, 3, 3, 3)])


def save_samples(folder, count=4, shape=(1, 3, 8, 8), seed=11):
    """`count` random samples in 0..1 as .npy files."""
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(seed)
    for index in range(count):
        np.save(os.path.join(folder, f"{index:04d}.npy"), rng.random(shape, dtype=np.float32))
    return folder
