# SPDX-License-Identifier: MIT
"""Finetuning by several processes that share a folder: the bytes of a single one, whoever is killed and whatever lies there."""
import json
import os
import pathlib
import signal
import subprocess
import time

from harness import QUARKQ, expect, expect_equal, quarkq, run, temp_folder, test
from reference import DIGITS, expect_same_file

MODEL = os.path.join(DIGITS, "digits.onnx")
LAYERS = 3
DEADLINE_SECONDS = 120


class Bench:
    """A folder with the result of a single process, and workers that write `out`."""

    def __init__(self, folder, *settings, iterations=3000):
        self.settings = ["--config", "XINT8_ADAROUND", "--calib", os.path.join(DIGITS, "calib"), "--threads", "1", "--no-verify",
                         "--set", f"FastFinetune.NumIterations={iterations}", "--set", "FastFinetune.Parallel=true"]
        for setting in settings:
            self.settings += ["--set", setting]
        self.folder, self.shared = folder, os.path.join(folder, "shared")
        self.whole, self.out = (os.path.join(folder, name) for name in ("whole.onnx", "out.onnx"))
        quarkq("quantize", *self.settings, "-o", self.whole, MODEL)

    def command(self, number, *more):
        return ["quantize", *self.settings, "--workers-folder", self.shared, "--report", self.report(number), "-o", self.out, *more, MODEL]

    def report(self, number):
        return os.path.join(self.folder, f"report{number}.json")

    def start(self, number):
        return subprocess.Popen([QUARKQ, *self.command(number)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def end(self, processes):
        for process in processes:
            _, errors = process.communicate(timeout=DEADLINE_SECONDS)
            expect_equal(process.returncode, 0, f"status ({errors.decode().strip()})")
        expect_same_file(self.whole, self.out, "result of workers and of one process")

    def files(self):
        return sorted(path.name for path in pathlib.Path(self.shared).glob("*/*"))

    def expect_finished(self):
        expect_equal(self.files(), [f"layer{i}.bin" for i in range(LAYERS)], "files in the shared folder")

    def own_layers(self, number):
        with open(self.report(number), encoding="utf-8") as file:
            layers = json.load(file)["tuned_layers"]
        expect_equal(len(layers), LAYERS, "layers in the report")
        return sum(not layer["resumed"] for layer in layers)

    def first_claim(self):
        """Process that trains a layer, as soon as there is one."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            for path in pathlib.Path(self.shared).glob("*/*.claim"):
                try:
                    text = path.read_text(encoding="utf-8")
                except FileNotFoundError:
                    continue
                if text.endswith("\n"):
                    return int(text.partition("-")[0])
            time.sleep(0.002)
        raise AssertionError("no worker has claimed a layer")


@test(cases=["1", "2", "4"])
def workers_do_not_show(count):
    with temp_folder() as folder:
        bench = Bench(folder, "FastFinetune.ClaimSeconds=600")
        bench.end([bench.start(number) for number in range(int(count))])
        bench.expect_finished()
        own = [bench.own_layers(number) for number in range(int(count))]
        expect_equal(sum(own), LAYERS, f"layers trained, by worker {own}")
        os.remove(bench.out)
        late = quarkq(*bench.command("late"))
        bench.end([])
        expect_equal(bench.own_layers("late"), 0, "layers trained by a worker that came late")
        expect("3 trained by other processes" in late.stdout, late.stdout)
    return f"layers by worker: {own}"


@test()
def a_killed_worker_is_replaced():
    with temp_folder() as folder:
        bench = Bench(folder, "FastFinetune.ClaimSeconds=1", iterations=6000)
        workers = [bench.start(number) for number in range(3)]
        victim = bench.first_claim()
        os.kill(victim, signal.SIGKILL)
        killed = [process for process in workers if process.pid == victim]
        expect_equal(len(killed), 1, f"workers with the number {victim} of the claim")
        killed[0].communicate(timeout=DEADLINE_SECONDS)
        expect_equal(killed[0].returncode, -signal.SIGKILL, "status of the killed worker")
        bench.end([process for process in workers if process.pid != victim])
        bench.expect_finished()


@test()
def the_only_worker_is_killed():
    with temp_folder() as folder:
        bench = Bench(folder, "FastFinetune.ClaimSeconds=1", iterations=6000)
        worker = bench.start(0)
        bench.first_claim()
        worker.kill()
        worker.communicate(timeout=DEADLINE_SECONDS)
        expect(not os.path.exists(bench.out), "a model was written")
        expect(any(name.endswith(".claim") for name in bench.files()), f"files of the killed worker: {bench.files()}")
        bench.end([bench.start(1)])
        expect(not any(name.endswith(".claim") for name in bench.files()), f"files at the end: {bench.files()}")


@test(cases=["SIGTERM", "SIGINT"])
def interrupted_workers_give_up_their_claim(name):
    with temp_folder() as folder:
        bench = Bench(folder, "FastFinetune.ClaimSeconds=600", iterations=6000)
        worker = bench.start(0)
        bench.first_claim()
        worker.send_signal(getattr(signal, name))
        _, errors = worker.communicate(timeout=DEADLINE_SECONDS)
        expect_equal(worker.returncode, 130, "status")
        expect(bench.shared in errors.decode(), f"the folder is not named: {errors.decode()}")
        expect(all(file.endswith(".bin") for file in bench.files()), f"files of the interrupted worker: {bench.files()}")
        bench.end([bench.start(1)])  # would wait for ten minutes if the claim were there
        bench.expect_finished()


@test()
def damaged_files_are_made_again():
    with temp_folder() as folder:
        bench = Bench(folder, "FastFinetune.ClaimSeconds=1", iterations=300)
        bench.end([bench.start(0)])
        layers = sorted(pathlib.Path(bench.shared).glob("*/layer*.bin"))
        os.truncate(layers[0], layers[0].stat().st_size // 2)
        content = bytearray(layers[1].read_bytes())
        content[-1] ^= 1
        layers[1].write_bytes(content)
        layers[2].unlink()
        layers[2].with_suffix(".claim").write_bytes(b"\xff" * 5000)
        os.remove(bench.out)
        bench.end([bench.start(1)])
        expect_equal(bench.own_layers(1), LAYERS, "layers trained again")
        bench.expect_finished()


@test()
def every_layer_is_told():
    with temp_folder() as folder:
        bench = Bench(folder, iterations=300)
        first = quarkq(*bench.command(0))
        second = quarkq(*bench.command(1))
        silent = quarkq(*bench.command(2, "--quiet"))
    expect_equal(first.stderr.count("training node "), LAYERS, f"layers that the first one trains: {first.stderr}")
    expect_equal(second.stderr.count("found node "), LAYERS, f"layers that the second one finds: {second.stderr}")
    expect_equal(silent.stderr, "", "with --quiet")


REFUSED = {
    "layers after each other": (["--config", "XINT8_ADAROUND"], "FastFinetune.Parallel=true"),
    "SelectiveUpdate": (["--config", "XINT8_ADAROUND", "--set", "FastFinetune.Parallel=true", "--set", "FastFinetune.SelectiveUpdate=true"],
                        "FastFinetune.SelectiveUpdate"),
    "nothing to train": (["--config", "XINT8"], "these settings do not train any layer"),
    "no resume": (["--config", "XINT8_ADAROUND", "--no-resume"], "--no-resume"),
    "claim of no time": (["--config", "XINT8_ADAROUND", "--set", "FastFinetune.Parallel=true", "--set", "FastFinetune.ClaimSeconds=0"],
                         "FastFinetune.ClaimSeconds"),
}


@test(cases=sorted(REFUSED))
def what_cannot_be_shared_is_refused(name):
    settings, word = REFUSED[name]
    with temp_folder() as folder:
        shared, out = os.path.join(folder, "shared"), os.path.join(folder, "out.onnx")
        result = run("quantize", *settings, "--calib", os.path.join(DIGITS, "calib"), "--workers-folder", shared, "-o", out, MODEL)
        expect_equal(result.returncode, 2, f"status ({result.stderr.strip()})")
        expect(word in result.stderr, f"{word} is not in: {result.stderr}")
        expect_equal(os.listdir(folder), [], "files")
