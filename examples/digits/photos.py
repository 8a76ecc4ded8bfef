#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The samples as photos, for docs/guide.md: photos.py FOLDER. No packages needed.

FOLDER/calib/NAME.png, FOLDER/val/CLASS/NAME.png and FOLDER/labels.csv ("CLASS/NAME.png,CLASS"); grey, 32 x 32 pixels."""
import csv
import glob
import os
import struct
import sys
import zlib

from top1 import read_npy

SIDE, ZOOM = 8, 4


def png(values):
    """A grey PNG of SIDE x SIDE values in 0..1, each as ZOOM x ZOOM pixels."""
    pixels = [round(255 * value) for value in values]
    rows = [bytes(pixel for pixel in pixels[SIDE * y:SIDE * (y + 1)] for _ in range(ZOOM)) for y in range(SIDE) for _ in range(ZOOM)]
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", SIDE * ZOOM, SIDE * ZOOM, 8, 0, 0, 0, 0)),
              (b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks)


def save(folder, source):
    name = os.path.basename(source).removesuffix(".npy") + ".png"
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(png(read_npy(source)))
    return name


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: photos.py FOLDER")
    here, out = os.path.dirname(os.path.abspath(__file__)), sys.argv[1]
    for source in sorted(glob.glob(os.path.join(here, "calib", "*.npy"))):
        save(os.path.join(out, "calib"), source)
    with open(os.path.join(here, "eval", "labels.csv"), encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    with open(os.path.join(out, "labels.csv"), "w", encoding="ascii") as labels:
        for row in rows:
            label = row["label"]
            labels.write(f"{label}/{save(os.path.join(out, 'val', label), os.path.join(here, 'eval', 'inputs', row['file']))},{label}\n")


if __name__ == "__main__":
    main()
