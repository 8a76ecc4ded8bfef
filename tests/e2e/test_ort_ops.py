# SPDX-License-Identifier: MIT
"""libquarkq_ort_ops.so in ONNX Runtime against `quarkq run`: models of one operator bit for bit, whole models closely."""
import os
import shutil
import subprocess
import threading

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import harness
from harness import Skip, expect, expect_equal, quantize, run_model, shared, temp_folder, test
from reference import LIBRARY, check_model, load_samples, mean_cosines, onnxruntime_results, results_like, shared_model

QUARK, VITIS = "com.amd.quark", "com.vai.quantize"
OPSET = 17
SHAPES = [(5,), (1,), (2, 37), (3, 1, 9), (2, 17, 5, 3), (2, 0, 3)]
SPECIALS = [np.nan, np.inf, -np.inf, -0.0, 1e-45, -3e-39, 3.4028235e38, 1.17549435e-38, 65519.0, -0.5, 0.5, 1.5]


def session(model, entries=()):
    """A session with the library, of a path or a ModelProto."""
    if not os.path.exists(LIBRARY):
        raise Skip(f"{os.path.basename(LIBRARY)} was not built (no ONNX Runtime headers: third_party/onnxruntime/fetch_headers.sh)")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    for key, value in entries:
        options.add_session_config_entry(key, value)
    options.register_custom_ops_library(LIBRARY)
    return onnxruntime.InferenceSession(model if isinstance(model, str) else model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def sample(shape, seed=1, dtype=np.float32):
    """Values of all magnitudes with every special one among them."""
    random = np.random.default_rng(seed)
    values = random.standard_normal(shape) * np.exp2(random.integers(-12, 12, shape))
    flat = values.reshape(-1)
    for i, special in enumerate(SPECIALS):
        if flat.size > 20:
            flat[(i * 7 + 3) % flat.size] = special
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def model_of(nodes, inputs, outputs, constants=(), domain=QUARK):
    graph = helper.make_graph(nodes, "one", [helper.make_tensor_value_info(*one) for one in inputs],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs], list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(domain, 1)])
    model.ir_version = 8
    return model


def one_operator(op, shape, kind=TensorProto.FLOAT, domain=QUARK, **attributes):
    node = helper.make_node(op, ["x"], ["y"], name="only", domain=domain, **attributes)
    return model_of([node], [("x", kind, shape)], [("y", kind)], domain=domain)


def expect_same_bits(model, feeds, what, entries=()):
    """ONNX Runtime with the library and `quarkq run` give the same bytes for one sample."""
    runner = session(model, entries)
    names = [output.name for output in runner.get_outputs()]
    found = dict(zip(names, runner.run(names, feeds)))
    with temp_folder() as folder:
        path, inputs, outputs = (os.path.join(folder, name) for name in ("m.onnx", "in", "out"))
        onnx.save(model, path)
        for name, value in feeds.items():
            own = inputs if len(feeds) == 1 else os.path.join(inputs, name)
            os.makedirs(own, exist_ok=True)
            np.save(os.path.join(own, "0.npy"), value)
        run_model(path, inputs, outputs)
        wanted = results_like(outputs, {"0.npy": found})["0.npy"]
    for name in names:
        expect_equal(found[name].shape, wanted[name].shape, f"{what}: shape of {name}")
        differs = np.frombuffer(found[name].tobytes(), np.uint8) != np.frombuffer(wanted[name].tobytes(), np.uint8)
        expect(not differs.any(), f"{what}: {name} differs from quarkq run in {int(differs.sum())} bytes of {differs.size}")


# ---- one operator ---------------------------------------------------------------------------------------------------------------

BFP = [
    ("to_bfp", {"bit_width": 16, "block_size": 8}),
    ("to_bfp, 12 bits", {"bit_width": 12, "block_size": 3}),
    ("to_bfp, bfloat16 first", {"bit_width": 16, "block_size": 8, "convert_to_bfloat_before_bfp": 1}),
    ("to_bfp, compiler", {"bit_width": 16, "block_size": 8, "use_compiler_version_cpu_kernel": 1}),
    ("mx4", {"bfp_method": "to_bfp_prime", "bit_width": 11, "block_size": 16, "sub_block_size": 2, "sub_block_shift_bits": 1}),
    ("mx6", {"bfp_method": "to_bfp_prime", "bit_width": 13, "block_size": 16, "sub_block_size": 2, "sub_block_shift_bits": 1}),
    ("mx9", {"bfp_method": "to_bfp_prime_shared", "bit_width": 16, "block_size": 16, "sub_block_size": 2, "sub_block_shift_bits": 1}),
]
MX = [(element, {"element_dtype": element, "block_size": 32})
      for element in ("fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8")]
BLOCKS = ([("BFPQuantizeDequantize " + name, "BFPQuantizeDequantize", QUARK, attributes) for name, attributes in BFP] +
          [("MXQuantizeDequantize " + name, "MXQuantizeDequantize", QUARK, attributes) for name, attributes in MX] +
          [("BFPFixNeuron", "BFPFixNeuron", VITIS, BFP[0][1]), ("MXFixNeuron", "MXFixNeuron", VITIS, MX[0][1])])


@test(cases=BLOCKS)
def block_formats_agree(case):
    """Every rounding mode, axes from both ends, odd lengths, float16, and the defaults."""
    _, op, domain, attributes = case
    for rounding in (0, 1, 2):
        for number, shape in enumerate(SHAPES):
            axis = (1, -1, 0)[(rounding + number) % 3]
            model = one_operator(op, shape, domain=domain, axis=axis, rounding_mode=rounding, **attributes)
            expect_same_bits(model, {"x": sample(shape, number)}, f"shape {shape}, axis {axis}, mode {rounding}")
    half = one_operator(op, (3, 37), TensorProto.FLOAT16, domain, rounding_mode=2, **attributes)
    expect_same_bits(half, {"x": sample((3, 37), dtype=np.float16)}, "float16")
    expect_same_bits(one_operator(op, (3, 37), domain=domain), {"x": sample((3, 37))}, "default attributes")


CODES = {"INT8": (-3, 1), "UINT8": (128, 1), "INT16": (7, 1), "UINT16": (32768, 1), "INT32": (0, 1), "UINT32": (5, 1), "FLOAT16": (0, 0),
         "BFLOAT16": (0, 0)}  # type -> zero point, and whether the codes are an output, too (numpy has no bfloat16)


def quantize_dequantize(kind, zero, shape, axis=None, names=("ExtendedQuantizeLinear", "ExtendedDequantizeLinear"), domain=QUARK):
    code = TensorProto.DataType.Value(kind)
    dims = [] if axis is None else [shape[axis]]
    count = 1 if axis is None else shape[axis]
    scales = [0.125 * (i % 5 + 1) for i in range(count)]
    constants = [helper.make_tensor("scale", TensorProto.FLOAT, dims, scales), helper.make_tensor("zero", code, dims, [zero] * count)]
    attributes = {} if axis is None else {"axis": axis}
    nodes = [helper.make_node(names[0], ["x", "scale", "zero"], ["q"], name="q", domain=domain, **attributes),
             helper.make_node(names[1], ["q", "scale", "zero"], ["y"], name="dq", domain=domain, **attributes)]
    outputs = [("y", TensorProto.FLOAT)] + ([("q", code)] if CODES[kind][1] else [])
    return model_of(nodes, [("x", TensorProto.FLOAT, shape)], outputs, constants, domain)


@test(cases=list(CODES))
def quantize_linear_agrees(kind):
    zero = CODES[kind][0]
    for number, shape in enumerate(SHAPES):
        expect_same_bits(quantize_dequantize(kind, zero, shape), {"x": sample(shape, number)}, f"shape {shape}")
        for axis in range(len(shape)) if 0 not in shape else ():
            expect_same_bits(quantize_dequantize(kind, zero, shape, axis), {"x": sample(shape, number)}, f"shape {shape}, axis {axis}")
    old = quantize_dequantize(kind, zero, (3, 7), 1, ("VitisQuantizeLinear", "VitisDequantizeLinear"), VITIS)
    expect_same_bits(old, {"x": sample((3, 7))}, "old names")


@test(cases=[("ExtendedInstanceNormalization", QUARK), ("VitisInstanceNormalization", VITIS)])
def instance_normalization_agrees(case):
    op, domain = case
    for shape in ((2, 3, 5), (1, 4, 7, 3)):
        random = np.random.default_rng(2)
        constants = [numpy_helper.from_array(random.standard_normal(shape[1]).astype(np.float32), name) for name in ("scale", "bias")]
        node = helper.make_node(op, ["x", "scale", "bias"], ["y"], name="norm", domain=domain, epsilon=1e-3)
        model = model_of([node], [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT)], constants, domain)
        expect_same_bits(model, {"x": random.standard_normal(shape).astype(np.float32)}, f"shape {shape}")


@test()
def lstm_agrees():
    steps, inputs, hidden = 5, 3, 4
    random = np.random.default_rng(3)
    shapes = {"w": (2, 4 * hidden, inputs), "r": (2, 4 * hidden, hidden), "b": (2, 8 * hidden)}
    constants = [numpy_helper.from_array(random.uniform(-1, 1, shape).astype(np.float32), name) for name, shape in shapes.items()]
    sides = {f"{side}_scale": 2.0 / 65535 for side in "xwrby"} | {f"{side}_zero_point": 32768 for side in "xwrby"}
    node = helper.make_node("ExtendedLSTM", ["x", "w", "r", "b"], ["y"], name="lstm", domain=QUARK, hidden_size=hidden, **sides)
    model = model_of([node], [("x", TensorProto.FLOAT, (steps, 1, inputs))], [("y", TensorProto.FLOAT)], constants)
    expect_same_bits(model, {"x": random.uniform(-1, 1, (steps, 1, inputs)).astype(np.float32)}, "bidirectional")


@test(cases=["ExtendedQuantizeLinear", "BFPQuantizeDequantize"])
def unknown_shapes_stay_unknown(op):
    """Behind a Reshape whose shape is an input nothing is known: no operator may state a scalar, or a Conv does not load."""
    weight = numpy_helper.from_array(np.random.default_rng(4).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    constants = [numpy_helper.from_array(np.float32(1), "s"), helper.make_tensor("z", TensorProto.BFLOAT16, [], [0]), weight]
    reshape = helper.make_node("Reshape", ["x", "shape"], ["r"])
    between = [helper.make_node(op, ["r", "s", "z"], ["q"], domain=QUARK),
               helper.make_node("ExtendedDequantizeLinear", ["q", "s", "z"], ["d"], domain=QUARK)]
    if op == "BFPQuantizeDequantize":
        between = [helper.make_node(op, ["r"], ["d"], domain=QUARK, axis=1, bit_width=16, block_size=8, bfp_method="to_bfp")]
    model = model_of([reshape, *between, helper.make_node("Conv", ["d", "w"], ["y"])],
                     [("x", TensorProto.FLOAT, (1, 192)), ("shape", TensorProto.INT64, ("k",))], [("y", TensorProto.FLOAT)], constants)
    found = session(model).run(None, {"x": np.ones((1, 192), np.float32), "shape": np.array([1, 3, 8, 8])})[0]
    expect_equal(found.shape, (1, 4, 6, 6), "shape of the result")
    if op == "BFPQuantizeDequantize":
        return  # takes no scalars
    scalar = model_of(between, [("r", TensorProto.FLOAT, ())], [("d", TensorProto.FLOAT)], constants)
    expect_equal(session(scalar).run(None, {"r": np.array(1.5, np.float32)})[0].shape, (), "shape of a scalar")


# Dims of x as a model may state them; None: no size and no name.
DYNAMIC = [("unknown dims", [None, 4]), ("one name", ["N", 4]), ("a name and an unknown dim", ["N", None]), ("names", ["N", "M"]),
           ("unknown rank", None)]
PAIRS = {"ExtendedQuantizeLinear": [helper.make_node("ExtendedQuantizeLinear", ["r", "s", "z"], ["q"], domain=QUARK),
                                    helper.make_node("ExtendedDequantizeLinear", ["q", "s", "z"], ["d"], domain=QUARK)],
         "BFPQuantizeDequantize": [helper.make_node("BFPQuantizeDequantize", ["r"], ["d"], domain=QUARK, axis=1, bit_width=16,
                                                    block_size=8, bfp_method="to_bfp")]}


@test(cases=[(f"{what}, {op}", dims, op) for what, dims in DYNAMIC for op in PAIRS])
def dynamic_shapes_load_and_run(case):
    """Operators whose shape inference needs dims (MatMul, Concat, Expand) stand after ours."""
    _, dims, op = case
    constants = [numpy_helper.from_array(np.float32(1), "s"), helper.make_tensor("z", TensorProto.BFLOAT16, [], [0]),
                 numpy_helper.from_array(np.random.default_rng(6).standard_normal((4, 5)).astype(np.float32), "w")]
    constants = constants if op == "ExtendedQuantizeLinear" else constants[2:]
    nodes = [helper.make_node("Relu", ["x"], ["r"]), *PAIRS[op], helper.make_node("MatMul", ["d", "w"], ["m"]),
             helper.make_node("Concat", ["m", "d"], ["c"], axis=1), helper.make_node("Shape", ["d"], ["k"]),
             helper.make_node("Expand", ["d", "k"], ["e"])]
    model = model_of(nodes, [("x", TensorProto.FLOAT, dims)], [("c", TensorProto.FLOAT), ("e", TensorProto.FLOAT)], constants)
    for rows in (1, 3, 7):
        expect_same_bits(model, {"x": sample((rows, 4), rows)}, f"{rows} rows")
    exposed = model_of(nodes, [("x", TensorProto.FLOAT, dims)], [("d", TensorProto.FLOAT)], constants)
    stated = session(exposed).get_outputs()[0].shape
    if dims is not None and None not in dims:
        expect_equal(stated, dims, "stated dims")
    expect(all(isinstance(dim, str) or dim is None or dim >= 0 for dim in stated), f"stated dims are {stated}")


@test(cases=list(PAIRS))
def shapes_that_data_decide_load_and_run(op):
    """What NonZero finds has a dim without size and name; in a branch of If, too."""
    constants = [numpy_helper.from_array(np.float32(1), "s"), helper.make_tensor("z", TensorProto.BFLOAT16, [], [0])]
    constants = constants if op == "ExtendedQuantizeLinear" else []
    body = [helper.make_node("NonZero", ["x"], ["n"]), helper.make_node("Cast", ["n"], ["r"], to=TensorProto.FLOAT), *PAIRS[op],
            helper.make_node("Transpose", ["d"], ["y"], perm=[1, 0])]
    x = sample((5, 4))
    x[1] = 0
    inputs, outputs = [("x", TensorProto.FLOAT, ("N", 4))], [("y", TensorProto.FLOAT)]
    expect_same_bits(model_of(body, inputs, outputs, constants), {"x": x}, op)
    branch = helper.make_graph(body, "then", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "else", [],
                              [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)])
    choose = [helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0), helper.make_node("Constant", [], ["zero"], value_float=0.0),
              helper.make_node("Greater", ["most", "zero"], ["yes"]),
              helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=other)]
    x = np.abs(np.nan_to_num(x, posinf=1, neginf=1))
    for feed in (x, -x):
        expect_same_bits(model_of(choose, inputs, outputs), {"x": feed}, f"{op} in a branch")


# ---- errors, threads ------------------------------------------------------------------------------------------------------------

BAD = [  # what, model, words of the message; the last axis is checked when the model runs, its shape is not known before
    ("bit_width", lambda: one_operator("BFPQuantizeDequantize", (2, 8), bit_width=99), "bit_width is 99"),
    ("block_size", lambda: one_operator("BFPQuantizeDequantize", (2, 8), block_size=-1), "block_size is -1"),
    ("bfp_method", lambda: one_operator("BFPQuantizeDequantize", (2, 8), bfp_method="to_nowhere"), "'to_nowhere'"),
    ("element_dtype", lambda: one_operator("MXQuantizeDequantize", (2, 8), element_dtype="fp3"), "'fp3'"),
    ("axis", lambda: one_operator("MXQuantizeDequantize", (2, 8), axis=2), "axis 2"),
    ("axis of an unknown shape", lambda: one_operator("MXQuantizeDequantize", ("N", "M"), axis=7), "axis 7"),
    ("lstm", lambda: model_of([helper.make_node("ExtendedLSTM", list("xwrb"), ["y"], name="only", domain=QUARK)],
                              [(name, TensorProto.FLOAT, None) for name in "xwrb"], [("y", TensorProto.FLOAT)]), "hidden_size"),
    ("scales", lambda: bad_scales(), "3 scales for an axis of length 8"),
]


def bad_scales():
    constants = [helper.make_tensor("s", TensorProto.FLOAT, [3], [1.0] * 3), helper.make_tensor("z", TensorProto.INT8, [3], [0] * 3)]
    node = helper.make_node("ExtendedQuantizeLinear", ["x", "s", "z"], ["y"], name="only", domain=QUARK, axis=1)
    return model_of([node], [("x", TensorProto.FLOAT, (2, 8))], [("y", TensorProto.INT8)], constants)


@test(cases=BAD)
def bad_attributes_are_named(case):
    _, make, words = case
    try:
        runner = session(make())
        runner.run(None, {one.name: np.zeros((2, 8), np.float32) for one in runner.get_inputs()})
    except Skip:
        raise
    except Exception as error:  # ONNX Runtime has a class for each of its codes
        expect(words in str(error), f"the message is '{error}', '{words}' expected in it")
        expect("only" in str(error), f"the message '{error}' does not name the node")
        return
    expect(False, "no error was raised")


@test()
def threads_are_a_session_entry():
    shape = (2, 64, 40, 41)
    model = one_operator("BFPQuantizeDequantize", shape, bit_width=16, block_size=8, axis=1)
    for count in ("1", "2", "4"):
        expect_same_bits(model, {"x": sample(shape)}, f"{count} threads", [("quarkq.threads", count)])
    for wrong in ("0", "-2", "many", "1.5", "9" * 40):
        try:
            session(model, [("quarkq.threads", wrong)])
        except Skip:
            raise
        except Exception as error:
            expect("quarkq.threads" in str(error), f"'{wrong}': the message is '{error}'")
            continue
        expect(False, f"quarkq.threads '{wrong}' was taken")


@test()
def one_session_runs_several_at_once():
    """Shapes that change, from four threads: each gets what it gets alone."""
    model = one_operator("MXQuantizeDequantize", ("N", "M"), element_dtype="int8", block_size=32, axis=1)
    runner = session(model)
    samples = [sample((3 + i % 5, 1000 + 17 * i), i) for i in range(24)]
    wanted = [runner.run(None, {"x": one})[0] for one in samples]
    wrong = []

    def work(first):
        for i in list(range(first, len(samples), 4)) * 20:
            if not np.array_equal(runner.run(None, {"x": samples[i]})[0], wanted[i], equal_nan=True):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, f"samples {sorted(set(wrong))} came out differently")


@test()
def exports_one_function():
    if shutil.which("nm") is None:
        raise Skip("nm is not installed")
    if not os.path.exists(LIBRARY):
        raise Skip(f"{os.path.basename(LIBRARY)} was not built")
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    expect_equal([line.split()[-1] for line in listed.splitlines()], ["RegisterCustomOps"], "exported names")


@test()
def the_default_build_has_the_library():
    fetched = os.path.join(harness.ROOT, "build", "deps", "onnxruntime", "include", "onnxruntime_c_api.h")
    if not os.path.exists(fetched):
        raise Skip("ONNX Runtime's headers could not be fetched")
    expect(os.path.exists(LIBRARY), f"{LIBRARY} is not there, although the headers are")


# ---- whole models ---------------------------------------------------------------------------------------------------------------

WIDE = ["--set", "quant_format=ExtendedQuantFormat.QDQ", "--set"]
VARIANTS = [("bf16",), ("bfp16",), ("mx4",), ("mx6",), ("mx9",), ("mxfp4e2m1",), ("mxfp6e3m2",), ("mxfp8e4m3",), ("mxint8",), ("fp16",),
            ("bf16_mixed_bfp16",), ("xint8", *WIDE[:2]), ("s8s8_aaws", *WIDE, "activation_type=ExtendedQuantType.QInt32"),
            ("a16w8", *WIDE, "weight_type=ExtendedQuantType.QInt16"), ("a16w8", *WIDE, "weight_type=ExtendedQuantType.QInt32")]
MODELS = ["resnet8_cifar10", "superres_x3"]
DYNAMIC_MODELS = ["char_gpt", "vit_cifar10_ibp_3_3_8", "silero_vad_16k"]  # dims that are known when they run, in If as well
CASES = [(f"{name}-{'-'.join(variant[0::2])}", name, variant) for name in MODELS for variant in VARIANTS]
CASES += [(f"{name}-{preset}", name, (preset,)) for name in DYNAMIC_MODELS for preset in ("bf16", "bfp16")]
MIN_COSINE = 0.9999


def without_types(model, path):
    """The model without what it says of inner tensors: ONNX Runtime then asks each operator."""
    proto = onnx.load(model)
    del proto.graph.value_info[:]
    onnx.save(proto, path)
    return path


@test(cases=CASES)
def models_agree(case):
    """As close as two executors get whose convolutions add in different orders."""
    _, name, (preset, *more) = case
    with temp_folder() as folder:
        model, results = os.path.join(folder, "q.onnx"), os.path.join(folder, "results")
        inputs = shared("golden", "inputs", name, "eval")
        quantize(shared_model(name), model, shared("golden", "inputs", name, "calib"), preset, *more)
        if name in DYNAMIC_MODELS:
            session(model)
            model = without_types(model, os.path.join(folder, "untyped.onnx"))
        runner = session(model)
        names = [output.name for output in runner.get_outputs()]
        feeds = load_samples(inputs, [one.name for one in runner.get_inputs()])
        wanted = {file: dict(zip(names, runner.run(names, feed))) for file, feed in feeds.items()}
        run_model(model, inputs, results)
        cosines = mean_cosines(results_like(results, wanted), wanted)
        nodes = sum(node.domain == QUARK for node in onnx.load(model).graph.node)
    lowest = min(cosines.values())
    expect(lowest >= MIN_COSINE, f"cosine {lowest:.6f} to ONNX Runtime with the library, at least {MIN_COSINE} expected")
    return f"cosine {lowest:.7f}, {nodes} nodes of {QUARK}"


@test(cases=MODELS)
def bfloat16_as_casts_needs_no_library(name):
    with temp_folder() as folder:
        model, results = os.path.join(folder, "q.onnx"), os.path.join(folder, "results")
        inputs = shared("golden", "inputs", name, "eval")
        quantize(shared_model(name), model, shared("golden", "inputs", name, "calib"), "bf16", "--set", "BF16QDQToCast=true")
        check_model(model)
        expect_equal([node.op_type for node in onnx.load(model).graph.node if node.domain == QUARK], [], f"nodes of {QUARK}")
        wanted = onnxruntime_results(model, inputs)
        run_model(model, inputs, results)
        lowest = min(mean_cosines(results_like(results, wanted), wanted).values())
    expect(lowest >= MIN_COSINE, f"cosine {lowest:.6f} to plain ONNX Runtime, at least {MIN_COSINE} expected")
    return f"cosine {lowest:.7f}"
