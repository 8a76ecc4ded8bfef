#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The age of what the target files rest on: target_ages.py QUARKQ [--today 2026-12-31] [--most-days N] [TARGET...]

Prints for each target, built-in or a file, its newest and its oldest source with their ages in days. Dates are those of
src/config/targets/sources.def. With --most-days, ends with 1 if the newest source of a target is older."""
import argparse
import datetime
import json
import subprocess
import sys


def listing(quarkq, *arguments):
    return json.loads(subprocess.run([quarkq, "list", *arguments, "--json"], check=True, capture_output=True, text=True).stdout)


def line_of(target, sources, today):
    """The line about a target, and the age of its newest source; None if no source has a date."""
    if not sources:
        return f"{target:12}  no source with a date", None
    ages = [(today - datetime.date.fromisoformat(row["date"])).days for row in sources]
    newest, oldest = sources[ages.index(min(ages))], sources[ages.index(max(ages))]
    parts = [f"{what} {row['date']} ({row['basis']}, {row['name']}): {age} days" for what, row, age in (("newest", newest, min(ages)), ("oldest", oldest, max(ages)))]
    return f"{target:12}  " + "; ".join(parts), min(ages)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quarkq")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--today", type=datetime.date.fromisoformat, default=datetime.date.today())
    parser.add_argument("--most-days", type=int)
    args = parser.parse_args(arguments)
    old = []
    for target in args.targets or [row["name"] for row in listing(args.quarkq, "targets")]:
        line, age = line_of(target, listing(args.quarkq, "target-sources", target), args.today)
        print(line)
        if args.most_days is not None and (age is None or age > args.most_days):
            old.append(target)
    if old:
        print(f"older than {args.most_days} days: {', '.join(old)}; read the sources again and update src/config/targets/sources.def", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
