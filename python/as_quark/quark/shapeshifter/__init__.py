# SPDX-License-Identifier: MIT
"""The names of quark.shapeshifter, from quarkq.compat.shapeshifter."""
from quarkq.compat.shapeshifter import *  # noqa: F401, F403

from quark._as_quark import missing

__getattr__ = missing(__name__)
