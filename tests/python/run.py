#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of the Python package, as tests/e2e/harness.py does: run.py [MODULE...] [-k PART].

They run in build/python-venv with the wheel of dist/ installed. `run.py --make` makes that environment first: it runs
scripts/build_wheel.sh and installs the wheel.
"""
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VENV = os.path.join(ROOT, "build", "python-venv")
PYTHON = os.path.join(VENV, "bin", "python")
REQUIREMENTS = os.path.join(HERE, "requirements.txt")
PIP = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def read(path):
    return open(path, encoding="utf-8").read() if os.path.exists(path) else None


def make():
    """The environment with its packages is kept; the wheel is installed anew."""
    subprocess.run([os.path.join(ROOT, "scripts", "build_wheel.sh")], check=True)
    stamp = os.path.join(VENV, "requirements.done")
    if read(stamp) != read(REQUIREMENTS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([*PIP, "-r", REQUIREMENTS], check=True)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(read(REQUIREMENTS))
    subprocess.run([*PIP, "--no-deps", "--force-reinstall", *glob.glob(os.path.join(ROOT, "dist", "quarkq-*linux*.whl"))], check=True)


def main():
    if "--make" in sys.argv:
        sys.argv.remove("--make")
        try:
            make()
        except subprocess.CalledProcessError as error:
            print(f"skip python: the wheel could not be built and installed here: {error}")
            return
        os.execv(PYTHON, [PYTHON, os.path.abspath(__file__), *sys.argv[1:]])
    sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "e2e")]
    import harness
    harness.HERE = HERE
    harness.main()


if __name__ == "__main__":
    main()
