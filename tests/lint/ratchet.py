# SPDX-License-Identifier: MIT
"""How many findings each lint still allows (ratchet.txt): a number may only shrink."""
import os

import sources

FILE = os.path.join(sources.ROOT, "tests", "lint", "ratchet.txt")
HEADER = "# Findings that a lint still allows. A number may only shrink; `tests/lint/run.py --tighten` writes what is left now.\n"
_left = {}


def read(path=FILE):
    with open(path, encoding="utf-8") as file:
        return {name: int(count) for name, count in (line.split() for line in file if not line.startswith("#"))}


def report(name, findings):
    """As sources.report(), but as many findings as ratchet.txt allows are fine. All are listed when there are more."""
    allowed = read().get(name, 0)
    _left[name] = len(findings)
    if len(findings) > allowed:
        if allowed:
            new = len(findings) - allowed
            findings = [*dict.fromkeys(findings), f"allowed are {allowed} (tests/lint/ratchet.txt): {new} of these are new"]
        return sources.report(name, findings)
    slack = "; run tests/lint/run.py --tighten" if len(findings) < allowed else ""
    print(f"ok {name}" + (f": {len(findings)} left of {allowed} allowed{slack}" if allowed else ""), flush=True)
    return True


def tighten():
    """Writes the counts of this run where they are smaller."""
    counts = {name: min(count, _left.get(name, count)) for name, count in read().items()}
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(HEADER)
        file.writelines(f"{name} {count}\n" for name, count in sorted(counts.items()) if count)
