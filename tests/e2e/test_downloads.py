# SPDX-License-Identifier: MIT
"""What a build and the action download: nothing of it runs or is unpacked before its hash was right."""
import hashlib
import os
import re
import subprocess
import sys
import tarfile

from harness import QUARKQ, ROOT, expect, expect_equal, temp_folder, test

FETCH = os.path.join(ROOT, "third_party", "fetch_archive.py")
BUILD = os.path.join(ROOT, "third_party", "onnx", "build.sh")
NAME = "onnx-1.23.2"


def settings(folder, **more):
    """No other place than `folder`, whatever this machine is configured for."""
    return {**os.environ, "PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, **more}


def archive_with_code(folder, proof):
    """A source archive whose build backend writes a file."""
    source, links = os.path.join(folder, NAME), os.path.join(folder, "links")
    os.makedirs(source)
    os.makedirs(links)
    code = f"open({proof!r}, 'w').close()\n"
    files = {"PKG-INFO": f"Metadata-Version: 2.1\nName: onnx\nVersion: {NAME[5:]}\n", "setup.py": code, "backend.py": code,
             "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n', "CMakeLists.txt": f"file(WRITE {proof} \"\")\n"}
    for name, text in files.items():
        with open(os.path.join(source, name), "w", encoding="utf-8") as file:
            file.write(text)
    path = os.path.join(links, NAME + ".tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(source, NAME)
    return path, links


@test()
def nothing_of_an_archive_runs_before_its_hash():
    with temp_folder() as folder:
        proof, prefix = os.path.join(folder, "ran"), os.path.join(folder, "prefix")
        _, links = archive_with_code(folder, proof)
        done = subprocess.run([BUILD, prefix], env=settings(links), capture_output=True, text=True, check=False)
        expect(done.returncode != 0 and "has another SHA-256" in done.stderr, f"exit code {done.returncode}, {done.stderr}")
        expect(not os.path.exists(proof), "code of the archive ran")
        expect_equal(sorted(os.listdir(prefix)), ["work"], "files left")
        expect_equal(os.listdir(os.path.join(prefix, "work")), [], "what was unpacked")


@test()
def a_file_comes_from_where_pip_looks():
    with temp_folder() as folder:
        path, links = archive_with_code(folder, os.path.join(folder, "ran"))
        with open(path, "rb") as file:
            data = file.read()
        right, to = hashlib.sha256(data).hexdigest(), os.path.join(folder, "fetched.tar.gz")

        def fetch(name, sha256, **more):
            return subprocess.run([sys.executable, FETCH, "onnx", name, sha256, to], env=settings(links, **more), capture_output=True, text=True, check=False)
        for name, sha256, words in ((NAME + ".tar.gz", "0" * 64, "has another SHA-256"), ("onnx-9.tar.gz", right, "was not found where pip looks")):
            done = fetch(name, sha256)
            expect(done.returncode == 1 and words in done.stderr, f"{name}: exit code {done.returncode}, {done.stderr}")
            expect_equal((os.path.exists(to), sorted(os.listdir(folder))), (False, ["links", NAME]), "files left")
        done = fetch(NAME + ".tar.gz", right)
        expect_equal(done.returncode, 0, done.stderr)
        with open(to, "rb") as file:
            expect(file.read() == data, "other bytes")
        expect_equal(fetch(NAME + ".tar.gz", right, PIP_FIND_LINKS="").returncode, 0, "with the file there already")
        index = os.path.join(folder, "simple", "onnx")  # an index is a page with links
        os.makedirs(index)
        with open(os.path.join(index, "index.html"), "w", encoding="utf-8") as file:
            file.write(f'<a href="../../links/{NAME}.tar.gz#sha256=0">{NAME}.tar.gz</a>')
        os.remove(to)
        server = subprocess.Popen([sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", folder, "0"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        try:
            port = re.search(r"port (\d+)", server.stdout.readline()).group(1)
            done = fetch(NAME + ".tar.gz", right, PIP_FIND_LINKS="", PIP_NO_INDEX="0", PIP_INDEX_URL=f"http://127.0.0.1:{port}/simple", no_proxy="127.0.0.1")
            expect_equal(done.returncode, 0, done.stderr)
        finally:
            server.kill()
            server.wait()


@test()
def the_action_installs_its_own_release():
    """Not a name that anybody may register, and no code of a source archive."""
    actions = ["action.yml", os.path.join("packaging", "gate", "action.yml")]
    for action in actions:
        with open(os.path.join(ROOT, action), encoding="utf-8") as file:
            text = file.read()
        expect_equal(re.findall(r".*pip\"? install.*", text), [], f"{action} installs by itself")
        expect("install_release.sh" in text, f"{action} does not call packaging/install_release.sh")
        expect(re.search(r'  wheel:\n.*\n +required: false\n +default: ""\n', text), f"{action}: the default of the input wheel is not empty")
    with open(os.path.join(ROOT, "packaging", "install_release.sh"), encoding="utf-8") as file:
        text = file.read()
    installs = re.findall(r"pip\"? install[^\n]*", text)
    expect_equal(len(installs), 1, f"commands that install: {installs}")
    for word in ("--no-index", "--no-deps", "--only-binary :all:", '"$WHEEL"'):
        expect(word in installs[0], f"without {word}: {installs[0]}")
    for word in ("sha256sum --check --strict --ignore-missing SHA256SUMS", "gh attestation verify", "CMakeLists.txt"):
        expect(word in text, f"without {word}")
    version = re.search(r"project\(quarkq VERSION ([0-9.]+)", open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8").read())
    expect(version is not None, "the version that the action looks for is not in CMakeLists.txt")


@test(cases=[({"TARGET": "x1", "MIN_NPU": "80%", "PREPROCESS": ""}, 0, "on x1: "), ({"CONFIG": "xint8", "PREPROCESS": "imagenet"}, 0, "option-no-effect"),
             ({"CONFIG": "a8w8", "TARGET": "x1", "MIN_NPU": "80%"}, 6, "--min-npu")])
def the_action_passes_its_inputs(case):
    inputs, code, said = case
    with open(os.path.join(ROOT, "action.yml"), encoding="utf-8") as file:
        script = file.read().rsplit("run: |\n", 1)[1]
    digits = os.path.join(ROOT, "examples", "digits")
    with temp_folder() as folder:
        os.makedirs(os.path.join(folder, "quarkq", "bin"))
        os.symlink(QUARKQ, os.path.join(folder, "quarkq", "bin", "quarkq"))
        environment = {**os.environ, "RUNNER_TEMP": folder, "MODEL": os.path.join(digits, "digits.onnx"), "CALIB": os.path.join(digits, "calib"),
                       "OUTPUT": os.path.join(folder, "q.onnx"), "REPORT": os.path.join(folder, "report.json"), **inputs}
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env=environment, capture_output=True, text=True, check=False)
    expect(done.returncode == code and said in done.stdout + done.stderr, f"exit code {done.returncode}, {done.stdout[-200:]}{done.stderr[-400:]}")


@test(cases=["third_party/onnx/build.sh", "third_party/onnxruntime/fetch_headers.sh"])
def scripts_do_not_ask_pip_for_archives(script):
    with open(os.path.join(ROOT, script), encoding="utf-8") as file:
        text = file.read()
    expect("pip download" not in text and "fetch_archive.py" in text, "downloads by pip, which runs code of source archives")
