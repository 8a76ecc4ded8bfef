# SPDX-License-Identifier: MIT
"""Photos of text lines as PaddleOCR's recognizers take them, and edit distances: without quarkq and without Pillow."""
import struct
import zlib

import numpy as np

HEIGHT, WIDTH = 48, 320


def predicted(left, above, corner):
    """Paeth's predictor of the PNG format."""
    near = [(abs(left + above - corner - one), order, one) for order, one in enumerate((left, above, corner))]
    return min(near)[2]


def decoded(path):
    """The pixels of an 8-bit RGB PNG, [height, width, 3]."""
    with open(path, "rb") as file:
        data = file.read()
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    raw, step = zlib.decompress(packed), width * 3
    above, rows = bytes(step), []
    for y in range(height):
        way, row = raw[y * (step + 1)], bytearray(raw[y * (step + 1) + 1:(y + 1) * (step + 1)])
        for i in range(step if way else 0):
            left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, predicted(left, above[i], corner))[way]) & 255
        rows.append(above := bytes(row))
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, 3)


def weights(old, new):
    """Triangles as wide as what one new pixel covers: [new, old]."""
    scale = old / new
    centres = (np.arange(new)[:, None] + .5) * scale
    table = np.clip(1 - np.abs(np.arange(old)[None] + .5 - centres) / max(scale, 1), 0, None)
    return table / table.sum(1, keepdims=True)


def model_input(path):
    """[1, 3, 48, 320]: BGR, -1 to 1, zeros to the right."""
    pixels = decoded(path).astype(np.float64)
    height, width = pixels.shape[:2]
    new = min(WIDTH, max(16, int(np.ceil(HEIGHT * width / height))))
    pixels = np.round(np.einsum("ab,hbc->hac", weights(width, new), pixels))
    pixels = np.round(np.einsum("ab,bwc->awc", weights(height, HEIGHT), pixels))
    values = np.zeros((1, 3, HEIGHT, WIDTH), np.float32)
    values[0, :, :, :new] = (pixels[..., ::-1] / 127.5 - 1).transpose(2, 0, 1)
    return values


def edits(a, b):
    """Levenshtein's distance of two sequences."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i, x in enumerate(a):
        for k, y in enumerate(b):
            table[i + 1, k + 1] = min(table[i, k] + (x != y), table[i, k + 1] + 1, table[i + 1, k] + 1)
    return int(table[-1, -1])


def read_by_ctc(scores, symbols):
    """scores: [steps, classes]; symbols[i] is that of class i, symbols[0] the blank."""
    best = np.argmax(scores, -1)
    return "".join(symbols[k] for i, k in enumerate(best) if k and (i == 0 or k != best[i - 1]))


def error_rates(pairs):
    """(cer, wer, exact) of pairs (truth, text)."""
    characters = sum(edits(truth, text) for truth, text in pairs) / sum(len(truth) for truth, _ in pairs)
    words = sum(edits(truth.split(), text.split()) for truth, text in pairs) / sum(len(truth.split()) for truth, _ in pairs)
    return characters, words, sum(truth == text for truth, text in pairs) / len(pairs)
