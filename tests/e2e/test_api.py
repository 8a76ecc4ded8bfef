# SPDX-License-Identifier: MIT
"""The promise of docs/versions.md: the interface of this tree against the last release, and the rules of the comparison."""
import copy
import json
import os
import subprocess
import sys

from harness import QUARKQ, ROOT, expect, expect_equal, quarkq, run, temp_folder, test

SCRIPT = os.path.join(ROOT, "scripts", "api_dump.py")
sys.path.insert(0, os.path.dirname(SCRIPT))

import api_dump  # noqa: E402

SMALL = {
    "version": "0.1.0", "exit_codes": {"0": "done", "5": "a gate"}, "options": {"run": {"--limit": True, "--details": False}},
    "settings": {"Percentile": ["number", "99.9"]}, "presets": {"common": {"a": "1", "b": "2"}, "XINT8": {"a": "3"}, "BF16": {}},
    "diagnostics": {"no-samples": "warning"}, "listings": {"passes": ["fold"], "metrics": ["top1"]},
    "json": {"run": {"$": "object", "$.a": "integer", "$.b": "=x|=y"}}, "c": {"quarkq_call": "int (void)", "struct s": "int a;"},
    "requests": {"run": ["limit"]}, "python": {"quarkq": {"run": ["model", "data=", "*limit="], "Report": []}},
}


def without(path):
    """SMALL without the entry at `path`; a value instead of the last part replaces it."""
    changed = copy.deepcopy(SMALL)
    place = changed
    for part in path[:-1]:
        place = place[part]
    if isinstance(place, list):
        place.remove(path[-1])
    else:
        del place[path[-1]]
    return changed


def with_value(value, *path):
    changed = copy.deepcopy(SMALL)
    place = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return changed


FORBIDDEN = {
    "exit code removed": ("major", without(["exit_codes", "5"])), "verb removed": ("major", without(["options", "run"])), "option removed": ("major", without(["options", "run", "--limit"])),
    "option without its value": ("major", with_value(False, "options", "run", "--limit")), "setting removed": ("major", without(["settings", "Percentile"])),
    "type of a setting": ("major", with_value(["text", "99.9"], "settings", "Percentile")), "default of a setting": ("minor", with_value(["number", "99"], "settings", "Percentile")),
    "preset removed": ("major", without(["presets", "BF16"])), "preset changed": ("minor", with_value("4", "presets", "XINT8", "a")),
    "preset changed through the common values": ("minor", with_value("9", "presets", "common", "b")), "id removed": ("major", without(["diagnostics", "no-samples"])),
    "severity changed": ("minor", with_value("notice", "diagnostics", "no-samples")), "pass removed": ("minor", without(["listings", "passes", "fold"])),
    "metric removed": ("major", without(["listings", "metrics", "top1"])), "key removed": ("major", without(["json", "run", "$.a"])), "schema removed": ("major", without(["json", "run"])),
    "type of a key": ("major", with_value("number", "json", "run", "$.a")), "key may be absent": ("major", with_value("integer?", "json", "run", "$.a")),
    "key may be null": ("major", with_value("integer|null", "json", "run", "$.a")), "value of a key removed": ("major", with_value("=x", "json", "run", "$.b")),
    "function of C removed": ("major", without(["c", "quarkq_call"])), "struct of C changed": ("major", with_value("int a; int b;", "c", "struct s")),
    "member of a request removed": ("major", without(["requests", "run", "limit"])), "function of Python removed": ("major", without(["python", "quarkq", "run"])),
    "argument removed": ("major", with_value(["model", "*limit="], "python", "quarkq", "run")), "argument by name only": ("major", with_value(["model", "*data=", "*limit="], "python", "quarkq", "run")),
    "arguments moved": ("major", with_value(["data=", "model=", "*limit="], "python", "quarkq", "run")), "argument required": ("major", with_value(["model", "data=", "*limit=", "*seed"], "python", "quarkq", "run")),
    "default removed": ("major", with_value(["model", "data", "*limit="], "python", "quarkq", "run")),
}
ALLOWED = {
    "nothing": SMALL, "option added": with_value(True, "options", "run", "--seed"), "setting added": with_value(["bool", "false"], "settings", "quarkq.new"),
    "key of presets added": with_value("0", "presets", "common", "c"), "preset added": with_value({"a": "7"}, "presets", "NEW"), "code added": with_value("time", "exit_codes", "8"),
    "key added": with_value("string?", "json", "run", "$.c"), "value of a key added": with_value("=x|=y|=z", "json", "run", "$.b"), "key always there": with_value("integer", "json", "run", "$.a"),
    "argument added": with_value(["model", "data=", "threads=", "*limit=", "*seed="], "python", "quarkq", "run"), "meaning reworded": with_value("a quality gate", "exit_codes", "5"),
    "common value moved": with_value({"common": {"a": "3", "b": "2"}, "XINT8": {}, "BF16": {"a": "1"}}, "presets"),
}


@test()
def the_version_allows_what_differs_from_the_last_release():
    result = subprocess.run([sys.executable, "-B", SCRIPT, QUARKQ, "--compare"], capture_output=True, text=True, check=False)
    expect(result.returncode == 0, result.stdout + result.stderr + "docs/versions.md has the rules: keep what was removed, raise the number of project(VERSION), or, while the recorded "
           "version is not released, run scripts/api_dump.py build/release/quarkq --record")
    return result.stdout.strip().splitlines()[-1]


@test()
def the_record_has_every_part():
    with open(os.path.join(ROOT, "packaging", "api.json"), encoding="utf-8") as file:
        recorded = json.load(file)
    least = {"exit_codes": 9, "options": 20, "settings": 200, "presets": 65, "diagnostics": 50, "listings": 11, "json": 18, "c": 16, "requests": 14, "python": 4}
    expect_equal([name for name, count in least.items() if len(recorded[name]) < count], [], "parts with too few rows")
    expect(recorded["options"]["quantize"]["--calib"] is True and recorded["options"]["quantize"]["--requantize"] is False, "options of quantize")
    expect("require=" in [name.lstrip("*") for name in recorded["python"]["quarkq"]["quantize"]], "arguments of quarkq.quantize")
    expect_equal(recorded["json"]["quantize"]["$.outputs[].cosine"], recorded["json"]["quantize"]["$.outputs[].min_cosine"], "types of cosines")


@test()
def the_program_prints_its_interface():
    """What the record has of the program is what `list api` prints, so that any installed version can be compared."""
    printed = json.loads(quarkq("list", "api", "--json").stdout)
    expect_equal(json.loads(quarkq("list", "api").stdout), printed, "the same without --json")
    expect_equal(sorted(printed), sorted(["version", "exit_codes", "options", "settings", "presets", "diagnostics", "listings", "json"]), "parts")
    expect(printed["options"]["every verb"]["--quiet"] is False and printed["options"]["evaluate"]["--confidence"] is True, "options")
    shown = json.loads(quarkq("config", "show", "A8W8", "--set", "target=none", "--json").stdout)["resolved"]
    values = {**printed["presets"]["common"], **printed["presets"]["A8W8"]}
    expect_equal({name: values[name] for name in shown}, {name: row["value"] for name, row in shown.items()}, "settings of a preset")
    expect(all(value != printed["presets"]["common"][name] for name, value in printed["presets"]["A8W8"].items()), "a common value is repeated")
    with open(os.path.join(ROOT, "docs", "schemas", "tune.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    top = {path.split(".")[1].split("[")[0] for path in printed["json"]["tune"] if path != "$"}
    expect_equal(top, set(schema["properties"]), "keys of tune")
    expect_equal(printed["json"]["tune"]["$.trials[].gain.mcnemar"], "null|number", "types of a key")


@test()
def the_interface_can_be_written_to_a_file():
    with temp_folder() as folder:
        path = os.path.join(folder, "api.json")
        quarkq("list", "api", f"--json={path}")
        with open(path, encoding="utf-8") as file:
            expect_equal(file.read(), quarkq("list", "api").stdout, "the file")
        expect_equal(run("list", "api", "x1").returncode, 2, "a listing that takes no target")


@test(cases=sorted(FORBIDDEN))
def a_change_needs_its_release(name):
    level, changed = FORBIDDEN[name]
    found = api_dump.compare(SMALL, changed)
    expect(found and max(api_dump.LEVELS.index(kind) for kind, _ in found) == api_dump.LEVELS.index(level), f"expected a change of a {level} release, found {found}")


@test(cases=sorted(ALLOWED))
def an_addition_needs_no_release(name):
    expect_equal(api_dump.compare(SMALL, ALLOWED[name]), [], "changes")


@test()
def numbers_tell_the_release():
    pairs = {("0.1.0", "0.1.0"): "patch", ("0.1.0", "0.1.3"): "patch", ("0.1.9", "0.2.0"): "major", ("1.2.0", "1.2.1"): "patch", ("1.2.3", "1.3.0"): "minor", ("1.9.0", "2.0.0"): "major"}
    expect_equal({pair: api_dump.allowed_level(*pair) for pair in pairs}, pairs, "levels")
    expect_equal(api_dump.additions(SMALL, ALLOWED["option added"]), 1, "additions")
