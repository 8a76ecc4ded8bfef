#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every lint; each prints one line per rule and one for its self-test."""
import sys

import layers
import sizes

if __name__ == "__main__":
    outcomes = [layers.main(), sizes.main()]
    sys.exit(0 if all(outcomes) else 1)
