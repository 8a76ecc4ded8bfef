# SPDX-License-Identifier: MIT
"""Call shapes of other tools, so that their scripts change one import."""
