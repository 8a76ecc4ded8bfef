#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The interface of this version as JSON, and a comparison with the last release (docs/versions.md).

api_dump.py QUARKQ             prints the interface
api_dump.py QUARKQ --compare   prints what differs from packaging/api.json; exit code 1 if the version number does not allow it
api_dump.py QUARKQ --record    writes packaging/api.json, which docs/releasing.md does for a release
"""
import ast
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = os.path.join(ROOT, "packaging", "api.json")
PYTHON_MODULES = {"quarkq": ("__init__", "_verbs", "_errors", "_report", "_files"), "quarkq.compat.quark": ("compat/quark",),
                  "quarkq.compat.onnxruntime": ("compat/onnxruntime",), "quarkq.compat.shapeshifter": ("compat/shapeshifter",)}
PATCH, MINOR, MAJOR = "patch", "minor", "major"
LEVELS = (PATCH, MINOR, MAJOR)


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def program(quarkq, *arguments):
    return subprocess.run([quarkq, *arguments], check=True, capture_output=True, text=True).stdout


def c_interface(text):
    """{function: prototype, struct: its members} of the C header."""
    text = " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).split())
    found = {name: f"{kind} ({arguments})" for kind, name, arguments in re.findall(r"QUARKQ_C_EXPORT ([\w* ]+?)\s*\b(quarkq_\w+)\((.*?)\);", text)}
    found.update({f"struct {name}": body.strip() for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text)})
    return found


def arguments_of(function):
    """Names of the arguments in order; "=" marks a default, "*" those by name only."""
    given = function.args
    positional = [one.arg for one in given.posonlyargs + given.args if one.arg not in ("self", "cls")]
    first_default = len(positional) - len(given.defaults)
    named = [name + ("=" if place >= first_default else "") for place, name in enumerate(positional)]
    named += ["*" + one.arg + ("=" if default is not None else "") for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    return named + (["**"] if given.kwarg else [])


def python_names(paths):
    """{function, class or method: its arguments} of the names in __all__."""
    trees = [ast.parse(read("python", "quarkq", *f"{path}.py".split("/"))) for path in paths]
    listed = next(ast.literal_eval(node.value) for tree in trees for node in tree.body
                  if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")
    found = {}
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.FunctionDef) and node.name in listed:
            found[node.name] = arguments_of(node)  # the last one: overloads come before
        elif isinstance(node, ast.ClassDef) and node.name in listed:
            found[node.name] = []
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and (inner.name == "__init__" or not inner.name.startswith("_")):
                    found[node.name if inner.name == "__init__" else f"{node.name}.{inner.name}"] = arguments_of(inner)
    return {name: found.get(name, []) for name in listed} | {name: row for name, row in found.items() if name.split(".")[0] in listed}


def requests(text):
    """{verb: members of its request} of the table in docs/c-api.md."""
    rows = re.findall(r"^\| `(\w+)`([^|]*)\| (.*) \|$", text, re.M)
    found = {verb + rest.rstrip(): set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", members)))) for verb, rest, members in rows}
    others = {verb for verb, _, _ in rows} - {"report"}  # verbs that the text names
    return {verb: sorted(members - others) for verb, members in found.items()}


def dump(quarkq):
    """What the program knows of itself, and what only the sources have: the C and Python interfaces."""
    api = json.loads(program(quarkq, "list", "api", "--json"))
    api["presets"] = {name: {key: json.dumps(value) for key, value in values.items()} for name, values in api["presets"].items()}
    return {
        **api,
        "c": c_interface(read("include", "quarkq", "c_api.h")),
        "requests": requests(read("docs", "c-api.md")),
        "python": {module: python_names(paths) for module, paths in PYTHON_MODULES.items()},
    }


def text_of(interface):
    """One line per row, so that changes can be read and merged."""
    lines = []
    for section, rows in interface.items():
        if not isinstance(rows, dict):
            lines.append(f' "{section}": {json.dumps(rows)}')
            continue
        inner = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in rows.items())
        lines.append(f' "{section}": {{\n{inner}\n }}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def allowed_level(old, new):
    """The largest change that the two version numbers allow. Before 1.0 the second number counts as the first."""
    (major, minor, *_), (new_major, new_minor, *_) = ([int(part) for part in version.split(".")] for version in (old, new))
    if new_major != major or (major == 0 and new_minor != minor):
        return MAJOR
    return MINOR if new_minor != minor else PATCH


def removed(where, old, new, level=MAJOR):
    return [(level, f"{where}: {name} was removed") for name in old if name not in new]


def changed(where, old, new, level):
    return [(level, f"{where}: {name} was {row}, is {new[name]}") for name, row in old.items() if name in new and new[name] != row]


def preset_changes(old, new):
    found = removed("presets", old, new)
    for name, row in old.items():
        if name in new and name != "common":
            values, others = {**old["common"], **row}, {**new["common"], **new[name]}
            found += changed(f"preset {name}", values, others, MINOR)
    return found


def json_changes(where, old, new):
    found = removed(where, old, new)
    for path, row in old.items():
        if path not in new:
            continue
        kinds, others = (set(text.rstrip("?").split("|")) for text in (row, new[path]))
        more = [kind for kind in others - kinds if not kind.startswith("=")]  # values may be added
        if kinds - others or more or (new[path].endswith("?") and not row.endswith("?")):
            found.append((MAJOR, f"{where}: {path} was {row}, is {new[path]}"))
    return found


def argument_changes(where, old, new):
    """Arguments may be added at the end, or by name, with a default."""
    bare = [name.rstrip("=") for name in new]
    found = removed(where, [name.rstrip("=") for name in old if name != "**"], bare)
    found += [(MAJOR, f"{where}: {name} has no default any more") for name in old if name.endswith("=") and name[:-1] in new]
    found += [(MAJOR, f"{where}: {name} is required") for name in new if not name.endswith("=") and name != "**" and name not in old and name + "=" not in old]
    order, others = ([name.rstrip("=") for name in names if not name.startswith("*")] for names in (old, new))
    if not found and others[: len(order)] != order:
        found.append((MAJOR, f"{where}: arguments {', '.join(order)} were moved"))
    return found


def compare(old, new):
    """[(level of the release that may make this change, text)] for everything that is not an addition."""
    found = removed("exit codes", old["exit_codes"], new["exit_codes"])
    found += removed("verbs", old["options"], new["options"])
    for verb in set(old["options"]) & set(new["options"]):
        found += removed(f"options of {verb}", old["options"][verb], new["options"][verb])
        found += [(MAJOR, f"options of {verb}: {name} {'needs a' if new['options'][verb][name] else 'takes no'} value") for name, row in old["options"][verb].items()
                  if new["options"][verb].get(name, row) != row]
    found += removed("settings", old["settings"], new["settings"])
    for place, level in ((0, MAJOR), (1, MINOR)):
        sides = [{name: row[place] for name, row in side["settings"].items()} for side in (old, new)]
        found += changed(("type of a setting", "default of a setting")[place], *sides, level)
    found += preset_changes(old["presets"], new["presets"])
    found += removed("diagnostics", old["diagnostics"], new["diagnostics"]) + changed("diagnostics", old["diagnostics"], new["diagnostics"], MINOR)
    for name, rows in old["listings"].items():
        found += removed(f"list {name}", rows, new["listings"].get(name, []), MINOR if name in ("passes", "quirks") else MAJOR)
    for name, rows in old["json"].items():
        found += json_changes(f"JSON of {name}", rows, new["json"].get(name, {}))
    found += removed("C interface", old["c"], new["c"]) + changed("C interface", old["c"], new["c"], MAJOR)
    for verb, rows in old["requests"].items():
        found += removed(f"request of {verb}", rows, new["requests"].get(verb, []))
    for module, rows in old["python"].items():
        others = new["python"].get(module, {})
        found += removed(module, rows, others)
        for name in set(rows) & set(others):
            found += argument_changes(f"{module}.{name}", rows[name], others[name])
    return sorted(found)


def additions(old, new):
    """How many names the new interface has in addition."""
    if isinstance(new, dict):
        return sum(additions(old[name], row) if isinstance(old, dict) and name in old else 1 for name, row in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return len([row for row in new if row not in old])
    return 0


def main():
    new = dump(sys.argv[1])
    if "--record" in sys.argv[2:]:
        os.makedirs(os.path.dirname(RECORD), exist_ok=True)
        with open(RECORD, "w", encoding="utf-8") as file:
            file.write(text_of(new))
    elif "--compare" in sys.argv[2:]:
        old = json.loads(read("packaging", "api.json"))
        level = allowed_level(old["version"], new["version"])
        changes = compare(old, new)
        for kind, text in changes:
            print(f"{kind} {text}")
        print(f"{additions(old, new)} additions since {old['version']}; {new['version']} may make changes of a {level} release")
        sys.exit(any(LEVELS.index(kind) > LEVELS.index(level) for kind, _ in changes))
    else:
        print(text_of(new), end="")


if __name__ == "__main__":
    main()
