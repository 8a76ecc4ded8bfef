# SPDX-License-Identifier: MIT
"""`python -m quarkq` is the program."""
from ._files import main

main()
