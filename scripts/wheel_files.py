# SPDX-License-Identifier: MIT
"""Parts of a wheel that is written without a build tool: files of the tree, the record of their hashes, and an archive with fixed times."""
import base64
import hashlib
import os
import re
import sys
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*parts):
    with open(os.path.join(ROOT, *parts), "rb") as file:
        return file.read()


def version():
    return re.search(r"project\(quarkq VERSION ([0-9.]+)", read("CMakeLists.txt").decode()).group(1)


def files_below(*parts):
    """{path relative to the folder: content}, without what Python compiled."""
    top, found = os.path.join(ROOT, *parts), {}
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top).replace(os.sep, "/")] = read(path)
    return found


def write_archive(path, contents):
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "1700000000")), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


def write_within(path, contents, most):
    """Writes the archive, or ends the program if it has more bytes than `most`."""
    write_archive(path, contents)
    size = os.path.getsize(path)
    if size > most:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {path} has {size} bytes, allowed are {most}")
    print(f"== {path}: {size // 1024} KB")


def record(contents, name):
    lines = []
    for path, content in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}")
    return ("\n".join(lines + [f"{name},,"]) + "\n").encode()
