# SPDX-License-Identifier: MIT
"""The wheel quarkq-as-quark: scripts of amd-quark run unchanged, and write the bytes that the program writes."""
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

from harness import ROOT, Skip, expect, expect_equal, quantize, quarkq, read_bytes, shared, temp_folder, test
from samples import DIGITS, DIGITS_MODEL

HERE = os.path.dirname(os.path.abspath(__file__))
CALLERS = os.path.join(HERE, "callers")
CALIB = os.path.join(DIGITS, "calib")
MOST_BYTES = 16 << 10


def command(*arguments, **options):
    return subprocess.run([*map(str, arguments)], check=True, capture_output=True, text=True, **options).stdout


def pack(folder):
    """Packs the wheel into `folder` and returns its path."""
    command(sys.executable, "-B", os.path.join(ROOT, "scripts", "pack_as_quark.py"), folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return glob.glob(os.path.join(folder, "quarkq_as_quark-*.whl"))[0]


@functools.lru_cache(maxsize=None)
def site():
    """A folder into which pip has installed the wheel; it is deleted when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="quarkq-as-quark-")
    command(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--target",
            os.path.join(folder.name, "site"), pack(folder.name))
    return folder


def installed(*more):
    """Variables for subprocesses that find the installed wheel, and more folders of modules."""
    path = [os.path.join(site().name, "site"), *more, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}


def python(environment, code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment, **options)


def printed(environment, code):
    result = python(environment, code)
    expect_equal(result.returncode, 0, result.stderr)
    return result.stdout.strip()


def call(environment, script, *arguments):
    result = subprocess.run([sys.executable, os.path.join(CALLERS, script + ".py"), *arguments], capture_output=True, text=True, check=False, env=environment)
    expect_equal(result.returncode, 0, result.stdout + result.stderr)


@test()
def the_wheel_is_small_and_has_the_same_bytes_again():
    with temp_folder() as first, temp_folder() as second:
        paths = [pack(folder) for folder in (first, second)]
        expect_equal(os.path.basename(paths[0])[-len("-py3-none-any.whl"):], "-py3-none-any.whl", "tag")
        expect(read_bytes(paths[0]) == read_bytes(paths[1]), "two runs give other bytes")
        size = os.path.getsize(paths[0])
        expect(size <= MOST_BYTES, f"{size} bytes, {MOST_BYTES} are allowed")
        with zipfile.ZipFile(paths[0]) as archive:
            names = archive.namelist()
            requirement = archive.read(next(name for name in names if name.startswith("quarkq") and name.endswith(".dist-info/METADATA") and ".data/" not in name)).decode()
        expect("Requires-Dist: quarkq==" in requirement, requirement)
        expect_equal([name for name in names if "__pycache__" in name], [], "compiled files")
    return f"{size} bytes"


@test()
def scripts_of_the_reference_documents_run_unchanged():
    shared("reference-docs")
    code = ("import sys, test_reference_docs as docs\nprint(docs.run_pages(lambda block: block))\n"
            "assert 'quark.onnx' in sys.modules and 'torch' not in sys.modules")
    return printed(installed(HERE, os.path.join(ROOT, "tests", "e2e")), code).splitlines()[-1]


@test()
def an_exporter_writes_the_bytes_of_the_program():
    """The shape of Ultralytics' export for Versal."""
    environment = installed()
    with temp_folder() as folder:
        found, wanted, settings = (os.path.join(folder, name) for name in ("found.onnx", "wanted.onnx", "settings.json"))
        call(environment, "exporter", DIGITS_MODEL, found, CALIB)
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"preset": "VINT8", "quant_config": {"enable_npu_cnn": True, "print_summary": False, "nodes_to_exclude": ["fc"]}}, file)
        quantize(DIGITS_MODEL, wanted, CALIB, settings)
        expect(read_bytes(found) == read_bytes(wanted), "other bytes")


PASS = {
    "global_config": {"input_tensors": {"symmetric": True, "scale_type": "Float32", "calibration_method": "MinMax", "quant_granularity": "Tensor", "data_type": "Int8"},
                      "weight": {"symmetric": True, "scale_type": "Float32", "calibration_method": "MinMax", "quant_granularity": "Tensor", "data_type": "Int8"}},
    "exclude": ["fc"], "algo_config": [{"name": "adaround", "num_iterations": 20, "learning_rate": 0.1}, {"name": "cle", "cle_steps": 2}],
    "extra_options": {"Int32Bias": True, "TensorQuantOverrides": {"relu1_y": [{"quant_type": "Int16"}]}},
}


@test()
def a_pass_of_a_workflow_writes_the_bytes_of_the_program():
    """The shape of Olive's pass: dictionaries become objects, and attributes of algorithms are set after they are made."""
    environment = installed()
    with temp_folder() as folder:
        found, wanted, given, settings = (os.path.join(folder, name) for name in ("found.onnx", "wanted.onnx", "given.json", "settings.json"))
        with open(given, "w", encoding="utf-8") as file:
            json.dump(PASS, file)
        call(environment, "workflow_pass", DIGITS_MODEL, found, CALIB, given)
        options = {"Int32Bias": True, "TensorQuantOverrides": {"relu1_y": [{"quant_type": "QuantType.QInt16"}]}}
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({**PASS, "extra_options": options}, file)
        report = json.loads(quantize(DIGITS_MODEL, wanted, CALIB, settings, "--json").stdout)
        expect_equal({layer["algorithm"] for layer in report["tuned_layers"]}, {"adaround"}, "algorithms")
        expect(read_bytes(found) == read_bytes(wanted), "other bytes")


EXAMPLES = {
    "XINT8": "xint8", "A8W8": "a8w8", "A16W8": "a16w8", "BF16": {"preset": "BF16", "extra_options": {"BF16QDQToCast": True}},
    "cle": {"quant_config": {"calibrate_method": "PowerOfTwoMethod.MinMSE", "activation_type": "QuantType.QUInt8", "weight_type": "QuantType.QInt8",
                             "enable_npu_cnn": True, "include_cle": True}, "extra_options": {"ActivationSymmetric": True}},
}


@test(cases=sorted(EXAMPLES))
def an_example_of_a_vendor_writes_the_bytes_of_the_program(name):
    """The shape of RyzenAI-SW's examples."""
    environment = installed()
    with temp_folder() as folder:
        found, wanted, settings = (os.path.join(folder, file) for file in ("found.onnx", "wanted.onnx", "settings.json"))
        call(environment, "npu_example", DIGITS_MODEL, found, CALIB, name)
        if isinstance(EXAMPLES[name], dict):
            with open(settings, "w", encoding="utf-8") as file:
                json.dump(EXAMPLES[name], file)
        quantize(DIGITS_MODEL, wanted, CALIB, settings if isinstance(EXAMPLES[name], dict) else EXAMPLES[name])
        expect(read_bytes(found) == read_bytes(wanted), "other bytes")


FLOAT_SCALES = {"ForceQuantizeNoInputCheck": True, "AlignSlice": False, "FoldRelu": True, "AlignConcat": True}
CONSTANTS = {
    "XINT8_QCONFIG": {"global_config": {"input_tensors": "XInt8Spec", "weight": "XInt8Spec"}, "extra_options": {"ForceQuantizeNoInputCheck": True}},
    "A16W8_QCONFIG": {"global_config": {"input_tensors": "Int16Spec", "weight": "Int8Spec"}, "extra_options": {**FLOAT_SCALES, "AlignEltwiseQuantType": True}},
    "BFP16_QCONFIG": {"global_config": {"input_tensors": "BFP16Spec", "weight": "BFP16Spec"}},
    "S8S8_AAWS_CONFIG": {"preset": "S8S8_AAWS", "quant_config": {"nodes_to_exclude": ["fc"]}},
}


@test(cases=sorted(CONSTANTS))
def a_constant_writes_the_bytes_of_the_program(name):
    environment = installed()
    with temp_folder() as folder:
        found, wanted, settings = (os.path.join(folder, file) for file in ("found.onnx", "wanted.onnx", "settings.json"))
        call(environment, "constants", DIGITS_MODEL, found, CALIB, name)
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({**CONSTANTS[name], **({"exclude": ["fc"]} if name.endswith("QCONFIG") else {})}, file)
        quantize(DIGITS_MODEL, wanted, CALIB, settings)
        expect(read_bytes(found) == read_bytes(wanted), "other bytes")


@test()
def the_evaluation_tool_is_the_verb():
    environment = installed()
    with temp_folder() as folder:
        folders = [os.path.join(folder, name) for name in ("float", "quantized")]
        for number, place in enumerate(folders):
            os.makedirs(place)
            np.save(os.path.join(place, "0.npy"), np.arange(4, dtype=np.float32) + number)
        arguments = ["--baseline_results_folder", folders[0], "--quantized_results_folder", folders[1]]
        found = command(sys.executable, "-m", "quark.onnx.tools.evaluate", *arguments, env=environment)
        expect_equal(found, quarkq("evaluate", *arguments).stdout, "output")


@test()
def version_checks_pass():
    environment = installed()
    found = printed(environment, "import quark, quark.onnx, quark.version\nfrom importlib import metadata\n"
                    "print(quark.__version__, quark.onnx.__version__, quark.version.__version__, metadata.version('amd-quark'))").split()
    expect_equal(len(set(found)), 1, f"versions {found}")
    expect(found[0].startswith("0.13.0+quarkq."), found[0])
    text = command(sys.executable, "-m", "pip", "install", "--no-index", "--dry-run", "amd-quark>=0.13.0,<0.14.0", env=environment)
    expect("already satisfied" in text, text)
    return found[0]


def other_pythons():
    """The oldest and the newest interpreter on the path, or those of $QUARKQ_PYTHONS, without the one that runs the tests."""
    named = os.environ.get("QUARKQ_PYTHONS")
    found = named.split(os.pathsep) if named else filter(None, [shutil.which(f"python3.{minor}") for minor in range(9, 15) if minor != sys.version_info.minor])
    runs = [path for path in found if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0]  # a shim may not
    return runs if named else sorted({*runs[:1], *runs[-1:]})


OLDEST = """
import glob, sys
import numpy as np
from quark.onnx import CalibrationDataReader, ModelQuantizer, QConfig

class Reader(CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"image": np.load(path)} for path in sorted(glob.glob(sys.argv[3] + "/*.npy"))])

    def get_next(self):
        return next(self.left, None)

ModelQuantizer(QConfig.get_default_config("XINT8")).quantize_model(sys.argv[1], sys.argv[2], Reader())
"""


@test()
def other_versions_of_python_write_the_same_bytes():
    wheels = glob.glob(os.path.join(ROOT, "dist", "quarkq-*manylinux*.whl"))
    pythons = other_pythons()
    if not wheels or not pythons:
        raise Skip("dist has no wheel" if not wheels else "no other Python from 3.9 on; $QUARKQ_PYTHONS names interpreters")
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with temp_folder() as folder:
        wanted, ours = os.path.join(folder, "wanted.onnx"), pack(folder)
        quantize(DIGITS_MODEL, wanted, CALIB, "xint8")
        for number, python_path in enumerate(pythons):
            place, found = os.path.join(folder, f"env{number}"), os.path.join(folder, f"found{number}.onnx")
            command(python_path, "-m", "venv", place, env=variables)
            install = [f"{place}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            if subprocess.run([*install, "numpy"], capture_output=True, check=False, env=variables).returncode != 0:
                raise Skip(f"numpy cannot be installed for {python_path}")
            command(*install, "--no-index", wheels[0], ours, env=variables)
            command(f"{place}/bin/python", "-c", OLDEST, DIGITS_MODEL, found, CALIB, env=variables)
            expect(read_bytes(found) == read_bytes(wanted), f"{python_path}: other bytes")
    return f"{len(pythons)} versions"


MISSING = {
    "import quark.torch": "export the model to ONNX", "from quark import torch": "export the model to ONNX", "from quark.torch.export import api": "export the model to ONNX",
    "from quark.onnx import AutoSearchPro": "quarkq tune --search", "from quark.onnx.quantization import auto_search": "quarkq tune --search",
    "from quark.onnx import RandomDataReader": "UseRandomData", "from quark.onnx import quantize_static": "ModelQuantizer(config)",
    "import quark.onnx.tools.remove_qdq": "quarkq convert", "from quark.onnx.quantization.config.spec import XInt99Spec": "docs/from-amd-quark.md",
    "import quark.common.utils.log": "docs/from-amd-quark.md", "from quark.onnx.operators.custom_ops import get_library_path; get_library_path('ROCM')": "allowed is 'CPU'",
}


@test()
def missing_names_come_with_advice():
    environment = installed()
    for code, text in MISSING.items():
        result = python(environment, code)
        expect(result.returncode != 0 and text in result.stderr.splitlines()[-1], f"{code}: {result.stderr}")
    for code in ("from quark.onnx import quantization, tools", "import quark.onnx.quantization.config.custom_config"):
        printed(environment, code)


def fake_reference(folder, version):
    """A wheel named amd-quark with one module, as pip sees AMD's."""
    path = os.path.join(folder, f"amd_quark-{version}-py3-none-any.whl")
    info = f"amd_quark-{version}.dist-info"
    files = {"quark/__init__.py": "theirs = True\n", "quark/torch/__init__.py": "", f"{info}/METADATA": f"Metadata-Version: 2.1\nName: amd-quark\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]))
    return path


@test()
def an_installed_reference_is_not_shadowed():
    """In both orders: the second package does not take the place of the first without a message, and both can be removed."""
    with temp_folder() as folder:
        environment = os.path.join(folder, "env")
        command(sys.executable, "-m", "venv", environment)
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

        def pip(*arguments):
            return subprocess.run([f"{environment}/bin/python", "-m", "pip", "--disable-pip-version-check", *arguments], capture_output=True, text=True, check=False, env=variables)

        def imported():
            return subprocess.run([f"{environment}/bin/python", "-c", "import quark; print(quark.__version__)"], capture_output=True, text=True, check=False, env=variables)

        theirs, ours = fake_reference(folder, "0.13.0"), pack(folder)
        install = ["install", "--no-index", "--no-deps"]
        expect_equal(pip(*install, theirs).returncode, 0, "install of the other")
        expect_equal(pip(*install, ours).returncode, 0, "install of ours")
        result = imported()
        expect(result.returncode == 1 and "amd-quark 0.13.0 is installed" in result.stderr and "pip uninstall quarkq-as-quark" in result.stderr, result.stderr)
        for name in ("quarkq-as-quark", "amd-quark"):
            expect_equal(pip("uninstall", "-y", name).returncode, 0, f"uninstall of {name}")
        expect_equal(pip(*install, ours).returncode, 0, "install alone")
        expect(imported().stdout.startswith("0.13.0+quarkq."), imported().stderr)
        refused = pip(*install, fake_reference(folder, "0.12.0"))
        expect(refused.returncode != 0 and "quarkq-as-quark" in refused.stderr, refused.stdout + refused.stderr)
        expect(imported().returncode == 0, "the refused install left nothing that can be imported")
        expect_equal(pip("uninstall", "-y", "quarkq-as-quark").returncode, 0, "uninstall")
        expect("No module named 'quark'" in imported().stderr, "files are left")
