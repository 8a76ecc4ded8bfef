#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs recipes: run.py NAME... | --all [--output FOLDER] downloads the network, quantizes and scores it, and prints a table.

The record is written to recipes/results/NAME.json, or to FOLDER. The first run makes build/recipes/venv with the packages of
recipes/requirements.txt. Exit code 3: a wheel cannot be downloaded. The program is $QUARKQ, build/release/quarkq or `quarkq`."""
import argparse
import fcntl
import filecmp
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(HERE), "build", "recipes", "venv")
UNAVAILABLE = 3


def names():
    return sorted(name for name in os.listdir(HERE) if not name.startswith("_") and os.path.isfile(os.path.join(HERE, name, "recipe.py")))


def enter_environment():
    """Starts this script again in build/recipes/venv, which is made first if it is missing or has other packages."""
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        return
    wanted, done = os.path.join(HERE, "requirements.txt"), os.path.join(VENV, "requirements.done")
    python = os.path.join(VENV, "bin", "python")
    os.makedirs(os.path.dirname(VENV), exist_ok=True)
    with open(os.path.join(os.path.dirname(VENV), "venv.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (os.path.exists(done) and filecmp.cmp(wanted, done, shallow=False)):
            venv.create(VENV, clear=True, with_pip=True)
            made = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted], check=False)
            if made.returncode != 0:
                print("recipes: the packages of recipes/requirements.txt cannot be installed", file=sys.stderr)
                sys.exit(UNAVAILABLE)
            shutil.copyfile(wanted, done)
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])


def load(name):
    path = os.path.join(HERE, name, "recipe.py")
    spec = importlib.util.spec_from_file_location("recipe_" + name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RECIPE


def print_record(record):
    print(f"{record['recipe']}: {record['network']}, {record['samples']['evaluation']} samples in {record['samples']['groups']} groups")
    for row in record["rows"]:
        scores = "; ".join(f"{name} {score['value']:.4f} [{score['low']:.4f}, {score['high']:.4f}]" for name, score in row.get("scores", {}).items())
        rest = f"{row['processor_seconds']:.1f} s, {row['peak_rss_mib']:.0f} MiB" if "processor_seconds" in row else ""
        print(f"  {row['name']:14} {row.get('deployable', ''):8} {rest:18} {row.get('error') or scores}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="folders of recipes/")
    parser.add_argument("--all", action="store_true", help="every recipe")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--output", default=os.path.join(HERE, "results"), help="folder of the records (default: recipes/results)")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(names())
    if arguments.list or unknown or not (arguments.names or arguments.all):
        print("\n".join(names()))
        sys.exit(f"recipes: unknown: {', '.join(sorted(unknown))}" if unknown else 0 if arguments.list else "recipes: name one of these, or pass --all")
    enter_environment()
    sys.path.insert(0, HERE)
    from _lib import fetch, recipe  # needs the packages of the environment
    os.makedirs(arguments.output, exist_ok=True)
    for name in names() if arguments.all else arguments.names:
        try:
            record = recipe.run(load(name), name)
        except fetch.Unavailable as error:
            print(f"recipes: {name}: {error}", file=sys.stderr)
            sys.exit(UNAVAILABLE)
        print_record(record)
        with open(os.path.join(arguments.output, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1, ensure_ascii=False)
            file.write("\n")


if __name__ == "__main__":
    main()
