# SPDX-License-Identifier: MIT
"""Scripts of tests/fuzz, run in short by end-to-end tests."""
import os
import subprocess
import sys

from harness import QUARKQ, ROOT, Skip, expect

FUZZ = os.path.join(ROOT, "tests", "fuzz")


def script(name, *arguments):
    """The last line of a script of tests/fuzz; its findings are the failure. It loads the library of the program under test."""
    library = os.path.join(os.path.dirname(QUARKQ), "libquarkq.so")
    if not os.path.exists(library):
        raise Skip("libquarkq.so is not built")
    environment = {**os.environ, "QUARKQ": QUARKQ, "QUARKQ_LIBRARY": library, "QUARKQ_ORT_OPS_LIBRARY": os.path.join(os.path.dirname(QUARKQ), "libquarkq_ort_ops.so")}
    done = subprocess.run([sys.executable, os.path.join(FUZZ, name), *map(str, arguments)], capture_output=True, text=True, check=False, env=environment)
    lines = done.stdout.strip().splitlines()
    expect(done.returncode == 0, f"{name} {' '.join(map(str, arguments))}: {' | '.join(lines[:5])} {done.stderr[-500:]}")
    return lines[-1]
