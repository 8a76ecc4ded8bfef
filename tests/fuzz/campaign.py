# SPDX-License-Identifier: MIT
"""Hours of libFuzzer, run.py --hours N: until they are over, each job takes the target that has had the least time for its size
(the square root of the edges that its corpus covers: a hundred times the program gets ten times the time) and fuzzes it for a slice.

Corpora grow from run to run; the record, which adds up over runs and is written after each slice, holds what each target has had: inputs, CPU hours,
faults, and the edges that its corpus covers. What makes a fault is kept as build/test-logs/fuzz-TARGET-*, and its target rests until the next run."""
import concurrent.futures
import glob
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time

from corpora import LOGS, OPERATOR_TESTS, environment, packed_inputs

MODELS = os.path.join(OPERATOR_TESTS, "*/*/model.onnx")
LARGEST_SEED = 8192  # bytes; larger models are rare there, and slow
EMPTY = {"inputs": 0, "CPU hours": 0.0, "faults": 0, "edges": 0}


def make_corpus(fuzzer, target, from_files, folder):
    if os.path.isdir(folder):
        return
    os.makedirs(folder + ".part", exist_ok=True)
    if from_files:
        for number, model in enumerate(sorted(glob.glob(MODELS))):
            if os.path.getsize(model) <= LARGEST_SEED:
                shutil.copyfile(model, os.path.join(folder + ".part", str(number)))
    else:
        subprocess.run([fuzzer, "--seeds", target, folder + ".part"], check=True)
    for number, content in enumerate(packed_inputs().get(target, []), 1):
        with open(os.path.join(folder + ".part", f"packed-{number}"), "wb") as file:
            file.write(content)
    os.rename(folder + ".part", folder)


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run_slice(command, seconds, variables):
    """The status and the output of libFuzzer, which ends after `seconds` of mutations: a corpus may take as long to read as a slice."""
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=variables) as process:
        end = threading.Timer(seconds, process.send_signal, [signal.SIGUSR1])  # libFuzzer ends after the input at hand
        for line in process.stdout:
            said.append(line)
            if "\tINITED " in line:
                end.start()
        end.cancel()
    return process.returncode, "".join(said)


def fuzz(fuzzer, target, corpus, seconds):
    """What a slice adds to the target's record; in a process of its own, so that its children's time is the slice's."""
    before = children_seconds()
    command = [fuzzer, corpus, "-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1", "-reload=0", f"-artifact_prefix={LOGS}/fuzz-{target}-"]
    status, said = run_slice(command, seconds, {**environment(target), "OMP_NUM_THREADS": "2"})
    if status:
        print(f"{said[-6000:]}\nFAIL fuzz-{target}: ended with status {status}", flush=True)
    return {"inputs": last_number(r"stat::number_of_executed_units: (\d+)", said), "CPU hours": (children_seconds() - before) / 3600,
            "faults": int(status != 0), "edges": last_number(r"cov: (\d+)", said)}


def read_record(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {name: {**EMPTY, **entry} for name, entry in json.load(file)["targets"].items()}


def write_record(path, record):
    totals = {key: round(sum(entry[key] for entry in record.values()), 2) for key in EMPTY if key != "edges"}
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"total": totals, "targets": dict(sorted(record.items()))}, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def add_slice(record, target, found):
    entry = record[target]
    for key in ("inputs", "CPU hours", "faults"):
        entry[key] = round(entry[key] + found[key], 4)
    entry["edges"] = max(entry["edges"], found["edges"])


def run_campaign(arguments, targets):
    """Whether nothing was found."""
    record = {name: dict(EMPTY) for name in targets} | read_record(arguments.record)
    end, faulty, running = time.monotonic() + arguments.hours * 3600, set(), {}
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        while True:
            while len(running) < arguments.jobs and (left := end - time.monotonic()) > 1:
                waiting = [name for name in targets if name not in faulty and name not in running.values()]
                if not waiting:
                    break
                target = min(waiting, key=lambda name: record[name]["CPU hours"] / math.sqrt(max(record[name]["edges"], 1)))
                folder = os.path.join(arguments.corpora, target)
                make_corpus(arguments.binary, target, targets[target], folder)
                running[pool.submit(fuzz, arguments.binary, target, folder, min(arguments.slice, left))] = target
            if not running:
                break
            for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                target, found = running.pop(done), done.result()
                add_slice(record, target, found)
                if found["faults"]:
                    faulty.add(target)
            write_record(arguments.record, record)
    print(f"{sum(entry['inputs'] for entry in record.values())} inputs, {sum(entry['CPU hours'] for entry in record.values()):.2f} CPU hours in all")
    return not faulty
