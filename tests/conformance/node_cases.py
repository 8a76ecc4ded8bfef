#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the operator test cases of the onnx package to the data of the unpacked source archive: node_cases.py

Archives from 1.20 on contain the program that makes the cases instead of the cases. The package in build/venv must have the version of
the archive (tests/e2e/requirements.txt). Does nothing if the cases are there."""
import glob
import os
import re
import shutil
import sys
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def data_folder():
    """Data of the tests of the archive; None if it is not unpacked."""
    found = glob.glob(os.path.join(ROOT, "build/deps/onnx/work/onnx-*/onnx/backend/test/data"))
    return found[0] if found else None


def write_value(path, value, info):
    import onnx
    from onnx import numpy_helper
    kind = info.type.WhichOneof("value")
    if kind == "tensor_type":
        proto = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, info.name)
    else:
        make = {"sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional, "map_type": numpy_helper.from_dict}[kind]
        proto = make(value, info.name)
    with open(path, "wb") as file:
        file.write(proto.SerializeToString())


def write_case(folder, case):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        samples = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(samples)
        for name, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for i, value in enumerate(values):
                write_value(os.path.join(samples, f"{name}_{i}.pb"), value, infos[i])


def make_node_cases():
    """Returns what prevents the cases from being made, or None."""
    data = data_folder()
    if data is None:
        return "build/deps/onnx/work has no onnx sources; remove build/deps/onnx and run ./run_tests.sh"
    if os.path.isdir(os.path.join(data, "node")):
        return None
    wanted = re.search(r"onnx-([0-9.]+)", data).group(1)
    try:
        import onnx
        from onnx.backend.test.loader import load_node_model_tests
    except ImportError:
        return f"the operator cases need the package onnx {wanted}; run this with build/venv/bin/python"
    if onnx.__version__ != wanted:
        return f"the operator cases need the package onnx {wanted}, found {onnx.__version__}; remove build/venv and run ./run_tests.sh"
    making = os.path.join(data, f"node.{os.getpid()}")
    with warnings.catch_warnings():  # of numpy, about infinities that are wanted
        warnings.simplefilter("ignore")
        for case in load_node_model_tests():
            write_case(os.path.join(making, case.name), case)
    if os.path.isdir(os.path.join(data, "node")):  # another process was faster
        shutil.rmtree(making)
    else:
        os.rename(making, os.path.join(data, "node"))
    return None


if __name__ == "__main__":
    sys.exit(make_node_cases())
