# SPDX-License-Identifier: MIT
"""What the lints share: the project's files, a finding per line, and a self-test on a folder made for it."""
import os
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED_FOLDERS = {"build", "dist", ".git", ".cache", ".venv", "__pycache__"}
CODE_SUFFIXES = (".cpp", ".h", ".def")


def files_below(root, *folders):
    """Paths relative to `root` of all files below the named folders (all when none is named), in a fixed order."""
    found = []
    for folder in folders or ("",):
        for parent, names, files in os.walk(os.path.join(root, folder)):
            names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS)
            found += [os.path.relpath(os.path.join(parent, name), root) for name in sorted(files)]
    return found


def read_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as file:
        return file.read().splitlines()


def write_tree(root, files):
    """Writes {path: text} below `root`."""
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


def report(name, findings):
    """One line for the rule `name`: ok, or FAIL with every finding above it. Returns whether it holds."""
    for finding in findings:
        print("    " + finding)
    print(f"FAIL {name}: {len(findings)} finding{'s' if len(findings) > 1 else ''}, listed above" if findings else f"ok {name}",
          flush=True)
    return not findings


def self_test(name, rule, good, bad):
    """`rule(root)` must be silent on `good` and, for each {path: text} of `bad`, name the place given with it.

    bad: list of (place, files); `files` come on top of `good`.
    """
    wrong = []
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, good)
        wrong += [f"finding in a clean tree: {finding}" for finding in rule(root)]
    for place, files in bad:
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, {**good, **files})
            findings = rule(root)
            if not any(finding.startswith(place) for finding in findings):
                wrong.append(f"expected a finding at {place}, found {findings}")
    return report(f"{name}.self_test", wrong)
