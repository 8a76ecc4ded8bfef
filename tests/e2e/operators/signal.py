# SPDX-License-Identifier: MIT
"""Recipes of signal operators."""
import numpy as np

from operators import recipe


@recipe("DFT", since=17)
def fourier(b, op):
    length, real = b.integer(1, 9), b.integer(1, 2)
    inverse = b.pick([None, 0, 1]) if real == 2 else None
    onesided = b.pick([None, 0, 1]) if real == 1 else None
    dims = [b.integer(1, 2), length, real] if b.chance(0.7) or b.opset < 20 else [b.integer(1, 2), b.integer(1, 3), length, real]
    inputs = [b.operand(dims, b.pick([np.float32, np.float32, np.float64]))]
    if b.chance(0.3):
        inputs.append(b.stored(np.asarray(b.integer(1, 9), np.int64)))
    if b.opset < 20:
        b.call(op, inputs, axis=1, inverse=inverse, onesided=onesided)
        return
    b.call(op, inputs + [""] * (2 - len(inputs)) + [b.stored(np.asarray(len(dims) - 2, np.int64))], inverse=inverse, onesided=onesided)


@recipe("STFT", since=17)
def short_fourier(b, op):
    frame, step = b.integer(2, 6), b.integer(1, 3)
    inputs = [b.operand([b.integer(1, 2), frame + b.integer(0, 9), 1]), b.stored(np.asarray(step, np.int64), late=0),
              b.operand([frame], late=0.1) if b.chance(0.6) else "", b.stored(np.asarray(frame, np.int64), late=0)]
    b.call(op, inputs, onesided=b.pick([None, 0, 1]))


@recipe("HannWindow", "HammingWindow", "BlackmanWindow", since=17)
def window(b, op):
    b.call(op, [b.stored(np.asarray(b.integer(1, 12), b.pick([np.int64, np.int32])))], periodic=b.pick([None, 0, 1]))


@recipe("MelWeightMatrix", since=17)
def mel(b, op):
    rate = b.pick([8000, 16000])
    values = [np.int64(b.integer(2, 8)), np.int64(b.pick([16, 64])), np.int64(rate), np.float32(b.pick([0.0, 100.0])), np.float32(rate / 2)]
    b.call(op, [b.stored(np.asarray(value)) for value in values])
