# SPDX-License-Identifier: MIT
"""Finetuning that is killed, interrupted, or short of memory ends with the bytes of an undisturbed run."""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from harness import QUARKQ, expect, expect_equal, quantize, quarkq, run, temp_folder, test
from reference import DIGITS, check_model, expect_same_file, mean_cosines, onnxruntime_results

MODEL = os.path.join(DIGITS, "digits.onnx")
LAYERS = 3
KILLS = 10
MOST_RUNS = 60
SETTINGS = ["--config", "XINT8_ADAROUND", "--calib", os.path.join(DIGITS, "calib"), "--threads", "1", "--no-verify",
            "--set", "FastFinetune.NumIterations=6000"]


class Bench:
    """A folder with an undisturbed result, and runs that write `out`."""

    def __init__(self, folder):
        self.whole, self.out, self.report = (os.path.join(folder, name) for name in ("whole.onnx", "out.onnx", "report.json"))
        self.state, self.temporary = self.out + ".finetune", os.path.join(folder, "tmp")
        os.mkdir(self.temporary)
        self.environment = {**os.environ, "TMPDIR": self.temporary}
        start = time.monotonic()
        quarkq("quantize", *SETTINGS, "-o", self.whole, MODEL)
        self.seconds = time.monotonic() - start

    def command(self, *more):
        return ["quantize", *SETTINGS, "--report", self.report, "-o", self.out, *more, MODEL]

    def start(self, *more):
        return subprocess.Popen([QUARKQ, *self.command(*more)], env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def done(self):
        """Finished layer -> what tells one file from another that was written later."""
        found = {}
        with contextlib.suppress(FileNotFoundError):
            for name in sorted(os.listdir(self.state)):
                if name.endswith(".bin"):
                    status = os.stat(os.path.join(self.state, name))
                    found[name] = (status.st_ino, status.st_mtime_ns, status.st_size)
        return found

    def expect_whole(self, finished):
        """The run that just ended made all layers but the finished ones, and left nothing behind."""
        with open(self.report, encoding="utf-8") as file:
            resumed = [layer["resumed"] for layer in json.load(file)["tuned_layers"]]
        expect_equal(resumed, [f"layer{i}.bin" in finished for i in range(LAYERS)], "layers taken from the run before")
        expect_same_file(self.whole, self.out, "resumed and undisturbed result")
        expect(not os.path.exists(self.state), f"{self.state} is still there: {self.done()}")
        expect_equal(os.listdir(self.temporary), [], "temporary files")
        os.remove(self.out)


@test()
def ten_random_kills():
    moments = random.Random(8)
    with temp_folder() as folder:
        bench, kills, runs, kept = Bench(folder), 0, 0, 0
        while kills < KILLS:
            runs += 1
            expect(runs <= MOST_RUNS, f"only {kills} of {MOST_RUNS} runs could be killed")
            before, process = bench.done(), bench.start("--set", "FastFinetune.MemOptLevel=2")
            try:
                process.communicate(timeout=moments.uniform(0, bench.seconds))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            if process.returncode == 0:
                bench.expect_whole(before)
                continue
            expect_equal(process.returncode, -signal.SIGKILL, "status of the killed run")
            kills += 1
            if os.path.exists(bench.out):  # killed after its last step
                expect_same_file(bench.whole, bench.out, "result of a run that was killed at its end")
                os.remove(bench.out)
                continue
            after = bench.done()
            kept += len(after)
            expect_equal({name: after.get(name) for name in before}, before, "layers that were finished before")
            expect_equal(os.listdir(bench.temporary), [], "temporary files of the killed run")
        last = bench.done()
        quarkq(*bench.command(), env=bench.environment)
        bench.expect_whole(last)
        expect(kept > 0, "no kill came after a layer")
    return f"{kills} kills in {runs} runs, {kept} layers kept, {bench.seconds:.1f} s undisturbed"


@test()
def ctrl_c_keeps_finished_layers():
    with temp_folder() as folder:
        bench = Bench(folder)
        process = bench.start()
        deadline = time.monotonic() + 30
        while not bench.done() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        expect_equal(process.returncode, 130, f"status after Ctrl-C ({errors.decode().strip()})")
        expect(not os.path.exists(bench.out), "a model was written")
        finished = bench.done()
        expect(0 < len(finished) < LAYERS, f"layers kept: {sorted(finished)}")
        expect_equal(os.listdir(bench.state), sorted(finished), "files of the interrupted run")
        quarkq(*bench.command())
        bench.expect_whole(finished)
        check_model(bench.whole)


@test()
def no_resume_keeps_nothing():
    with temp_folder() as folder:
        bench = Bench(folder)
        process = bench.start("--no-resume")
        time.sleep(bench.seconds * 0.6)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        expect(not os.path.exists(bench.state), "a folder of finished layers with --no-resume")


@test(cases=["MemoryBudgetMB=1", "MemOptLevel=0", "MemOptLevel=2"])
def memory_does_not_change_a_byte(setting):
    with temp_folder() as folder:
        bench = Bench(folder)
        result = quarkq(*bench.command("--set", f"FastFinetune.{setting}"), env=bench.environment)
        bench.expect_whole([])
        expect_equal("FastFinetune.MemoryBudgetMB" in result.stderr, setting == "MemoryBudgetMB=1", "a warning about the budget")


@test()
def an_unusable_cache_folder_is_named():
    with temp_folder() as folder:
        missing = os.path.join(folder, "missing")
        result = run("quantize", *SETTINGS, "--set", "FastFinetune.MemOptLevel=2", "--set", f"FastFinetune.CacheDir={missing}",
                     "-o", os.path.join(folder, "out.onnx"), MODEL)
        expect(result.returncode != 0 and missing in result.stderr, f"ended with {result.returncode}: {result.stderr}")
        expect(not os.path.exists(os.path.join(folder, "out.onnx")), "a model was written")


@test(cases=["XINT8_ADAROUND", "A8W8_ADAQUANT"])
def combines_with_the_other_algorithms(preset):
    with temp_folder() as folder:
        plain, combined = os.path.join(folder, "plain.onnx"), os.path.join(folder, "combined.onnx")
        common = ["--set", "FastFinetune.NumIterations=300"]
        quantize(MODEL, plain, os.path.join(DIGITS, "calib"), preset, *common)
        quantize(MODEL, combined, os.path.join(DIGITS, "calib"), preset, *common, "--set", "include_cle=true", "--set",
                 "BiasCorrection=true")
        check_model(combined)
        expect(pathlib.Path(plain).read_bytes() != pathlib.Path(combined).read_bytes(), "bias correction changed nothing")
        samples = os.path.join(DIGITS, "eval", "inputs")
        cosines = mean_cosines(onnxruntime_results(combined, samples), onnxruntime_results(MODEL, samples))
    expect(min(cosines.values()) > 0.995, f"cosines against float: {cosines}")
    return f"{cosines}"
