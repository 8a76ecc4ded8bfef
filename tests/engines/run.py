#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes of docs/scaling.md on real engines: run.py [dask|slurm]... prints "ok NAME", "FAIL NAME: why" or "skip NAME: why".

Dask runs in an environment of its own (build/engines), which is made from requirements.txt. Slurm runs as one node, if Debian's slurm-wlm and
munge are installed and this is root: its daemons are started on ports and in folders of their own, and ended afterwards."""
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

DIGITS = os.path.join(ROOT, "examples", "digits")
QUARKQ = os.environ.get("QUARKQ", os.path.join(ROOT, "build", "release", "quarkq"))


class Skip(Exception):
    pass


def quarkq(*words, cwd):
    return subprocess.run([QUARKQ, *words], cwd=cwd, check=True, capture_output=True, text=True, timeout=600)


def shared_folder(folder):
    """What the tasks see: the model, its samples, and the program on the path."""
    shutil.copy(os.path.join(DIGITS, "digits.onnx"), os.path.join(folder, "model.onnx"))
    shutil.copytree(os.path.join(DIGITS, "calib"), os.path.join(folder, "calib"))
    shutil.copytree(os.path.join(DIGITS, "eval", "inputs"), os.path.join(folder, "val"))
    shutil.copy(os.path.join(DIGITS, "eval", "labels.csv"), folder)
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(QUARKQ, os.path.join(folder, "bin", "quarkq"))
    return {**os.environ, "PATH": os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"], "QUARKQ": QUARKQ}


def expect_same(folder, path, reference):
    if not filecmp.cmp(os.path.join(folder, path), os.path.join(folder, reference), shallow=False):
        raise AssertionError(f"{path} is not the model of a single process, {reference}")


def alone(folder):
    """The models of single processes, to compare with."""
    os.mkdir(os.path.join(folder, "alone"))
    quarkq("quantize", "model.onnx", "--config", "a8w8", "--calib", "calib", "-o", "alone/calibrated.onnx", cwd=folder)
    quarkq("calibrate", "model.onnx", "--config", "a8w8", "--calib", "calib", "-o", "alone/all.stats", cwd=folder)
    quarkq("quantize", "model.onnx", "--config", "a8w8", "--stats", "alone/all.stats", "-o", "alone/quantized.onnx", cwd=folder)
    quarkq("tune", "model.onnx", "--config", "a8w8", "--calib", "calib", "--eval", "val", "--labels", "labels.csv", "--metric", "top1", "-o", "alone/model.onnx", cwd=folder)


def dask(folder):
    import dask_engine
    return dask_engine.run(folder, shared_folder(folder), os.path.join(ROOT, "build", "engines"))


def slurm(folder):
    import slurm_engine
    return slurm_engine.run(folder, shared_folder(folder))


ENGINES = {"dask": dask, "slurm": slurm}


def main():
    names = sys.argv[1:] or list(ENGINES)
    if set(names) - set(ENGINES):
        sys.exit(f"run.py: found {' '.join(names)}, allowed are {' '.join(ENGINES)}")
    failed = False
    for name in names:
        with tempfile.TemporaryDirectory(prefix="quarkq-engines-") as folder:
            try:
                print(f"ok engines.{name}: {ENGINES[name](folder)}", flush=True)
            except Skip as why:
                print(f"skip engines.{name}: {why}", flush=True)
            except Exception as error:
                failed = True
                if not isinstance(error, AssertionError):
                    traceback.print_exc()
                output = getattr(error, "stderr", None) or ""
                print(f"FAIL engines.{name}: {type(error).__name__}: {error} {output[-500:]}".replace("\n", " "), flush=True)
    return failed


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]  # the engines import this file
    sys.exit(main())
