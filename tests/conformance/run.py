#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the operator test cases of the onnx source archive and package through quarkq's executor.

    run.py [--list] [NAME-PART...]

The cases that must pass are listed in onnx_node.txt, those that need not, with the reason, in out_of_scope.txt; every case
is in one of the two, so the first list only grows. One "ok" line sums up each folder of cases, a "FAIL" line names each
case that does not do what its list says. --list prints what each case that does not pass said, for working on it.
"""
import argparse
import glob
import os
import subprocess
import sys

from node_cases import data_folder, make_node_cases

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ["node", "simple", "pytorch-operator", "pytorch-converted", "light"]  # light holds files, the others folders
CHUNK = 200


def cases():
    """Case name ("node/test_abs") -> folder, or model file."""
    data = data_folder()
    found = {}
    for kind in FOLDERS:
        for folder in sorted(glob.glob(os.path.join(data, kind, "*"))):
            if os.path.isfile(os.path.join(folder, "model.onnx")) or folder.endswith(".onnx"):
                found[f"{kind}/{os.path.basename(folder)}"] = folder
    return found


def run_chunk(binary, names, found, results):
    """Runs the cases one after the other; a crash is the fault of the case that was started last."""
    while names:
        done = subprocess.run([binary] + [found[name] for name in names], capture_output=True, text=True, errors="replace")
        by_case = {os.path.basename(found[name]): name for name in names}
        started = None
        for line in done.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word == "start":
                started = by_case[rest]
            elif word in ("pass", "miss"):
                case, _, why = rest.partition(": ")
                results[by_case[case]] = why
        if done.returncode == 0:
            return
        results[started] = f"ended with status {done.returncode}: {done.stderr.strip()[-300:]}"
        names = names[names.index(started) + 1:]


def run_all(binary, found):
    results = {}
    names = sorted(found)
    for kind in FOLDERS:
        of_kind = [name for name in names if name.startswith(kind + "/")]
        for start in range(0, len(of_kind), CHUNK):
            run_chunk(binary, of_kind[start:start + CHUNK], found, results)
    return results


def read_list(name):
    """First word of each line -> the rest of it (the reason)."""
    path = os.path.join(HERE, name)
    entries = {}
    for line in open(path, encoding="utf-8") if os.path.isfile(path) else []:
        line = line.split("#")[0].strip()
        if line:
            case, _, reason = line.partition(" ")
            entries[case] = reason.strip()
    return entries


def check_lists(results, must_pass, out_of_scope):
    failures = 0
    for name, why in sorted(results.items()):
        if name in must_pass and why:
            problem = why
        elif name not in must_pass and not why:
            problem = "passes; move it to onnx_node.txt"
        elif name not in must_pass and name not in out_of_scope:
            problem = f"is in neither list: {why}"
        else:
            continue
        print(f"FAIL {name}: {problem}")
        failures += 1
    for name in sorted((set(must_pass) | set(out_of_scope)) - set(results)):
        print(f"FAIL {name}: listed, but the archive has no such case")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(ROOT, "build/release/tests/quarkq_conformance"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("parts", nargs="*")
    args = parser.parse_args()
    problem = make_node_cases()
    if problem:
        print(f"FAIL cases: {problem}")
        return 1
    found = cases()
    if args.parts:
        found = {name: folder for name, folder in found.items() if any(part in name for part in args.parts)}
    results = run_all(args.binary, found)
    if args.list:
        for name, why in sorted(results.items()):
            if why:
                print(f"{name}: {why}")
        print(f"{sum(not why for why in results.values())} of {len(results)} cases pass")
        return 0
    check_lists(results, read_list("onnx_node.txt"), read_list("out_of_scope.txt"))
    for kind in FOLDERS:
        of_kind = [why for name, why in results.items() if name.startswith(kind + "/")]
        passing = sum(not why for why in of_kind)
        if of_kind:
            print(f"ok conformance/{kind}: {passing} of {len(of_kind)} cases pass ({100 * passing / len(of_kind):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
