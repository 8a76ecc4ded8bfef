# SPDX-License-Identifier: MIT
"""`python -m quark.onnx.tools.evaluate` is `quarkq evaluate`, with the same options."""
import sys

from quarkq._files import main

if __name__ == "__main__":
    sys.argv.insert(1, "evaluate")
    main()
