# SPDX-License-Identifier: MIT
"""Operations that fail, signals and kills: the short form of tests/faults."""
import json
import os
import subprocess
import sys

import harness
from harness import ROOT, expect, test

FAULTS = os.path.join(ROOT, "tests", "faults")


@test(cases=[("single operations", ["run.py", "--short", "--jobs", "2"]), ("random kills", ["kills.py", "--kills", "18", "--rounds", "4"])])
def nothing_is_lost(case):
    done = subprocess.run([sys.executable, os.path.join(FAULTS, case[1][0]), *case[1][1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env={**os.environ, "QUARKQ": harness.QUARKQ}, check=False)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAIL", "  "))]
    expect(done.returncode == 0, "\n".join(failed)[:3000] or done.stderr[-3000:])
    return done.stdout.strip().splitlines()[-1]


@test(cases=["results.json", "kills.json"])
def the_last_record_has_no_findings(name):
    with open(os.path.join(FAULTS, name), encoding="utf-8") as file:
        record = json.load(file)
    expect(record["findings"] == 0, f"{name}: {record['findings']} findings")
    if name == "kills.json":
        expect(sum(record["kills"].values()) >= 200, f"{record['kills']}")
