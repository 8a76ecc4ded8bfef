# SPDX-License-Identifier: MIT
"""Other ways in: workflows, the container file, what the libraries show and load."""
import glob
import os
import re
import subprocess
import sys
import zipfile

import quarkq

from harness import ROOT, expect, expect_equal, test
from test_install import command, wheel

WORKFLOWS = sorted(glob.glob(os.path.join(ROOT, ".github", "workflows", "*.yml"))) + [os.path.join(ROOT, "docs", "ci", "github-actions.yml")]


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


@test(cases=[os.path.relpath(path, ROOT) for path in WORKFLOWS])
def workflow_fits_the_schema(path):
    result = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows",
                             os.path.join(ROOT, path)], capture_output=True, text=True, check=False)
    expect_equal(result.returncode, 0, result.stdout + result.stderr)


@test(cases=[os.path.relpath(path, ROOT) for path in WORKFLOWS[:-1]])
def workflow_is_careful(path):
    text = read(path)
    expect(re.search(r"^permissions:\n  contents: read$", text, re.M), "the default permissions are not 'contents: read'")
    expect(not re.search(r"run:.*\$\{\{", text) and "pull_request_target" not in text, "text of others may reach a shell")
    expect_equal([use for use in re.findall(r"uses: (.+)", text) if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", use)], [], "actions without hash and version")
    for script in re.findall(r"\./(\S+\.sh)", text):
        expect(os.access(os.path.join(ROOT, script), os.X_OK), f"{script} cannot be run")


@test(cases=["action.yml", "packaging/gate/action.yml"])
def action_fits_the_schema(path):
    result = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions",
                             os.path.join(ROOT, path)], capture_output=True, text=True, check=False)
    expect_equal(result.returncode, 0, result.stdout + result.stderr)
    shell = read(path).split("run:", 1)[1]
    expect("${{" not in re.sub(r"\n +\w+: \$\{\{[^\n]*", "", shell), "inputs reach the shell other than as variables")


@test()
def container_file_is_careful():
    text = read("Containerfile")
    images = re.findall(r"^FROM (\S+)", text, re.M)
    expect_equal(len(images), 2, "stages")
    expect(all(":" in image and not image.endswith(":latest") for image in images), f"images without a version: {images}")
    last = text.rsplit("\nFROM ", 1)[1]
    expect(re.search(r"^USER (?!root)\w+$", last, re.M), "runs as root")
    expect("--no-install-recommends" in last and "rm -rf /var/lib/apt/lists" in last, "lists of packages stay in the image")
    expect(not re.search(r"^ADD |sudo|curl|wget|chmod 777", text, re.M), "fetches or opens what it should not")
    expect("build" in read(".containerignore").split(), "build/ is sent to the builder")


@test()
def wheel_names_no_folder_of_this_machine():
    with zipfile.ZipFile(wheel()) as archive:
        for name in archive.namelist():
            expect(ROOT.encode() not in archive.read(name), f"{name} names {ROOT}")
            expect(archive.getinfo(name).date_time[0] < 2100, name)


@test()
def wheel_has_the_licences_of_what_it_copies():
    with zipfile.ZipFile(wheel()) as archive:
        names = archive.namelist()
    for library in (name.split("/")[1].split("-")[0].split(".")[0].lower() for name in names if name.startswith("quarkq.libs/lib")):
        known = [name for name in names if name.startswith("quarkq/licenses/") and library.removesuffix("-cpp") in name.lower()]
        expect(known or not os.path.isdir("/usr/share/doc/libdnnl2"), f"no licence of {library} among {len(names)} files")


@test()
def library_shows_its_own_symbols_only():
    shown = command("nm", "-D", "--defined-only", quarkq._files.library()).splitlines()
    strange = [line.split()[-1] for line in shown if "quarkq" not in line and not line.split()[-1].startswith(("_init", "_fini"))]
    expect_equal(strange, [], "symbols of others")
    expect(any(line.endswith(" quarkq_call") for line in shown), "quarkq_call is not there")


@test()
def operators_library_needs_no_package():
    needed = command("ldd", quarkq.ort_ops_library())
    expect_equal([name for name in ("protobuf", "dnnl", "yaml", "OpenCL") if name in needed], [], "packages that it loads")


@test()
def onnx_and_onnxruntime_in_the_same_process():
    """Each has a protobuf and an onnx of its own."""
    code = ("import {}\nimport quarkq\nmodel = quarkq.inspect({!r})\nimport onnx, onnxruntime\nonnx.load({!r})\n"
            "options = onnxruntime.SessionOptions()\noptions.register_custom_ops_library(quarkq.ort_ops_library())\nprint(model['nodes'] > 0)")
    model = os.path.join(ROOT, "examples", "digits", "digits.onnx")
    for first in ("onnx, onnxruntime", "sys"):
        expect_equal(command(sys.executable, "-c", code.format(first, model, model), timeout=120).strip(), "True", f"with {first} first")
