# SPDX-License-Identifier: MIT
"""Other ways in: workflows, the container file, what the libraries show and load."""
import glob
import hashlib
import os
import re
import subprocess
import sys
import zipfile

import quarkq
import yaml

from harness import ROOT, Skip, expect, expect_equal, temp_folder, test
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


PROJECT = "https://github.com/someone/quarkq"
WINGET_TYPES = {"Quarkq.Quarkq.yaml": "version", "Quarkq.Quarkq.installer.yaml": "installer", "Quarkq.Quarkq.locale.en-US.yaml": "defaultLocale"}
# Keys that the schemas of winget 1.10 require.
WINGET_KEYS = {"version": ["DefaultLocale"], "installer": ["Installers"],
               "defaultLocale": ["PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"]}


def rendered(folder):
    """(files of a release by name, folder of the manifests for them): files with other contents have other hashes."""
    version = quarkq.__version__
    names = [f"quarkq-{version}-py3-none-win_amd64.whl", f"quarkq-{version}-windows-AMD64.zip", f"quarkq-{version}-py3-none-manylinux_2_35_x86_64.whl"]
    dist, out = os.path.join(folder, "dist"), os.path.join(folder, "out")
    os.makedirs(dist)
    for name in names:
        with open(os.path.join(dist, name), "w", encoding="utf-8") as file:
            file.write(name)
    command(sys.executable, os.path.join(ROOT, "scripts", "render_packages.py"), dist, PROJECT, out)
    return {name: hashlib.sha256(name.encode()).hexdigest() for name in names}, out


@test()
def manifests_of_winget_are_complete():
    """winget's own validator runs on Windows (.github/workflows/release.yml)."""
    version = quarkq.__version__
    with temp_folder() as folder:
        hashes, out = rendered(folder)
        found = {name: yaml.safe_load(read(out, "winget", name)) for name in sorted(os.listdir(os.path.join(out, "winget")))}
    expect_equal({name: one["ManifestType"] for name, one in found.items()}, WINGET_TYPES, "files and their types")
    for name, one in found.items():
        missing = [key for key in ["PackageIdentifier", "PackageVersion", "ManifestVersion", *WINGET_KEYS[one["ManifestType"]]] if key not in one]
        expect(not missing, f"{name} has no {missing}")
        expect_equal((one["PackageIdentifier"], one["PackageVersion"], one["ManifestVersion"]), ("Quarkq.Quarkq", version, "1.10.0"), name)
    installer = found["Quarkq.Quarkq.installer.yaml"]
    archive = f"quarkq-{version}-windows-AMD64.zip"
    expect_equal(installer["Installers"], [{"Architecture": "x64", "InstallerUrl": f"{PROJECT}/releases/download/v{version}/{archive}",
                                            "InstallerSha256": hashes[archive].upper()}], "installers")
    program = installer["NestedInstallerFiles"][0]["RelativeFilePath"].split("\\")
    expect_equal(program, [archive.removesuffix(".zip"), "bin", "quarkq.exe"], "the program in the archive")
    locale = found["Quarkq.Quarkq.locale.en-US.yaml"]
    expect(3 <= len(locale["ShortDescription"]) <= 256 and len(locale["Tags"]) <= 16, "the description or the tags are too long")


@test(cases=["linux-64", "win-64"])
def rattler_build_reads_the_recipe(platform):
    try:
        import rattler_build  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip("py-rattler-build is not installed") from None
    config = rattler_build.RenderConfig(platform=rattler_build.PlatformConfig(target_platform=platform))
    with temp_folder() as folder:
        hashes, out = rendered(folder)
        recipe = rattler_build.Stage0Recipe.from_file(os.path.join(out, "conda", "recipe.yaml"))
        variants = [one.recipe.to_dict() for one in recipe.render(rattler_build.VariantConfig(), config)]
    expect_equal(len(variants), 1, "packages")
    source = variants[0]["source"][0]
    wanted = "win_amd64" if platform == "win-64" else "manylinux"
    expect(wanted in source["file_name"] and source["url"] == f"{PROJECT}/releases/download/v{quarkq.__version__}/{source['file_name']}", str(source))
    expect_equal(source["sha256"], hashes[source["file_name"]], "hash")
    expect(source["file_name"] in str(variants[0]["build"]["script"]), f"the script installs another file: {variants[0]['build']}")
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
        project = file.read()
    for text in ("python " + re.search(r'requires-python = "(.*)"', project).group(1), re.search(r'dependencies = \["(.*)"\]', project).group(1)):
        expect(text.replace(" ", "") in [one.replace(" ", "") for one in variants[0]["requirements"]["run"]], f"{text} is not in {variants[0]['requirements']}")


@test(cases=["no wheel", "two wheels", "no address"])
def manifests_of_other_files_are_refused(case):
    with temp_folder() as folder:
        if case == "two wheels":
            for name in ("manylinux_2_28", "manylinux_2_35"):
                with open(os.path.join(folder, f"quarkq-{quarkq.__version__}-py3-none-{name}_x86_64.whl"), "w", encoding="utf-8"):
                    pass
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "render_packages.py"), folder, "quarkq" if case == "no address" else PROJECT, folder],
                              capture_output=True, text=True, check=False)
    expect_equal(done.returncode, 1, "exit code")
    expect({"no wheel": "found 0 wheels", "two wheels": "found 2 wheels", "no address": "usage"}[case] in done.stderr, done.stderr)
