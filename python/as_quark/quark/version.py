# SPDX-License-Identifier: MIT
"""The version under another name, as scripts read it."""
from . import __version__ as __version__
