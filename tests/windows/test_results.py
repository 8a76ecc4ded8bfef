# SPDX-License-Identifier: MIT
"""The same results as on Linux, and in ONNX Runtime for Windows."""
import os
import signal
import subprocess
import tempfile
import time

from support import (BUILD, CALIB, EVAL, MODEL, NETWORKS, PRESETS, SECONDS, SHARED, TUNE, WINDOWS, WINE, Skip, cases, expect, expect_same_files, fails, linux,
    on_both, onnxruntime_dll, quantize, read, succeeds, test, windows, windows_path)


@cases("list presets", "list options --json", "list diagnostics", "config show XINT8", "list targets --json")
def prints_the_same(arguments):
    expect(linux(*arguments.split()).stdout == succeeds(windows(*arguments.split())).stdout, "the text differs")


@cases(*PRESETS)
def digits_give_the_same_bytes(preset):
    with tempfile.TemporaryDirectory() as folder:
        first, second = on_both(folder, MODEL, CALIB, preset)
        expect(read(first) == read(second), "the models differ")


@cases(*NETWORKS)
def networks_give_the_same_bytes(network):
    model, calib = os.path.join(SHARED, "models", network + ".onnx"), os.path.join(SHARED, "golden", "inputs", network, "calib")
    if not os.path.isfile(model):
        raise Skip(f"../shared/models/{network}.onnx is not there")
    with tempfile.TemporaryDirectory() as folder:
        first, second = on_both(folder, model, calib)
        expect(read(first) == read(second), "the models differ")


@test
def statistics_and_merged_shards_are_the_same():
    with tempfile.TemporaryDirectory() as folder:
        for name, program in (("linux", linux), ("windows", windows)):
            os.makedirs(os.path.join(folder, name))
            parts = [os.path.join(folder, name, f"{i}.stats") for i in (0, 1)]
            for i, part in enumerate(parts):
                succeeds(program("calibrate", "--config", "XINT8", "--calib", CALIB, "--shard", f"{i}/2", "--isa", "avx2", "-o", part, MODEL))
            succeeds(program("merge", "-o", os.path.join(folder, name, "all.stats"), *parts))
        expect_same_files(os.path.join(folder, "linux"), os.path.join(folder, "windows"))


@test
def results_of_run_and_evaluate_are_the_same():
    with tempfile.TemporaryDirectory() as folder:
        for name, program in (("linux", linux), ("windows", windows)):
            succeeds(program("run", MODEL, "--inputs", EVAL, "--outputs", os.path.join(folder, name), "--isa", "avx2", "--limit", 32, "--quiet"))
        names = sorted(os.listdir(os.path.join(folder, "linux")))
        expect(names == sorted(os.listdir(os.path.join(folder, "windows"))) and len(names) == 32, f"{len(names)} results")
        compared = succeeds(windows("evaluate", "--baseline_results_folder", os.path.join(folder, "linux"), "--quantized_results_folder",
                                    os.path.join(folder, "windows"), "--min-cos", "0.999999"))
        expect(b"Mean cos similarity" in compared.stdout, compared.stdout.decode(errors="replace")[:200])


@test
def check_and_report_agree():
    with tempfile.TemporaryDirectory() as folder:
        model, page = os.path.join(folder, "out.onnx"), os.path.join(folder, "run.json")
        quantize(windows, MODEL, CALIB, model, "--report", page)
        expect(linux("check", model).stdout == succeeds(windows("check", model)).stdout, "check differs")
        for name, program in (("a.html", linux), ("b.html", windows)):
            succeeds(program("report", page, "-o", os.path.join(folder, name)))
        expect(read(os.path.join(folder, "a.html")) == read(os.path.join(folder, "b.html")), "the page differs")


@test
def merged_shards_give_the_model_of_linux():
    with tempfile.TemporaryDirectory() as folder:
        parts = [os.path.join(folder, f"{i}.stats") for i in (0, 1)]
        for i, part in enumerate(parts):
            succeeds(windows("calibrate", "--config", "XINT8", "--calib", CALIB, "--shard", f"{i}/2", "--isa", "avx2", "-o", part, MODEL))
        succeeds(windows("merge", "-o", os.path.join(folder, "all.stats"), *parts))
        found = []
        for name, program in (("linux", linux), ("windows", windows)):
            os.makedirs(os.path.join(folder, name))
            found.append(os.path.join(folder, name, "out.onnx"))
            succeeds(program("quantize", "--config", "XINT8", "--stats", os.path.join(folder, "all.stats"), "-o", found[-1], "--isa", "avx2", "--quiet", MODEL))
        expect(read(found[0]) == read(found[1]), "the models differ")


@test
def tuning_gives_the_same_model_despite_kills():
    """Killed at growing moments, the last run takes over what was finished."""
    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "linux.onnx")
        begin = time.monotonic()
        succeeds(linux(*TUNE, "-o", whole))
        expect(time.monotonic() - begin < SECONDS / 4, "tuning is too slow for this test")
        output, kills = os.path.join(folder, "windows.onnx"), 0
        for part in range(1, 7):
            process = subprocess.Popen(list(map(str, [WINE, WINDOWS, *TUNE, "-o", output])), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            try:
                process.wait(0.6 * part)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
        succeeds(windows(*TUNE, "-o", output))
        left = [name for name in os.listdir(folder) if name.startswith("windows.onnx.")]
        expect(read(output) == read(whole), "the model differs from that of Linux")
        expect(not left, f"{left} are left after {kills} kills")
        expect(kills > 1, "no run was killed")


@cases("float", "XINT8", "A8W8", "BF16", "BFP16")
def onnxruntime_runs(preset):
    """Values of ONNX Runtime for Windows against those of the own executor."""
    environment = onnxruntime_dll()
    with tempfile.TemporaryDirectory() as folder:
        model = MODEL
        if preset != "float":
            model = os.path.join(folder, "out.onnx")
            quantize(windows, MODEL, CALIB, model, config=preset)
        operators = ["--set", f"UserCustomOpLibPath={windows_path(os.path.join(BUILD, 'quarkq_ort_ops.dll'))}"] if preset.startswith("BF") else []
        for name, more in (("own", []), ("ort", ["--backend", "ort", *operators])):
            succeeds(windows("run", model, "--inputs", EVAL, "--outputs", os.path.join(folder, name), "--limit", 16, "--quiet", *more, env=environment))
        succeeds(windows("evaluate", "--baseline_results_folder", os.path.join(folder, "own"), "--quantized_results_folder", os.path.join(folder, "ort"),
                         "--min-cos", "0.9999"))
        expect(len(os.listdir(os.path.join(folder, "ort"))) == 16, "results are missing")


@test
def onnxruntime_calibrates():
    environment = onnxruntime_dll()
    with tempfile.TemporaryDirectory() as folder:
        own, other = os.path.join(folder, "own.onnx"), os.path.join(folder, "other.onnx")
        quantize(windows, MODEL, CALIB, own)
        result = succeeds(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", other, "--isa", "avx2", "--backend", "ort", "--json", MODEL,
                                  env=environment))
        expect(b"calibrated with onnxruntime 1.32.0 (CPUExecutionProvider)" in result.stdout, "the report names another backend")
        for path in (own, other):
            succeeds(windows("check", path))


@test
def a_missing_runtime_is_named():
    fails(windows("run", MODEL, "--inputs", EVAL, "--outputs", "none", "--backend", "ort", env={**os.environ, "QUARKQ_ONNXRUNTIME": "Z:\\none.dll"}), 3,
          "none.dll")
