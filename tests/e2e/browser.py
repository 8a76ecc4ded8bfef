# SPDX-License-Identifier: MIT
"""Pages in a real browser: Debian's chromium, which run_tests.sh --long installs."""
import os
import shutil
import struct
import subprocess
import zlib

import numpy as np

from harness import Skip, expect


def browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    raise Skip("no Chromium is installed")


def browse(*arguments):
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def decode_png(path):
    """[H, W, 3] of an 8-bit RGB or RGBA file that is not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    place, packed = 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        place += size + 12
    expect(depth == 8 and colour in (2, 6), f"PNG of depth {depth}, colour type {colour}")
    channels = 3 if colour == 2 else 4
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    above, image = np.zeros(width * channels, np.uint8), np.zeros((height, width * channels), np.uint8)
    for y in range(height):
        above = image[y] = unfiltered(rows[y, 0], rows[y, 1:], above, channels)
    return image.reshape(height, width, channels)[..., :3]


def unfiltered(kind, row, above, channels):
    if kind == 0:
        return row
    if kind == 2:
        return row + above
    result = np.zeros_like(row)
    line, up = row.astype(int), above.astype(int)
    for x in range(len(row)):
        a = int(result[x - channels]) if x >= channels else 0
        c = int(up[x - channels]) if x >= channels else 0
        b = int(up[x])
        guess = a if kind == 1 else (a + b) // 2 if kind == 3 else min((a, b, c), key=lambda v: abs(a + b - c - v))
        result[x] = (line[x] + guess) & 255
    return result


def screenshot(page, folder, width, *flags):
    path = os.path.join(folder, "page.png")
    browse(f"--window-size={width},900", f"--screenshot={path}", *flags, "file://" + page)
    expect(os.path.exists(path), "the browser made no picture")
    return decode_png(path)
