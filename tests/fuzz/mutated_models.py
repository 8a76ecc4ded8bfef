#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutated models over the verbs: mutated_models.py [--models N] [--first NUMBER] [--record FILE] [--keep FOLDER].

A model of hostile_graphs.py or of random_operators.py is changed in a few attributes and stored operands and goes through one verb, in a
process that may die of it. A finding is a signal, more than 20 seconds, a failure that quarkq takes for its own bug, or an output that
onnx.checker or ONNX Runtime refuses although they take the input. The last line counts; the exit status is 1 with findings.
The record adds up over runs with other numbers.
"""
import argparse
import collections
import json
import os
import random
import sys
import tempfile

import compare_ort  # sets the paths and loads the libraries
import hostile_graphs
import numpy as np
import onnx
import quarkq
import random_operators
import workers

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
        # The operators of com.amd.quark refuse tensors that no machine holds when they are loaded, others when they run.
        return "for its outputs, allowed are" in text, f"{type(error).__name__}: {text[:300]}"
    return True, ""


def outcome_of(number, keep=""):
    """{"verb", "outcome", "text"} of one number."""
    draw = random.Random(f"mutated {number}")
    model, feeds = draw.choice([hostile, mutated_call])(draw)
    content = model.SerializeToString()
    with tempfile.TemporaryDirectory(prefix="quarkq-mutated-") as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(content)
        commands = hostile_graphs.commands(path, folder, ())
        names = sorted(name for name in commands if FINETUNING not in name or draw.random() < 0.2)
        name = draw.choice(names)
        if keep:
            os.makedirs(keep, exist_ok=True)
            onnx.save(model, os.path.join(keep, f"{number}.onnx"))
            np.savez(os.path.join(keep, f"{number}.npz"), **feeds)
        try:
            written = call(commands[name], feeds)
        except quarkq.QuarkqError as error:
            bad = error.exit_code not in hostile_graphs.ALLOWED or "internal error" in error.message
            return {"verb": name, "outcome": "finding" if bad else f"exit code {error.exit_code}", "text": error.message[:300]}
        except MemoryError as error:
            return {"verb": name, "outcome": "exit code 7", "text": str(error)[:300]}
        if written and is_valid(content)[0]:
            with open(written, "rb") as file:
                good, text = is_valid(file.read())
            return {"verb": name, "outcome": "valid output" if good else "finding", "text": f"invalid output: {text}"}
        return {"verb": name, "outcome": "exit code 0", "text": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--record", default="")
    parser.add_argument("--keep", default="")
    arguments = parser.parse_args()
    verbs, findings = collections.defaultdict(collections.Counter), []
    numbers = list(range(arguments.first, arguments.first + arguments.models))
    for number, result in workers.run_numbers(lambda one: outcome_of(one, arguments.keep), numbers, SECONDS, MEMORY):
        if isinstance(result, workers.Died):
            result = {"verb": "?", "outcome": "finding", "text": str(result)}
        verbs[result["verb"]][result["outcome"]] += 1
        if result["outcome"] == "finding":
            findings.append(f"model {number}, {result['verb']}: {result['text']}")
            print(findings[-1], flush=True)
    if arguments.record:
        add_to_record(arguments, verbs, findings)
    print(f"{len(numbers)} models, {len(findings)} findings, {workers.cpu_seconds():.0f} CPU seconds")
    return 1 if findings else 0


def add_to_record(arguments, verbs, findings):
    record = {"models": 0, "findings": 0, "CPU seconds": 0, "numbers": [], "verbs": {}}
    if os.path.exists(arguments.record):
        with open(arguments.record, encoding="utf-8") as file:
            record = json.load(file)
    record["models"] += arguments.models
    record["findings"] += len(findings)
    record["CPU seconds"] += round(workers.cpu_seconds())
    record["numbers"].append([arguments.first, arguments.first + arguments.models - 1])
    for verb, outcomes in verbs.items():
        all_of_verb = record["verbs"].setdefault(verb, {})
        for outcome, count in outcomes.items():
            all_of_verb[outcome] = all_of_verb.get(outcome, 0) + count
    record["verbs"] = {verb: dict(sorted(outcomes.items())) for verb, outcomes in sorted(record["verbs"].items())}
    with open(arguments.record, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
