#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs quarkq on large models: run.py [-k PART] [--folder DIR] [--record FILE].

Each case makes its models (make_models.py), times copying them, runs the program and loads the result in ONNX Runtime. Printed are the
peak of resident memory (VmHWM, which counts pages of mapped files; ru_maxrss, recorded as well, begins with what this script has
taken), the peak of anonymous memory among samples of /proc/PID/status, the time, and that of copying the model's files in the same run. Models are deleted after their cases.
"""
import argparse
import dataclasses
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import make_models

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))
MIB = 1 << 20
SAMPLE_SECONDS = 0.01
BLOCK = 8 * MIB
RUNTIME_SECONDS = 60  # ONNX Runtime takes time quadratic in the nodes of Q/DQ graphs
CHECKS_UP_TO = 3 << 30  # bytes of a result that ONNX Runtime still loads here

A8W8 = ["quantize", "{model}", "-o", "{out}", "--config", "a8w8", "--set", "UseRandomData=true"]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    model: str        # a kind of make_models
    options: tuple    # of make_models.make
    command: list
    samples: int = 0  # made in the folder {calib}


def quantize(preset, *more):
    return ["quantize", "{model}", "-o", "{out}", "--config", preset, *more]


def large_case(kind, size, preset):
    return Case(f"{kind}-{size // 1000 ** 3}g-{preset}", kind, (("size", size),), quantize(preset))


def below_ceiling(name, kind, options, preset, samples):
    """Two cases, plain and with --max-memory 2G, whose results must have the same bytes. Random networks collapse: no rescue."""
    command = quantize(preset, "--calib", "{calib}", "--on-collapse", "warn")
    return [Case(name, kind, options, command, samples), Case(name + "-2g", kind, options, command + ["--max-memory", "2G"], samples)]


CASES = [
    *(large_case("unet", 3 * 1000 ** 3, preset) for preset in ("bf16", "matmul_nbits")),
    *(large_case("decoder", 1000 ** 3, preset) for preset in ("bf16", "matmul_nbits")),
    large_case("decoder", 6 * 1000 ** 3, "matmul_nbits"),
    *(Case(f"chain-{nodes}-a8w8", "chain", (("nodes", nodes),), A8W8) for nodes in (1000, 10000, 100000)),
    *(Case(f"chain-{nodes}-optimize", "chain", (("nodes", nodes),), ["optimize", "{model}", "-o", "{out}"])
      for nodes in (1000, 10000, 100000)),
    *(case for preset in ("a8w8", "xint8")
      for case in below_ceiling(f"unet-3g-{preset}-16-samples", "unet", (("size", 3 * 1000 ** 3),), preset, 16)),
    *below_ceiling("image-4k-a8w8-4-samples", "image", (), "a8w8", 4),
    *below_ceiling("skips-4k-a8w8-2-samples", "skips", (), "a8w8", 2),
    *below_ceiling("skips-4k-13-a8w8-2-samples", "skips", (("depth", 13),), "a8w8", 2),  # whole programs take more than 8 GB
]


def files_of(model):
    return [path for path in (model, model + ".data") if os.path.exists(path)]


def bytes_of(model):
    return sum(os.path.getsize(path) for path in files_of(model))


def copy_seconds(model, folder):
    """Reading and writing every byte once, in blocks."""
    start = time.perf_counter()
    for path in files_of(model):
        target = os.path.join(folder, "copy")
        with open(path, "rb") as source, open(target, "wb") as copy:
            while block := source.read(BLOCK):
                copy.write(block)
        os.remove(target)
    return time.perf_counter() - start


class MemoryWatch:
    """Peaks of RssAnon and of VmHWM of a process, in bytes, sampled until it ends. Unlike ru_maxrss, VmHWM begins with the program: what
    started it does not count."""

    def __init__(self, pid):
        self.peaks, self.pid, self.ends = {"RssAnon:": 0, "VmHWM:": 0}, pid, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.ends.wait(SAMPLE_SECONDS):
            try:
                with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
                    for line in status:
                        name = line.split(maxsplit=1)[0]
                        if name in self.peaks:
                            self.peaks[name] = max(self.peaks[name], int(line.split()[1]) << 10)
            except OSError:
                return

    def stop(self):
        self.ends.set()
        self.thread.join()
        return self.peaks


def measure(command, log):
    """Runs the program: its exit code, seconds and peaks of memory."""
    start = time.perf_counter()
    with open(log, "w", encoding="utf-8") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        watch = MemoryWatch(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        peaks = watch.stop()
        return {"exit": process.returncode, "seconds": round(seconds, 2), "peak_bytes": usage.ru_maxrss << 10,
                "own_peak_bytes": peaks["VmHWM:"], "anonymous_bytes": peaks["RssAnon:"],
                "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2)}


LOADS = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 3
if len(sys.argv) > 2: options.register_custom_ops_library(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options)
feed = {}
for one in session.get_inputs():
    dims = [dim if isinstance(dim, int) else 1 for dim in one.shape]
    feed[one.name] = numpy.ones(dims, numpy.int64 if "int64" in one.type else numpy.float32)
finite = all(numpy.isfinite(output).all() for output in session.run(None, feed))
print("runs" if finite else "not finite")
"""


def runtime_verdict(result):
    """Whether ONNX Runtime loads and runs the result, in a process of its own."""
    if bytes_of(result) > CHECKS_UP_TO:
        return "not tried, too large"
    operators = os.path.join(os.path.dirname(QUARKQ), "libquarkq_ort_ops.so")
    command = [sys.executable, "-c", LOADS, result] + ([operators] if os.path.exists(operators) else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUNTIME_SECONDS)
    except subprocess.TimeoutExpired:
        return f"does not end within {RUNTIME_SECONDS} s"
    return done.stdout.strip() or (done.stderr.strip().splitlines() or ["no message"])[-1][:200]


def hash_of(model):
    found = hashlib.sha256()
    for path in files_of(model):
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                found.update(block)
    return found.hexdigest()[:16]


def run_case(case, model, folder):
    out, calib = os.path.join(folder, "out.onnx"), os.path.join(folder, "calib")
    if case.samples:
        make_models.make_samples(model, calib, case.samples)
    command = [QUARKQ] + [part.format(model=model, out=out, calib=calib) for part in case.command]
    log = os.path.join(folder, "log")
    row = {"name": case.name, "input_bytes": bytes_of(model), "copy_seconds": round(copy_seconds(model, folder), 2)}
    row.update(measure(command, log))
    if row["exit"] != 0:
        with open(log, encoding="utf-8") as text:
            row["message"] = text.read().replace(folder + os.sep, "").strip()[-300:]
    else:
        row["output_bytes"], row["output_hash"] = bytes_of(out), hash_of(out)
        row["onnxruntime"] = runtime_verdict(out)
    for path in files_of(out):
        os.remove(path)
    return row


def print_row(row):
    print(f"{row['name']:28} {row['input_bytes'] / 1e9:6.2f} GB in {row.get('output_bytes', 0) / 1e9:6.2f} out"
          f"  peak {row['own_peak_bytes'] / MIB:6.0f} MiB  anonymous {row['anonymous_bytes'] / MIB:6.0f} MiB"
          f"  {row['seconds']:7.2f} s  copy {row['copy_seconds']:6.2f} s  {row.get('onnxruntime', row.get('message'))}", flush=True)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"processor": names[0] if names else platform.processor(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory / 2 ** 30, 1), "system": platform.system() + " " + platform.release()}


def run(cases, folder, file=None):
    """Rows of `cases`, each recorded in `file` at once; neighbours that read the same model share it."""
    rows, made = [], None
    model = os.path.join(folder, "model.onnx")
    for case in cases:
        if made != (case.model, case.options):
            for path in files_of(model):
                os.remove(path)
            make_models.make(case.model, model, **dict(case.options))
            made = (case.model, case.options)
        rows.append(run_case(case, model, folder))
        print_row(rows[-1])
        if file:
            record(file, rows[-1:])
    return rows


def record(file, rows):
    """Replaces the rows of the same names in `file`."""
    known = {}
    if os.path.exists(file):
        with open(file, encoding="utf-8") as text:
            known = {row["name"]: row for row in json.load(text)["cases"]}
    known.update({row["name"]: row for row in rows})
    with open(file, "w", encoding="utf-8") as text:
        json.dump({"machine": machine(), "cases": list(known.values())}, text, indent=1)
        text.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only cases whose name holds this")
    parser.add_argument("--folder", help="for models and results; by default a temporary one")
    parser.add_argument("--record", help="a JSON file whose rows of these cases are replaced")
    options = parser.parse_args()
    cases = [case for case in CASES if options.k in case.name]
    folder = tempfile.mkdtemp(prefix="quarkq-large-", dir=options.folder)
    try:
        rows = run(cases, folder, options.record)
    finally:
        shutil.rmtree(folder)
    sys.exit(any(row["exit"] != 0 for row in rows))


if __name__ == "__main__":
    main()
