# SPDX-License-Identifier: MIT
"""Shared parts of the recipes: files from wheels, samples, quantizers, scores with intervals, and the record of a run."""
