# SPDX-License-Identifier: MIT
"""The code on the pages that users of the reference read, run as it stands: imports lead to quarkq.compat, model files and samples are ours.

The pages are text in which some code has lost its indentation; blocks() finds code, indented() restores it."""
import contextlib
import glob
import os
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from quarkq.compat import quark

from harness import expect, expect_equal, quarkq, shared, temp_folder, test
from samples import DIGITS_MODEL, digits

CODE = re.compile(r"((from|import|class|def|return|if|for|while|with|break)\b|[\w.]+(\[\"\w+\"\])? = |[\w.]+\(|[\w.\[\]\"']+,$"
                  r"|[)\]}(\['\"]|\w+ \+?= |\w+=|#|\w+: )")
STARTS = re.compile(r"\s*(from [\w.]+ import |import \w+$|import numpy|quant_config\.global_quant_config\.extra_options\[.UseRandomData|def generate_yaml"
                    r"|quantizer = ModelQuantizer\(quant_config\)$)")
MODULES = {"quark.onnx": "quarkq.compat.quark", "quark.shapeshifter": "quarkq.compat.shapeshifter"}
# What is no program: why.
NOT_RUN = {"specific_layer_config: dict": "a signature, not a call"}


def pages():
    return sorted(glob.glob(os.path.join(shared("reference-docs"), "0*.txt")))


def is_code(line):
    text = line.strip()
    if not text or line.startswith((" ", "\t")) and not text.startswith("\u2022"):
        return True
    is_prose = re.search(r"[a-z] [a-z]+ [a-z]+ [a-z]+", re.sub(r"#.*|\"[^\"]*\"|'[^']*'", "", text)) and not re.match(r"(from|import|def|for|if) ", text)
    return bool(CODE.match(text)) and not is_prose and not text.endswith("|")


def blocks(text):
    """Runs of lines that are code, from an import or another opening on."""
    found, current = [], None
    for line in text.splitlines():
        if current is None:
            if STARTS.match(line):
                current = [line]
            continue
        whole = "".join(current)
        is_open = sum(whole.count(one) for one in "([{") > sum(whole.count(one) for one in ")]}")
        if is_code(line) or is_open or whole.count('"""') % 2:
            current.append(line)
            continue
        found.append("\n".join(current).rstrip())
        current = [line] if STARTS.match(line) else None
    return found + (["\n".join(current)] if current else [])


def indented(block):
    """The block, as it is when Python takes it; else with the indentation that its statements imply: a class holds functions, an `if` or
    `with` one statement, a function ends with its last return or before a call of what was defined."""
    block = "\n".join(line[1:] if line.startswith(" ") and not line.startswith("  ") else line for line in block.splitlines())
    lines = block.splitlines()
    if any(line.startswith(" ") for line in lines):  # kept, all but a common blank
        inside = [line[1:] if line.startswith(" ") and "    " in line else line for line in lines]
        for tried in (block, "\n".join(inside)):
            try:
                compile(tried, "block", "exec")
                return tried
            except SyntaxError:
                pass
    result, levels, depth, defined, in_class, is_single = [], [0], 0, set(), False, False
    for line in lines:
        text = line.strip()
        if depth == 0 and text:
            opens = re.match(r"(class|def) (\w+)", text)
            calls = re.match(r"(?:\w+ = )?(\w+)\(", text)
            if opens and opens.group(1) == "class":
                levels, in_class = [0], True
            elif opens:
                levels = [0, 1] if in_class else [0]
            elif (calls and calls.group(1) in defined) or re.match(r"(quantizer\.|quant_config = |input_model = |engine)", text):
                levels, in_class = [0], False
            if opens and not (in_class and opens.group(1) == "def"):
                defined.add(opens.group(2))
        result.append("    " * levels[-1] + ("    " if depth else "") + text)
        depth += sum(text.count(one) for one in "([{") - sum(text.count(one) for one in ")]}")
        if depth or not text or text.startswith("#"):
            continue
        if text.endswith(":"):
            levels.append(levels[-1] + 1)
            is_single = text.startswith(("if ", "with "))
        elif len(levels) > 1 and (is_single or text.startswith("return")):
            levels.pop()
            is_single = False
    return "\n".join(result)


def translated(block):
    """Imports of the reference's modules, whatever their depth, from the two that stand in for them."""
    block = re.sub(r"from quark\.onnx[\w.]* import", f"from {MODULES['quark.onnx']} import", block)
    return re.sub(r"from quark\.shapeshifter[\w.]* import", f"from {MODULES['quark.shapeshifter']} import", block)


def half_detector(name):
    """The nodes that the page on float16 models names, in a small network: a stem, and nine branches of a head that are reshaped."""
    half, random = TensorProto.FLOAT16, np.random.default_rng(3)
    tensors = [numpy_helper.from_array(random.normal(0, 0.3, (4, 1, 3, 3)).astype(np.float16), "w"),
               numpy_helper.from_array(np.array([1, 4, -1], np.int64), "shape")]
    nodes = [helper.make_node("Conv", [name, "w"], ["stem"], "/backbone/stem/rbr_reparam/Conv", pads=[1] * 4), helper.make_node("Relu", ["stem"], ["s"], "/relu")]
    for i in range(9):
        tensors.append(numpy_helper.from_array(random.normal(0, 0.3, (4, 4, 1, 1)).astype(np.float16), f"v{i}"))
        nodes += [helper.make_node("Conv", ["s", f"v{i}"], [f"c{i}"], f"/detect/conv{i}"),
                  helper.make_node("Reshape", [f"c{i}", "shape"], [f"r{i}"], "/detect/Reshape" + (f"_{i}" if i else ""))]
    nodes += [helper.make_node("Concat", [f"r{i}" for i in range(0, 4)], ["a"], "/detect/Concat", axis=2),
              helper.make_node("Concat", [f"r{i}" for i in range(4, 9)], ["b"], "/detect/Concat_1", axis=2),
              helper.make_node("Concat", ["a", "b"], ["y"], "/detect/Concat_7", axis=2)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, half, [1, 1, 8, 8])], [helper.make_tensor_value_info("y", half, [1, 4, 576])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Samples:
    """A reader as the pages expect one to exist."""

    def __init__(self, name, samples):
        self.name, self.samples = name, samples
        self.rewind()

    def rewind(self):
        self.left = iter(self.samples)

    def get_next(self):
        sample = next(self.left, None)
        return None if sample is None else {self.name: sample}


def prepare(folder):
    """Files that the pages read, and names that they expect. Returns the names."""
    model = onnx.load(DIGITS_MODEL)
    name = model.graph.input[0].name
    names = {one.name: one for one in model.graph.node}
    names["relu2"].name, names["fc"].name = "/model.22/Concat_3", "/model.22/Concat_5"
    os.makedirs(os.path.join(folder, "models"))
    for path in ("model_fp32.onnx", "float32_model.onnx", "float_model.onnx", "your_model.onnx", "models/model_fp32.onnx", "path_to_float_model.onnx"):
        onnx.save(model, os.path.join(folder, path))
    onnx.save(half_detector(name), os.path.join(folder, "yolov6_fp16.onnx"))
    reader = Samples(name, digits()[:8])
    taken_for_granted = {one: getattr(quark, one) for one in ("QTensorConfig", "ScaleType", "QuantGranularity", "BaseDataType")}
    return {**taken_for_granted, "calib_data_reader": reader, "calibration_dataset": reader, "calibration_data_reader": reader, "data_reader": reader, "SAMPLES": digits()[:8],
            "input_data_loader": digits()[:8], "model_input": "model_fp32.onnx", "model_output": "out.onnx", "input_model_path": "model_fp32.onnx",
            "output_model_path": "out.onnx"}, name


@contextlib.contextmanager
def prepared_folder():
    """A folder with what prepare() makes, which is the current one meanwhile."""
    here = os.getcwd()
    with temp_folder() as folder:
        prepared = prepare(folder)
        os.chdir(folder)
        try:
            yield prepared
        finally:
            os.chdir(here)


def adapted(block, input_name):
    """Samples in the place of folders of images, few iterations, paths that are there."""
    for old, new in (("return data_list", "return SAMPLES"), ("return processed_data", "return SAMPLES"), ('input_name="input"', f'input_name="{input_name}"'),
                     ("'model_input_name'", f"'{input_name}'"), ("'NumIterations': 1000", "'NumIterations': 5"), ('"path/to/float_model.onnx"', '"float_model.onnx"'),
                     ('"path/to/quantized_model.onnx"', '"quantized_model.onnx"')):
        block = block.replace(old, new)
    return block


def run_pages(translate):
    """Runs the blocks in the order of each page, so that later blocks see what earlier ones made. Returns how many ran, and why the others did not."""
    run, left = 0, []
    for page in pages():
        with open(page, encoding="utf-8") as file:
            code = blocks(file.read())
        with prepared_folder() as (names, input_name):
            for block in code:
                why = next((why for words, why in NOT_RUN.items() if words in block), None)
                if why:
                    left.append(why)
                    continue
                text = adapted(translate(indented(block)), input_name)
                try:
                    exec(compile(text, os.path.basename(page), "exec"), names)  # pylint: disable=exec-used
                except Exception as error:
                    raise AssertionError(f"{os.path.basename(page)}: {type(error).__name__}: {error}\n{text}") from error
                run += 1
    expect(run >= 12, f"only {run} blocks were found")
    return f"{run} blocks run, {len(left)} left out: {', '.join(sorted(set(left)))}"


@test()
def every_block_of_code_runs():
    return run_pages(translated)


@test()
def float16_workflow_leaves_the_tail_in_float16():
    """The three steps of the page on float16 models, and what they make."""
    with open(os.path.join(shared("reference-docs"), os.path.basename(pages()[0])), encoding="utf-8") as file:
        text = file.read()
    code = blocks(text[text.index("Step 1: Convert Selected FP16 Subgraphs"):text.index("Option B: Calibration data (more accurate)")])
    with prepared_folder() as (names, input_name):
        for block in code:
            exec(compile(adapted(translated(indented(block)), input_name), "page", "exec"), names)  # pylint: disable=exec-used
        middle, made = onnx.load("yolov6_fp16.converted.onnx"), onnx.load("yolov6m_quantized.onnx")
    stored = {tensor.name: tensor.data_type for tensor in middle.graph.initializer}
    expect_equal({stored[node.input[1]] for node in middle.graph.node if node.op_type == "Conv"}, {TensorProto.FLOAT}, "weights of the converted part")
    expect_equal(middle.graph.output[0].type.tensor_type.elem_type, TensorProto.FLOAT16, "type of the output")
    expect("QuantizeLinear" in {node.op_type for node in made.graph.node}, "nothing is quantized")
    expect_equal(made.graph.output[0].type.tensor_type.elem_type, TensorProto.FLOAT16, "type of the quantized model's output")
    onnx.checker.check_model(made)


@test()
def evaluation_tool_of_the_page():
    """`python3 -m quark.onnx.tools.evaluate --baseline_results_folder A --quantized_results_folder B`."""
    with temp_folder() as folder:
        for name, shift in (("output_fp32", 0.0), ("output_int8", 0.01)):
            os.makedirs(os.path.join(folder, name))
            for i in range(3):
                np.save(os.path.join(folder, name, f"result_{i}.npy"), np.random.default_rng(i).random((1, 10)).astype(np.float32) + np.float32(shift))
        text = quarkq("evaluate", "--baseline_results_folder", os.path.join(folder, "output_fp32"), "--quantized_results_folder",
                      os.path.join(folder, "output_int8")).stdout
    for line in ("Mean cos similarity: ", "Min cos similarity: ", "Mean l2 distance: ", "Max l2 distance: ", "Mean psnr: ", "Min psnr: ", "Mean ssim: ", "Min ssim: "):
        expect(line in text, f"{line!r} is not among {text}")
