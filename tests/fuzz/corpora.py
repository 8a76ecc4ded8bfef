#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The corpora of the repository: corpora.py FUZZER [--grown FOLDER] [--jobs N] packs the least inputs of the grown corpora (run.py --hours) that still
cover all of their edges into tests/fuzz/corpora.tar.xz. run.py runs them as seeds, or begins with them."""
import argparse
import concurrent.futures
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPERATOR_TESTS = os.path.join(ROOT, "build/deps/onnx/work/onnx-*/onnx/backend/test/data")  # of the onnx archive: seeds of models
LOGS = os.path.join(ROOT, "build/test-logs")
PACKED = os.path.join(ROOT, "tests", "fuzz", "corpora.tar.xz")
LARGEST = 8192  # bytes of an input
SLOWEST = 1.0   # seconds of an input under the sanitizers
TOGETHER = 200  # inputs that a process runs
SANITIZERS = {"ASAN_OPTIONS": "detect_container_overflow=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1",
              "LSAN_OPTIONS": "print_suppressions=0"}


def environment(target):
    return {**os.environ, **SANITIZERS, "QUARKQ_FUZZ_TARGET": target}


def targets_of(fuzzer):
    """{name: whether its seeds are files}"""
    lines = subprocess.run([fuzzer, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: line.endswith(" files") for line in lines}


def packed_inputs():
    """{target: the bytes of its inputs} of the archive as it is."""
    corpora = {}
    if os.path.exists(PACKED):
        with tarfile.open(PACKED) as archive:
            for member in archive:
                corpora.setdefault(member.name.split("/")[0], []).append(archive.extractfile(member).read())
    return corpora


def unpack(folder):
    """Writes FOLDER/TARGET/1, 2, ... of each target that has a corpus."""
    for target, inputs in packed_inputs().items():
        os.makedirs(os.path.join(folder, target))
        for number, content in enumerate(inputs, 1):
            with open(os.path.join(folder, target, str(number)), "wb") as file:
                file.write(content)


def seconds_of(fuzzer, target, paths):
    """{path: seconds} of the inputs that run without a fault."""
    run = subprocess.run([fuzzer, *paths], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                         env=environment(target))
    if run.returncode == 0:
        return {path: int(milliseconds) / 1000 for path, milliseconds in re.findall(r"^Executed (.*) in (\d+) ms$", run.stderr, re.MULTILINE)}
    return {} if len(paths) == 1 else {path: seconds for one in paths for path, seconds in seconds_of(fuzzer, target, [one]).items()}


def quick_inputs(fuzzer, target, folder):
    """The inputs of the folder that are small and quick, in the order of their sizes."""
    paths = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=lambda path: (os.path.getsize(path), path))
    paths = [path for path in paths if os.path.getsize(path) <= LARGEST]
    for begin in range(0, len(paths), TOGETHER):
        seconds = seconds_of(fuzzer, target, paths[begin:begin + TOGETHER])
        yield from (path for path in paths[begin:begin + TOGETHER] if seconds.get(path, SLOWEST + 1) <= SLOWEST)


def least(fuzzer, target, grown):
    """The bytes of the inputs that cover what the grown corpus does."""
    with tempfile.TemporaryDirectory() as folder:
        merge = [fuzzer, "-set_cover_merge=1", "-use_counters=0", f"-artifact_prefix={folder}-", folder, grown]
        subprocess.run(merge, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment(target))
        inputs = []
        for path in quick_inputs(fuzzer, target, folder):
            with open(path, "rb") as file:
                inputs.append(file.read())
        return inputs


def pack(corpora):
    with lzma.open(PACKED + ".part", "wb", preset=9) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for target in sorted(corpora):
            for number, content in enumerate(corpora[target], 1):
                member = tarfile.TarInfo(f"{target}/{number}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    os.replace(PACKED + ".part", PACKED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzzer")
    parser.add_argument("--grown", default=os.path.join(ROOT, "build", "fuzz", "corpora"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    grown = [target for target in targets_of(arguments.fuzzer) if os.path.isdir(os.path.join(arguments.grown, target))]

    def one(target):
        inputs = least(arguments.fuzzer, target, os.path.join(arguments.grown, target))
        print(f"{target}: {len(inputs)} inputs, {sum(map(len, inputs))} bytes", flush=True)
        return inputs
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        pack(packed_inputs() | dict(zip(grown, pool.map(one, grown))))  # what did not grow stays
    print(f"{PACKED}: {os.path.getsize(PACKED)} bytes")


if __name__ == "__main__":
    sys.exit(main())
