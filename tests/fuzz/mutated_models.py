#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutated models over the verbs: mutated_models.py [--models N] [--first NUMBER] [--record FILE] [--keep FOLDER].

A model of hostile_graphs.py or of random_operators.py is changed in a few attributes and stored operands and goes through one verb, in a
process that may die of it; --verbs program: convert, import, tune, evaluate and report instead (program_verbs.py). A finding is a signal, more than 20 seconds, a failure that quarkq takes for its own bug, or an output that
onnx.checker or ONNX Runtime refuses although they take the input. The last line counts; the exit status is 1 with findings.
The record adds up over runs with other numbers.
"""
import argparse
import copy
import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

import compare_ort  # sets the paths and loads the libraries
import explained
import hostile_graphs
import numpy as np
import onnx
import program_verbs
import quarkq
import random_operators
import workers

RECORDED = 200  # models after which the record is written, so that a run that is stopped has one
SECONDS = 20
MEMORY = 5 << 30
FINETUNING = "a8w8_adaround"  # takes long without being a hang; drawn less often


def hostile(draw):
    model, shape, _ = hostile_graphs.draw_model(draw)
    return model, {"input": hostile_graphs.floats(*shape)}


def mutated_call(draw):
    """A valid call of an operator or a chain of calls, with a few attributes and stored integers changed."""
    names, seed = random_operators.names(), draw.randrange(2 ** 31)
    try:
        b = random_operators.single_call(draw.choice(names), seed) if draw.random() < 0.6 else random_operators.chain_of_calls(names, seed, 6)
        model = b.model("mutated")
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return hostile(draw)
    places = [(at, k) for at, node in enumerate(model.graph.node) for k, one in enumerate(node.attribute)
              if one.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS)]
    trips = {node.input[0] for node in model.graph.node if node.op_type == "Loop"}  # more of them are work, which --timeout bounds
    places += [(None, k) for k, one in enumerate(model.graph.initializer) if one.data_type == onnx.TensorProto.INT64 and one.name not in trips]
    for place in draw.sample(places, min(len(places), draw.choice([1, 1, 2, 3]))):
        hostile_graphs.change(model, place, draw)
    if draw.random() < 0.2 and model.graph.initializer:  # a shape that lies about its elements
        stored = draw.choice(list(model.graph.initializer))
        if stored.dims:
            stored.dims[draw.randrange(len(stored.dims))] = draw.choice(hostile_graphs.SMALL + hostile_graphs.HUGE)
    return model, b.feeds


def call(arguments, feeds):
    """The verb of a command line of hostile_graphs.commands() in this process; the path of the model it wrote, or None."""
    options = argparse.ArgumentParser()
    options.add_argument("verb")
    options.add_argument("model")
    options.add_argument("--config")
    options.add_argument("--compat")
    options.add_argument("--set", action="append", default=[])
    options.add_argument("-o")
    given, _ = options.parse_known_args(arguments)
    verb = getattr(quarkq, given.verb)
    if given.verb == "run":
        verb(given.model, [feeds], threads=1)
    elif given.verb in ("inspect", "check"):
        verb(given.model)
    elif given.verb == "optimize":
        verb(given.model, given.o, threads=1)
    elif given.verb == "quantize":
        verb(given.model, given.o, config=given.config, settings=given.set, compat=given.compat, threads=1)
    elif given.verb == "calibrate":
        verb(given.model, given.o, config=given.config, data=None, settings=given.set, threads=1)
    else:
        verb(given.model, config=given.config, data=None, settings=given.set, threads=1)
    return given.o if given.verb in ("optimize", "quantize") else None


def is_valid(model):
    """Whether the checker and ONNX Runtime take a model; what they say when not."""
    try:
        onnx.checker.check_model(model, full_check=True)
        compare_ort.session(model)
    except Exception as error:
        text = " ".join(str(error).split())
        # The operators of com.amd.quark refuse tensors that no machine holds when they are loaded, others when they run. A type that ONNX Runtime
        # has no kernel for (bfloat16) says nothing about the model, which onnx.checker has taken by then.
        is_taken = any(reason in text for reason in ("for its outputs, allowed are", "NOT_IMPLEMENTED : Could not find an implementation"))
        return is_taken, f"{type(error).__name__}: {text[:300]}"
    return True, ""


@dataclass
class Case:
    """A number's verb: `run()` returns the path of a model it wrote, or None, and raises what quarkq says; `content` is the model it was given."""
    name: str
    content: bytes
    run: Callable


def library_case(number, folder, keep=""):
    draw = random.Random(f"mutated {number}")
    model, feeds = draw.choice([hostile, mutated_call])(draw)
    path = os.path.join(folder, "m.onnx")
    content = model.SerializeToString()
    with open(path, "wb") as file:
        file.write(content)
    commands = hostile_graphs.commands(path, folder, ())
    names = sorted(name for name in commands if FINETUNING not in name or draw.random() < 0.2)
    name = draw.choice(names)
    if keep:
        os.makedirs(keep, exist_ok=True)
        onnx.save(model, os.path.join(keep, f"{number}.onnx"))
        np.savez(os.path.join(keep, f"{number}.npz"), **feeds)
    return Case(name, content, lambda: call(commands[name], feeds))


def program_case(number, folder, keep=""):
    draw, verbs = random.Random(f"program {number}"), list(program_verbs.VERBS)
    verb = verbs[number % len(verbs)]
    arguments, content, written = program_verbs.VERBS[verb](draw, folder, lambda one: one.choice([hostile, mutated_call])(one))
    if keep:
        shutil.copytree(folder, os.path.join(keep, str(number)), dirs_exist_ok=True)
        print(" ".join(arguments), flush=True)

    def run():
        code, text = program_verbs.run(arguments, folder, SECONDS)
        if code != 0:
            raise quarkq.QuarkqError(text, exit_code=code)
        return written
    return Case(verb, content, run)


CASES = {"library": library_case, "program": program_case}


def outcome_of(number, draw_case, keep=""):
    """{"verb", "outcome", "text"} of one number."""
    with tempfile.TemporaryDirectory(prefix="quarkq-mutated-") as folder:
        case = draw_case(number, folder, keep)
        try:
            written = case.run()
        except quarkq.QuarkqError as error:
            bad = error.exit_code not in hostile_graphs.ALLOWED or "internal error" in error.message
            return {"verb": case.name, "outcome": "finding" if bad else f"exit code {error.exit_code}", "text": f"{error.exit_code}: {error.message[:300]}"}
        except MemoryError as error:
            return {"verb": case.name, "outcome": "exit code 7", "text": str(error)[:300]}
        if written and is_valid(case.content)[0]:
            with open(written, "rb") as file:
                good, text = is_valid(file.read())
            return {"verb": case.name, "outcome": "valid output" if good else "finding", "text": f"invalid output: {text}"}
        return {"verb": case.name, "outcome": "exit code 0", "text": ""}


def of_parts(number, draw_case):
    """What the parts of a number do that was not survived, each alone in a process: {part: its result or Died}."""
    def quarkq_alone(one):
        with tempfile.TemporaryDirectory(prefix="quarkq-mutated-") as folder:
            case = draw_case(one, folder)
            try:
                written = case.run()
            except (quarkq.QuarkqError, MemoryError):
                return case.name
            if written:
                onnx.checker.check_model(written)  # without shapes: what kills inference of the input does so for the output
            return case.name

    def input_alone(one):
        with tempfile.TemporaryDirectory(prefix="quarkq-mutated-") as folder:
            return is_valid(draw_case(one, folder).content)[0]
    return {part: next(workers.run_numbers(function, [number], SECONDS, MEMORY))[1] for part, function in (("quarkq", quarkq_alone), ("input", input_alone))}


def outcome_of_death(number, draw_case, died):
    parts = of_parts(number, draw_case)
    row = next((one for one in explained.ENDINGS if one.holds(parts)), None)
    verb = "?" if isinstance(parts["quarkq"], workers.Died) else parts["quarkq"]
    return {"verb": verb, "outcome": f"explained: {row.id}" if row else "finding", "text": str(died)}


def tried(numbers, draw_case, keep=""):
    """(number, its outcome), in order."""
    for number, result in workers.run_numbers(lambda one: outcome_of(one, draw_case, keep), numbers, SECONDS, MEMORY):
        yield number, outcome_of_death(number, draw_case, result) if isinstance(result, workers.Died) else result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbs", choices=CASES, default="library", help="those of hostile_graphs.py by the library, those of program_verbs.py by the program")
    parser.add_argument("--again", default="", help="numbers of findings in the record, whose outcomes replace those there")
    parser.add_argument("--record", default="")
    parser.add_argument("--keep", default="")
    arguments = parser.parse_args()
    again = [int(one) for one in arguments.again.split(",") if one]
    numbers = again or list(range(arguments.first, arguments.first + arguments.models))
    outcomes, findings, before = {}, 0, read_record(arguments.record) if arguments.record else {}
    for number, result in tried(numbers, CASES[arguments.verbs], arguments.keep):
        outcomes[number] = result
        findings += result["outcome"] == "finding"
        if result["outcome"] == "finding" or again:
            print(f"model {number}, {result['verb']}: {result['outcome']}: {result['text']}", flush=True)
        if arguments.record and not again and len(outcomes) % RECORDED == 0:
            write_record(arguments.record, with_outcomes(before, outcomes))
    if arguments.record:
        write_record(arguments.record, replace_findings(before, outcomes) if again else with_outcomes(before, outcomes))
    print(f"{len(numbers)} models, {findings} findings, {workers.cpu_seconds():.0f} CPU seconds")
    return 1 if findings else 0


def read_record(path):
    if not os.path.exists(path):
        return {"models": 0, "findings": 0, "CPU seconds": 0, "numbers": [], "verbs": {}}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_record(path, record):
    record["verbs"] = {verb: dict(sorted(counts.items())) for verb, counts in sorted(record["verbs"].items()) if counts}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


def count(record, verb, outcome, by=1):
    counts = record["verbs"].setdefault(verb, {})
    counts[outcome] = counts.get(outcome, 0) + by
    if not counts[outcome]:
        del counts[outcome]
    record["findings"] += by * (outcome == "finding")


def with_outcomes(record, outcomes):
    record, numbers = copy.deepcopy(record), list(outcomes)
    record["models"] += len(numbers)
    record["CPU seconds"] += round(workers.cpu_seconds())
    if numbers:
        record["numbers"].append([numbers[0], numbers[-1]])
    for result in outcomes.values():
        count(record, result["verb"], result["outcome"])
    return record


def replace_findings(record, outcomes):
    """One finding less for each number, of its verb or of those whose verb was not known, and what it is now."""
    for number, result in outcomes.items():
        verb = result["verb"] if "finding" in record["verbs"].get(result["verb"], {}) else "?"
        if "finding" not in record["verbs"].get(verb, {}):
            sys.exit(f"the record has no finding that {number} ({result['verb']}) could be")
        count(record, verb, "finding", by=-1)
        count(record, result["verb"], result["outcome"])
        record.setdefault("findings that were run again", {})[str(number)] = f"{result['verb']}: {result['outcome']}"
    return record


if __name__ == "__main__":
    sys.exit(main())
