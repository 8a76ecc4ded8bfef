#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One operation of a run fails, each in turn: run.py [--short] [--verbs A,B] [--kinds eio,memory,threads] [--record FILE]

Every operation on files of every verb that writes is failed once with an error of the device, a full disk, a disk that stays full,
a call that a signal interrupts and a short transfer; so are places that allocate memory, spread over the run (of each the first, the
middle or the last time), with one thread (memory), and with two on a model that is large enough for them those inside of parallel loops and
of further threads (threads). Interrupted calls and short transfers must be survived. Any other fault must end with an exit code and a message of the program,
with outputs that are the old or the new ones, and without temporary files. Before every operation on files the process also gets
SIGTERM, SIGHUP, SIGPIPE and SIGKILL; what SIGKILL leaves is gone after the next run. inject.c makes the faults; --record writes
results.json."""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build/release/quarkq"))
SURVIVED = ("eintr", "short")
FILE_KINDS = ("eio", "enospc", "full", "eintr", "short")
MEMORY_KINDS = ("memory", "threads")
SIGNALS = {"kill": {-9}, "term": {0, 130}, "hup": {0, 130}, "pipe": {-13}}  # and how a run may end
SECONDS = 60
SITES, SHORT_SITES = 200, 40  # places that allocate, of each case; evenly spread over the run where there are more
OLD = b"what was here before"


@dataclass
class Case:
    """A run: `arguments` with {name} of inputs and {out} for the folder of `outputs`."""
    name: str
    arguments: list
    outputs: list
    state: tuple = ()  # what an unfinished run keeps, to go on from there
    old_model: bool = False  # outputs that are there before are those of another run, not any bytes


CASES = [
    Case("quantize", ["quantize", "{model}", "-c", "a8w8", "--calib", "{calib}", "-o", "{out}/q.onnx", "--report", "{out}/r.json",
                      "--json={out}/j.json"], ["q.onnx", "r.json", "j.json"]),
    Case("quantize, weights beside", ["quantize", "{model}", "-c", "a8w8", "--calib", "{calib}", "-o", "{out}/q.onnx", "--set",
                                      "use_external_data_format=true"], ["q.onnx", "q.onnx.data"], old_model=True),
    Case("quantize, fine-tuned", ["quantize", "{model}", "-c", "xint8_adaround", "--calib", "{calib}", "-o", "{out}/q.onnx", "--set",
                                  "FastFinetune.NumIterations=4"], ["q.onnx"], state=("q.onnx.finetune",)),
    Case("quantize, deployed", ["quantize", "{model}", "--target", "x1", "--calib", "{calib}", "-o", "{out}/q.onnx", "--deploy", "{out}/d"],
         ["q.onnx", "d"]),
    Case("calibrate", ["calibrate", "{model}", "-c", "a8w8", "--calib", "{calib}", "-o", "{out}/s.qqstats"], ["s.qqstats"]),
    Case("merge", ["merge", "{stats}/0.qqstats", "{stats}/1.qqstats", "-o", "{out}/s.qqstats"], ["s.qqstats"]),
    Case("tune", ["tune", "{model}", "-c", "a8w8", "--calib", "{calib}", "--eval", "{calib}", "--metric", "cosine", "--goal", "value>=0.5",
                  "-o", "{out}/t.onnx", "--report", "{out}/r.json"], ["t.onnx", "t.yaml", "r.json"], state=("t.onnx.tune",)),
    Case("report", ["report", "{report}", "-o", "{out}/p.html"], ["p.html"]),
    Case("optimize", ["optimize", "{model}", "-o", "{out}/o.onnx", "--json={out}/j.json"], ["o.onnx", "j.json"]),
    Case("convert", ["convert", "{quantized}", "-o", "{out}/c.onnx", "--pass", "remove-qdq"], ["c.onnx"]),
    Case("convert to text", ["convert", "{model}", "-o", "{out}/c.onnxtxt"], ["c.onnxtxt"]),
    Case("import", ["import", "{quantized}", "--target", "ort-cpu", "-o", "{out}/i.onnx"], ["i.onnx"]),
    Case("analyze", ["analyze", "{model}", "-c", "a8w8", "--calib", "{calib}", "--write", "{out}/a.yaml", "--min-cos", "0.5",
                     "--json={out}/j.json"], ["a.yaml", "j.json"]),
    Case("run", ["run", "{model}", "--inputs", "{calib}", "--outputs", "{out}/results"], ["results"]),
    Case("evaluate", ["evaluate", "{results}", "{results}", "--csv", "{out}/e.csv", "--json={out}/e.json"], ["e.csv", "e.json"]),
    Case("evaluate models", ["evaluate", "--float", "{model}", "--quantized", "{quantized}", "--data", "{calib}", "--layers", "--layers-csv",
                             "{out}/l.csv", "--json={out}/e.json"], ["l.csv", "e.json"]),
    Case("check", ["check", "{quantized}", "--target", "x1", "--report", "{out}/c.html", "--json={out}/c.json"], ["c.html", "c.json"]),
    Case("inspect", ["inspect", "{quantized}", "--json={out}/i.json"], ["i.json"]),
]
SHORT = {"quantize": ("eio", "enospc", "short", "term", "threads"), "quantize, weights beside": ("full", "eintr", "kill"),
         "merge": (*FILE_KINDS, *SIGNALS), "report": (*FILE_KINDS, *SIGNALS), "run": ("eio", "eintr", "kill")}


@dataclass
class Explained:
    """An end that is not the program's: where `said` stands in what was written to stderr."""
    id: str
    kinds: tuple
    codes: tuple
    said: str
    reason: str


EXPLAINED = [
    Explained("libgomp ends the process", MEMORY_KINDS, (1, -11), "libgomp: Out of memory allocating",
              "the OpenMP library ends it by exit(1) when a team of threads gets no memory, and has no hook; nothing of the program is called after it,"
              " and threads that are still at work may then meet what exit() has destroyed"),
    Explained("libgomp starts no thread", MEMORY_KINDS, (1, -11), "libgomp: Thread creation failed",
              "the OpenMP library ends it in the same way when a thread of a team cannot be started"),
    Explained("glibc ends the process", MEMORY_KINDS, (-6,), "Fatal glibc error: failed to register TLS destructor: out of memory",
              "the C library aborts when a thread's first object with a destructor gets no memory; the C++ library asks for it and cannot be told"),
]


@dataclass
class Tally:
    runs: int = 0
    operations: int = 0
    failed: dict = field(default_factory=dict)  # operation: times that it was failed
    codes: dict = field(default_factory=dict)
    explained: dict = field(default_factory=dict)  # id of a row of EXPLAINED: times
    findings: list = field(default_factory=list)


def build_injector(folder):
    library = os.path.join(folder, "inject.so")
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-shared", "-fPIC", "-fno-builtin", "-fexceptions", "-o", library,
                    os.path.join(HERE, "inject.c"), "-ldl"], check=True)
    return library


def quarkq(*arguments):
    done = subprocess.run([QUARKQ, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"preparing: {' '.join(arguments)}: {done.stderr}")


def model_of(nodes, inputs, outputs, stored):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(5)
    weights = [numpy_helper.from_array((random.standard_normal(shape) / 8).astype(np.float32), name) for name, shape in stored.items()]
    graph = helper.make_graph([helper.make_node(*call[0], **call[1]) for call in nodes], "g",
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op, inputs, output, **attributes):
    return (op, inputs.split(), [output]), {"name": output, **attributes}


def small_model():
    return model_of([node("Conv", "x w0", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"), node("Conv", "r w1 b1", "y", pads=[1, 1, 1, 1])],
                    {"x": [1, 3, 8, 8]}, {"y": [1, 4, 8, 8]}, {"w0": (12, 3, 3, 3), "w1": (4, 12, 3, 3), "b1": (4,)})


def wide_model():
    """Tensors of 65,536 values: operators run on several threads from 32,768 on, some of them with memory of each thread's own."""
    return model_of([node("Conv", "x w0", "c", pads=[1, 1, 1, 1]), node("Sigmoid", "c", "s"), node("Mul", "c s", "m"),
                     node("Conv", "m w1 b1", "d", pads=[1, 1, 1, 1], group=4), node("Add", "d x", "a"), node("Softmax", "a", "p", axis=1),
                     node("Transpose", "p", "t", perm=[0, 2, 3, 1]), node("MatMul", "t w2", "l"), node("Det", "d", "v"), node("Relu", "l", "y")],
                    {"x": [1, 16, 64, 64]}, {"y": [1, 64, 64, 16], "v": [1, 16]},
                    {"w0": (16, 16, 3, 3), "w1": (16, 4, 3, 3), "b1": (16,), "w2": (16, 16)})


def make_inputs(folder, model, samples):
    import onnx
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(5)
    places = {name: os.path.join(folder, name) for name in ("calib", "stats", "results")}
    for place in places.values():
        os.makedirs(place)
    for kind, suffix in (("model", "onnx"), ("quantized", "onnx"), ("report", "json")):
        places[kind] = os.path.join(folder, f"{kind}.{suffix}")
    onnx.save(model, places["model"])
    for number in range(samples):
        np.save(os.path.join(places["calib"], f"{number:02}.npy"), random.standard_normal(shape).astype(np.float32))
    quarkq("quantize", places["model"], "-c", "a8w8", "--calib", places["calib"], "-o", places["quantized"], "--report", places["report"], "-q")
    for shard in range(2):
        quarkq("calibrate", places["model"], "-c", "a8w8", "--calib", places["calib"], "--shard", f"{shard}/2", "-o",
               os.path.join(places["stats"], f"{shard}.qqstats"), "-q")
    quarkq("run", places["model"], "--inputs", places["calib"], "--outputs", places["results"], "-q")
    return places


def contents(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def is_whole(name, data, new):
    """Whether `data` is what the undisturbed run wrote, apart from times."""
    if name.endswith(".json") and not name.startswith("d/"):
        try:
            return json.loads(data).keys() == json.loads(new).keys()
        except ValueError:
            return False
    if name.endswith(".html"):
        return data.rstrip().endswith(b"</html>")
    return data == new


class Bench:
    """One case in its own folders."""

    def __init__(self, case, inputs, injector, folder, threads=1):
        self.case, self.injector, self.folder, self.threads = case, injector, folder, str(threads)
        self.out = os.path.join(folder, "out")
        self.command = [QUARKQ, *[part.format(out=self.out, **inputs) for part in case.arguments]]
        if "--threads" not in self.command and case.name not in ("merge", "report", "check", "inspect"):
            self.command += ["--threads", self.threads]
        os.makedirs(os.path.join(folder, "tmp"), exist_ok=True)
        self.before = {}
        code, said, _, _ = self.run("none", 0, {})
        if code != 0:
            sys.exit(f"{case.name}: undisturbed, it ends with {code}: {said}")
        self.new = contents(self.out)
        if case.old_model:  # of other settings
            subprocess.run([*self.command, "--set", "Percentile=90"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            self.before = contents(self.out)
        else:
            self.before = {name: OLD for name in self.new if "/" not in name}

    def run(self, kind, at, before, sites=None):
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.out)
        for name, data in before.items():
            with open(os.path.join(self.out, name), "wb") as file:
                file.write(data)
        log = os.path.join(self.folder, "log")
        if os.path.exists(log):
            os.remove(log)
        environment = {**os.environ, "LD_PRELOAD": self.injector, "FAULT_KIND": kind, "FAULT_AT": str(at), "FAULT_LOG": log,
                       "GOMP_SPINCOUNT": "1000", "OMP_NUM_THREADS": self.threads, "TMPDIR": os.path.join(self.folder, "tmp")}
        if sites:
            environment["FAULT_SITES"] = sites
        try:
            done = subprocess.run(self.command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=SECONDS, check=False)
            code, said = done.returncode, done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            code, said = "no end", ""
        lines = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                lines = file.read().splitlines()
        hit = [line.split(" ", 1)[1] for line in lines if not line.endswith(" operations")]
        total = [int(line.split()[0]) for line in lines if line.endswith(" operations")]
        return code, said, hit[0] if hit else "", total[-1] if total else 0

    def problem(self, kind, code, said, before, ends_well=True):
        """What is wrong with the end of a run, or "". Without `ends_well` only the files are looked at."""
        wrong = self.problem_of_end(kind, code, said) if ends_well else ""
        return wrong or self.problem_of_files(kind, code, before)

    def problem_of_end(self, kind, code, said):
        if kind in SIGNALS:
            if code not in SIGNALS[kind]:
                return f"ended with {code}"
        elif not isinstance(code, int) or code < 0 or code > 7:
            return f"ended with {code}"
        if kind in SURVIVED and code != 0:
            return f"not survived, exit code {code}"
        if kind in MEMORY_KINDS and code not in (0, 7):
            return f"exit code {code} for lack of memory"
        if code != 0 and kind not in SIGNALS and not any(line.startswith("quarkq: ") and "please report" not in line for line in said.splitlines()):
            return "no message of its own"
        return "it takes this for a bug of its own" if "please report" in said else ""

    def problem_of_files(self, kind, code, before):
        now = contents(self.out)
        for name, data in now.items():
            if any(name.startswith(state) for state in self.case.state) and ".part-" not in name:
                continue
            if name not in self.new and kind == "kill":
                continue  # for the next run
            if name not in self.new:
                return f"left {name}"
            if not (data == before.get(name) or is_whole(name, data, self.new[name])):
                return f"{name} is neither the old nor the new one"
        for name in before if code != 0 else self.new:
            if name not in now:
                return f"{name} is gone"
        if kind == "kill":
            return self.next_run()
        if code == 0 and any(not is_whole(name, now[name], self.new[name]) for name in self.new):
            return "it says that all went well, and an output is old"
        left = os.listdir(os.path.join(self.folder, "tmp"))
        return f"left {left} among the temporary files" if left else ""


    def next_run(self):
        """What is wrong after a run of the same outputs that nothing disturbs."""
        done = subprocess.run(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        now = contents(self.out)
        if done.returncode != 0:
            return f"the next run ends with {done.returncode}: {done.stderr[-200:]}"
        if sorted(now) != sorted(self.new):
            return f"after the next run there are {sorted(now)}"
        return next((f"the next run made another {name}" for name in now if not is_whole(name, now[name], self.new[name])), "")


def try_one(bench, tally, kind, at, before):
    """False when there is no such operation."""
    code, said, hit, _ = bench.run(kind, at, before)
    if not hit:
        return False
    tally.runs += 1
    tally.failed[hit] = tally.failed.get(hit, 0) + 1
    tally.codes[str(code)] = tally.codes.get(str(code), 0) + 1
    row = next((one for one in EXPLAINED if kind in one.kinds and code in one.codes and one.said in said), None)
    wrong = bench.problem(kind, code, said, before, ends_well=row is None)
    if row is not None:
        tally.explained[row.id] = tally.explained.get(row.id, 0) + 1
    if wrong:
        tally.findings.append(f"{bench.case.name}, {kind}, operation {at} ({hit}): {wrong}; {' | '.join(said.splitlines()[-2:])[:300]}")
        for name in os.listdir(os.path.join(bench.folder, "tmp")):
            path = os.path.join(bench.folder, "tmp", name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    return True


def numbers_of_sites(bench, kind):
    """Of each place that allocates: its first, its middle and its last allocation."""
    sites = os.path.join(bench.folder, "sites")
    bench.run(kind, 0, {}, sites)
    calls = {}
    for number, site in enumerate(np.fromfile(sites, np.uint64).tolist(), 1):
        calls.setdefault(site, []).append(number)
    return sorted({numbers[place] for numbers in calls.values() for place in (0, len(numbers) // 2, -1)}), len(calls)


def try_case(case, kinds, inputs, injector, parent, is_short, sites):
    tally = Tally()
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        bench = Bench(case, inputs, injector, folder, 2 if "threads" in kinds else 1)
        places = [bench.before] if is_short else [{}, bench.before]  # without outputs from before, and with some
        for kind in kinds:
            if kind in MEMORY_KINDS:
                numbers, tally.operations = numbers_of_sites(bench, kind)
                step = max(1, len(numbers) // sites)
                for number in numbers[::step]:
                    try_one(bench, tally, kind, number, {})
                continue
            for before in places:
                at = 1
                while try_one(bench, tally, kind, at, before):
                    at += 1
    return tally


def write_record(path, tallies, is_update):
    """After each case, so that a run that is stopped has a record, too. An update keeps what the record has of other cases."""
    cases = {}
    if is_update and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            cases = json.load(file)["cases"]
    for name, tally in tallies.items():
        cases[name] = {"runs": tally.runs, "failed": tally.failed, "exit codes": tally.codes, "explained": tally.explained, "findings": tally.findings}
    record = {"runs": sum(case["runs"] for case in cases.values()), "findings": sum(len(case.get("findings", [])) for case in cases.values()),
              "explained": sum(sum(case.get("explained", {}).values()) for case in cases.values()), "cases": cases}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="what is part of every test run")
    parser.add_argument("--verbs", default="", help="names of cases, by comma: those that begin so")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sites", type=int, default=0, help="places that allocate, of each case; evenly spread over the run")
    parser.add_argument("--record", default="")
    parser.add_argument("--update", action="store_true", help="the record keeps its other cases and kinds")
    arguments = parser.parse_args()
    chosen = [case for case in CASES if not arguments.verbs or any(case.name.startswith(verb) for verb in arguments.verbs.split(","))]
    if arguments.short:
        chosen = [case for case in chosen if case.name in SHORT]
    start, tallies, sites = time.monotonic(), {}, arguments.sites or (SHORT_SITES if arguments.short else SITES)
    with tempfile.TemporaryDirectory() as folder:
        injector, inputs = build_injector(folder), make_inputs(os.path.join(folder, "inputs"), small_model(), 3)
        wide = make_inputs(os.path.join(folder, "wide"), wide_model(), 16)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            jobs = {}
            for case in chosen:
                kinds = SHORT[case.name] if arguments.short else (*FILE_KINDS, *MEMORY_KINDS, *SIGNALS)
                if arguments.kinds:
                    kinds = [kind for kind in arguments.kinds.split(",")]
                if arguments.short and case.name in ("quantize", "merge"):
                    kinds = (*kinds, "memory")
                for kind in kinds:
                    jobs[case.name, kind] = pool.submit(try_case, case, [kind], wide if kind == "threads" else inputs, injector, folder, arguments.short, sites)
            for (name, kind), job in jobs.items():
                tally = tallies[f"{name}: {kind}"] = job.result()
                print(f"{'FAIL' if tally.findings else 'ok'} {name}, {kind}: {tally.runs} runs, failed {sum(tally.failed.values())} "
                      f"{tally.failed}, exit codes {tally.codes}", flush=True)
                for finding in tally.findings[:20]:
                    print("  " + finding)
                if arguments.record:
                    write_record(arguments.record, tallies, arguments.update)
    runs, findings = sum(tally.runs for tally in tallies.values()), sum(len(tally.findings) for tally in tallies.values())
    print(f"{runs} runs, each with one operation failed; {findings} findings; {time.monotonic() - start:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
