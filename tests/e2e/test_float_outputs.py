# SPDX-License-Identifier: MIT
"""Float models: `quarkq run` gives ONNX Runtime's results, whatever the number of threads."""
import os

import numpy as np

from harness import expect, expect_equal, run_model, shared, temp_folder, test
from reference import MODELS, expect_same_bytes, onnxruntime_results, results_like, shared_model

RELATIVE_TOLERANCE = 1e-4  # of the largest output value (issue 3)


@test(cases=MODELS)
def equals_onnxruntime(name):
    model, inputs = shared_model(name), shared("golden", "inputs", name, "eval")
    with temp_folder() as folder:
        run_model(model, inputs, folder)
        wanted = onnxruntime_results(model, inputs)
        found = results_like(folder, wanted)
    worst = 0.0
    for file, outputs in wanted.items():
        for output, value in outputs.items():
            expect_equal(found[file][output].shape, value.shape, f"shape of {output} for {file}")
            expect_equal(found[file][output].dtype, value.dtype, f"type of {output} for {file}")
            worst = max(worst, float(np.abs(found[file][output] - value).max() / max(np.abs(value).max(), 1e-30)))
            expect(worst <= RELATIVE_TOLERANCE, f"{output} for {file} is off by {worst:.2e} x max|output|, allowed is {RELATIVE_TOLERANCE}")
    return f"largest difference {worst:.1e} x max|output|"


@test(cases=MODELS)
def same_bytes_for_any_threads(name):
    model, inputs = shared_model(name), shared("golden", "inputs", name, "eval")
    with temp_folder() as folder:
        one, two = os.path.join(folder, "one"), os.path.join(folder, "two")
        run_model(model, inputs, one, "--threads", 1)
        run_model(model, inputs, two, "--threads", 2)
        expect_same_bytes(one, two, "results with 1 and 2 threads")
