#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every lint; each prints one line per rule and one for its self-test. run.py [--tighten]

--tighten: also lowers the numbers of ratchet.txt to what is left now."""
import sys

import citations
import comments
import english
import folders
import functions
import groups
import json_text
import layers
import measures
import modes
import packages
import parallel
import platforms
import ratchet
import results
import sizes
import subjects
import units
import variants
import workflows

if __name__ == "__main__":
    outcomes = [lint.main() for lint in (layers, sizes, subjects, folders, packages, functions, groups, comments, english, citations, measures, units, parallel, platforms, json_text, modes, variants, workflows, results)]
    if "--tighten" in sys.argv[1:]:
        ratchet.tighten()
    sys.exit(0 if all(outcomes) else 1)
