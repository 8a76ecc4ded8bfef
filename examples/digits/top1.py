#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Top-1 of classification results: top1.py RESULTS_FOLDER LABELS.csv prints "98.89 % (356 of 360)". No packages needed."""
import ast
import csv
import os
import struct
import sys


def read_npy(path):
    """The values of a float32 .npy file as a flat tuple."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"top1.py: {path}: not a .npy file")
    width, code = (2, "<H") if data[6] == 1 else (4, "<I")
    start = 8 + width + struct.unpack_from(code, data, 8)[0]
    header = ast.literal_eval(data[8 + width:start].decode("latin1"))
    if header["descr"] != "<f4":
        sys.exit(f"top1.py: {path}: holds {header['descr']}, float32 is needed")
    return struct.unpack_from(f"<{(len(data) - start) // 4}f", data, start)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: top1.py RESULTS_FOLDER LABELS.csv")
    folder, labels = sys.argv[1:]
    with open(labels, encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    right = 0
    for row in rows:
        scores = read_npy(os.path.join(folder, row["file"]))
        right += max(range(len(scores)), key=scores.__getitem__) == int(row["label"])
    print(f"{100 * right / len(rows):.2f} % ({right} of {len(rows)})")


if __name__ == "__main__":
    main()
