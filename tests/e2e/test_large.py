# SPDX-License-Identifier: MIT
"""Large models: weights stay on disk, and what fails or is killed while gigabytes are written leaves files old or new (small sizes
of tests/large; its records are made by tests/large/run.py)."""
import filecmp
import os
import resource
import signal
import subprocess
import sys
import time

import harness
from harness import QUARKQ, ROOT, contents, expect, expect_equal, temp_folder, test

sys.path.insert(0, os.path.join(ROOT, "tests", "large"))
import make_models  # noqa: E402
import run as large_run  # noqa: E402

MIB = 1 << 20
LARGE = 300 * MIB  # more than what is handled in memory


def made(folder, kind, **options):
    path = os.path.join(folder, "model.onnx")
    make_models.make(kind, path, **options)
    return path


@test(cases=["unet", "decoder", "tables", "image", "skips", "chain"])
def generated_models_are_the_same_each_time_and_run(kind):
    options = {"size": 20 * MIB, "side": 128, "nodes": 200}
    with temp_folder() as one, temp_folder() as two:
        first, second = made(one, kind, **options), made(two, kind, **options)
        for name in sorted(os.listdir(one)):
            expect(filecmp.cmp(os.path.join(one, name), os.path.join(two, name), shallow=False), f"{name} differs")
        expect_equal(large_run.runtime_verdict(first), "runs", kind)
        if kind in ("unet", "decoder", "tables"):
            expect(0.6 < large_run.bytes_of(second) / options["size"] < 1.4, f"{large_run.bytes_of(second)} bytes of {options['size']}")


@test(cases=["matmul_nbits", "bf16"])
def weights_stay_on_disk(preset):
    with temp_folder() as folder:
        model = made(folder, "decoder", size=LARGE)
        expect(large_run.bytes_of(model) > 256 * MIB, "the model is not large")
        row = large_run.run_case(large_run.Case("test", "decoder", (), large_run.quantize(preset)), model, folder)
        expect_equal(row["exit"], 0, row.get("message"))
        expect_equal(row["onnxruntime"], "runs", "the result")
        expect(row["anonymous_bytes"] < 128 * MIB, f"{row['anonymous_bytes']} bytes of memory that no file has")
        expect(row["own_peak_bytes"] < 256 * MIB, f"{row['own_peak_bytes']} bytes resident, the weights are {LARGE}")
        expect_equal([name for name in os.listdir(folder) if "spill" in name or ".part-" in name], [], "files left")


@test()
def embedding_tables_in_8_bits_below_a_ceiling():
    """Of 400 MiB of tables: the result has the same bytes as without the ceiling."""
    with temp_folder() as folder:
        model = made(folder, "tables", size=400 * MIB)
        command = large_run.quantize("matmul_nbits", "--set", "MatMulNBitsParams={{EmbeddingBits: 8}}")
        rows = [large_run.run_case(large_run.Case("test", "tables", (), command + more), model, folder) for more in ([], ["--max-memory", "300M"])]
        for row in rows:
            expect_equal((row["exit"], row.get("onnxruntime")), (0, "runs"), row.get("message"))
            expect(row["output_bytes"] < 0.28 * row["input_bytes"], f"{row['output_bytes']} bytes of {row['input_bytes']}")
        expect_equal(rows[1]["output_hash"], rows[0]["output_hash"], "result below the ceiling")
        expect(rows[1]["own_peak_bytes"] <= 300 * MIB, f"{rows[1]['own_peak_bytes']} bytes with --max-memory 300M")
        return f"{rows[0]['own_peak_bytes'] // MIB} MiB without a ceiling, {rows[1]['own_peak_bytes'] // MIB} MiB below 300M"


@test()
def many_nodes_take_their_share_of_time():
    seconds = {}
    for nodes in (1000, 8000):
        with temp_folder() as folder:
            row = large_run.run_case(large_run.Case("test", "chain", (), large_run.A8W8), made(folder, "chain", nodes=nodes), folder)
            expect_equal(row["exit"], 0, row.get("message"))
            seconds[nodes] = row["cpu_seconds"]
    expect(seconds[8000] < 16 * seconds[1000], f"seconds: {seconds}")


def limited(bytes_written):
    def set_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_written, bytes_written))
    return set_limit


EXTERNAL = ("--set", "use_external_data_format=true")


@test(cases=[("nothing before", False), ("a result before", True)])
def a_full_disk_leaves_old_files(case):
    _, has_old = case
    with temp_folder() as folder, temp_folder() as target:
        model, out = made(folder, "unet", size=20 * MIB), os.path.join(target, "out.onnx")
        if has_old:
            expect_equal(harness.run("quantize", model, "-o", out, "-c", "bf16", *EXTERNAL).returncode, 0, "the first run")
        before = contents(target)
        for limit in (100, 3000, MIB, 19 * MIB):  # in the model file, in the data file
            done = harness.run("quantize", model, "-o", out, "-c", "matmul_nbits", *EXTERNAL, preexec_fn=limited(limit))
            expect(done.returncode != 0 and "writing failed" in done.stderr, f"limit {limit}: {done.stderr[-300:]}")
            expect(contents(target) == before, f"limit {limit}: files changed: {sorted(os.listdir(target))}")


@test()
def a_killed_run_leaves_old_or_new_files():
    with temp_folder() as folder, temp_folder() as target:
        model, out = made(folder, "unet", size=60 * MIB), os.path.join(target, "out.onnx")
        command = [QUARKQ, "quantize", model, "-o", out, "-c", "matmul_nbits", *EXTERNAL]
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        whole = time.perf_counter() - start
        new = large_run.runtime_verdict(out)
        expect_equal(new, "runs", "the result")
        for step in range(24):
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                time.sleep(whole * step / 24)
                process.send_signal((signal.SIGKILL, signal.SIGTERM)[step % 2])
            expect_equal(large_run.runtime_verdict(out), "runs", f"the result after a kill at {step} of 24")


def with_ceiling(verb, model, out, size):
    done = large_run.measure([QUARKQ, verb, model, "-o", out, "-c", "a8w8", "--set", "UseRandomData=true", "--max-memory", size], out + ".log")
    with open(out + ".log", encoding="utf-8") as text:
        return done, text.read()


@test(cases=["quantize", "calibrate"])
def a_ceiling_is_refused_or_held(verb):
    with temp_folder() as folder:
        model, out = made(folder, "unet", size=20 * MIB), os.path.join(folder, "out")
        done, said = with_ceiling(verb, model, out, "30M")
        expect_equal(done["exit"], 7, said)
        expect(not os.path.exists(out), "a result that was refused")
        least = said.split("the smallest that does is ")[1].split()[0]
        expect("--max-memory allows 30M" in said and least.endswith("M"), said)
        done, said = with_ceiling(verb, model, out, least)
        expect_equal(done["exit"], 0, said)
        expect(done["own_peak_bytes"] <= int(least[:-1]) * MIB, f"{done['own_peak_bytes']} bytes with --max-memory {least}")


@test(cases=["quantize", "calibrate"])
def segments_leave_the_bytes(verb):
    with temp_folder() as folder:
        model = made(folder, "unet", size=100 * MIB)
        command = [QUARKQ, verb, model, "-c", "a8w8", "--set", "UseRandomData=true", *(["--on-collapse", "warn"] if verb == "quantize" else [])]
        plain, split, log = (os.path.join(folder, name) for name in ("plain", "split", "log"))
        whole = large_run.measure([*command, "-o", plain], log)
        expect_equal(whole["exit"], 0, verb)
        refused = harness.run(*command[1:], "-o", split, "--max-memory", "30M")
        expect_equal(refused.returncode, 7, refused.stderr)
        least = int(refused.stderr.split("the smallest that does is ")[1].split()[0][:-1]) * MIB
        expect(least < whole["own_peak_bytes"], f"the smallest ceiling is {least}, whole programs take {whole['own_peak_bytes']}")
        for ceiling in (least, (least + whole["own_peak_bytes"]) // 2):
            done = large_run.measure([*command, "-o", split, "--max-memory", str(ceiling)], log)
            expect_equal(done["exit"], 0, ceiling)
            expect(done["own_peak_bytes"] <= ceiling, f"{done['own_peak_bytes']} bytes below a ceiling of {ceiling}")
            expect(filecmp.cmp(plain, split, shallow=False), f"a ceiling of {ceiling} changed the result")


@test()
def values_that_wait_leave_memory_below_a_ceiling():
    """Skip connections of one image of 960 x 540, which together take more than the ceiling."""
    ceiling = 250 * MIB
    with temp_folder() as folder:
        model, calib = made(folder, "skips", side=960), os.path.join(folder, "calib")
        make_models.make_samples(model, calib, 1)
        command = [QUARKQ, "quantize", model, "-c", "a8w8", "--calib", calib, "--on-collapse", "warn"]
        plain, split, log = (os.path.join(folder, name) for name in ("plain", "split", "log"))
        whole = large_run.measure([*command, "-o", plain], log)
        expect_equal(whole["exit"], 0, "whole programs")
        expect(whole["own_peak_bytes"] > 1.2 * ceiling, f"whole programs take {whole['own_peak_bytes']} bytes")
        done = large_run.measure([*command, "-o", split, "--max-memory", str(ceiling)], log)
        expect_equal(done["exit"], 0, "below the ceiling")
        expect(done["own_peak_bytes"] <= ceiling, f"{done['own_peak_bytes']} bytes below a ceiling of {ceiling}")
        expect(filecmp.cmp(plain, split, shallow=False), "the ceiling changed the result")
        return f"{whole['own_peak_bytes'] / MIB:.0f} MiB, {done['own_peak_bytes'] / MIB:.0f} below the ceiling"


@test(cases=["optimize", "convert", "evaluate"])
def other_verbs_end_beyond_a_ceiling(verb):
    with temp_folder() as folder:
        model, out = made(folder, "unet", size=20 * MIB), os.path.join(folder, "out.onnx")
        command = {"optimize": ["optimize", model, "-o", out], "convert": ["convert", model, "-o", out],
                   "evaluate": ["evaluate", "--float", model, "--quantized", model, "--data", folder]}[verb]
        done = harness.run(*command, "--max-memory", "10M")
        expect_equal(done.returncode, 7, done.stderr)
        expect("--max-memory: the run has taken" in done.stderr, done.stderr)
        expect(not os.path.exists(out), "a result of a run that was ended")


@test()
def a_ceiling_leaves_the_result_and_the_messages():
    with temp_folder() as folder:
        model, results = made(folder, "chain", nodes=100), []
        for number, more in enumerate([[], ["--max-memory", "2G"]]):
            out = os.path.join(folder, f"{number}.onnx")
            done = harness.run("quantize", model, "-o", out, "-c", "a8w8", "--set", "UseRandomData=true", *more)
            expect_equal(done.returncode, 0, done.stderr)
            with open(out, "rb") as file:
                results.append(file.read())
        expect(results[0] == results[1], "the ceiling changed the result")
        absent = harness.run("quantize", os.path.join(folder, "absent.onnx"), "-c", "a8w8", "--max-memory", "2G")
        expect(absent.returncode == 2 and "no such file" in absent.stderr, absent.stderr)
        words = harness.run("quantize", model, "-c", "a8w8", "--max-memory", "much")
        expect(words.returncode == 2 and "--max-memory" in words.stderr, words.stderr)
