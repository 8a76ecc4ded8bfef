#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the Windows program under wine beside the Linux program: run.py [-k PART] prints "ok name", "FAIL name: why" or "skip name: why".

Needs wine64 and what scripts/build_windows.sh --tests built; skips without. The unit tests of the layers that depend on the system and of
vectorized loops run, too. docs/adr/0024-windows.md lists what wine does not show."""
import argparse
import importlib
import os
import shutil
import sys

from support import WINDOWS, Skip, tests

MODULES = ["test_built", "test_results", "test_paths", "test_ends"]
# What wine cannot show, or what is not tested yet.
NOT_TESTED = {"read_only_results": "wine replaces files that are read-only", "a_network": "wine's shares are folders"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="", help="only tests whose names contain this")
    part = parser.parse_args().k
    if not os.path.isfile(WINDOWS):
        print("skip windows: build/windows/quarkq.exe is not there; scripts/build_windows.sh --tests builds it")
        return 0
    if shutil.which("wine64") is None and not os.path.isfile("/usr/lib/wine/wine64"):
        print("skip windows: wine64 is not installed (apt-get install wine64)")
        return 0
    failed = 0
    for module in MODULES:
        importlib.import_module(module)
    for name, function in tests():
        if part not in name:
            continue
        try:
            function()
            print(f"ok windows.{name}", flush=True)
        except Skip as reason:
            print(f"skip windows.{name}: {reason}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL windows.{name}: {' '.join(str(error).split())}", flush=True)
    for name, why in NOT_TESTED.items():
        if part in name:
            print(f"skip windows.{name}: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
