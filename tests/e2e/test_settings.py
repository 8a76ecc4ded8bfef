# SPDX-License-Identifier: MIT
"""docs/settings.md: each example is a file that the program takes, and every block has one."""
import json
import os
import re
import resource

from harness import ROOT, expect, expect_equal, quarkq, run, temp_folder, test

MODEL = os.path.join(ROOT, "examples", "digits", "digits.onnx")
with open(os.path.join(ROOT, "docs", "settings.md")) as page:
    EXAMPLES = [(f"{number}. {text.splitlines()[-1]}", text) for number, text in enumerate(re.findall(r"^```yaml\n(.*?)^```", page.read(), re.M | re.S), 1)]


def check(text):
    with temp_folder() as folder:
        path = os.path.join(folder, "settings.yaml")
        with open(path, "w") as file:
            file.write(text)
        return run("config", "check", path, "--model", MODEL)


def keys_allowed_in(block):
    """What the program names when it finds an unknown key there; "" is the whole file."""
    unknown = f"{block}: {{no_such_key: 1}}\n" if block else "no_such_key: 1\n"
    return re.search(r"allowed are (.*)", check("preset: XINT8\n" + unknown).stderr).group(1).strip().split(", ")


@test(cases=EXAMPLES)
def example(case):
    result = check(case[1])
    expect_equal((result.returncode, result.stderr), (0, ""), f"exit code and complaints about\n{case[1]}")


@test()
def every_key_at_the_top_has_an_example():
    allowed = keys_allowed_in("")
    missing = {key for key in allowed if not any(re.search(rf"\b{key}:", text) for _, text in EXAMPLES)}
    expect_equal(missing, set(), "keys without an example")
    return f"{len(allowed)} keys"


@test(cases=["calibration", "evaluation", "legalize", "quarkq"])
def every_key_of_a_block_is_listed(block):
    """What the program accepts and what `list options` (and with it docs/options.md) has are one table."""
    listed = [row["name"].split(".")[1] for row in json.loads(quarkq("list", "options", "--json").stdout) if row["name"].startswith(block + ".")]
    expect_equal(sorted(keys_allowed_in(block)), sorted(listed), f"keys of {block}")
    return f"{len(listed)} keys"


@test()
def every_option_that_is_a_map_has_an_example():
    options = json.loads(quarkq("list", "options", "--json").stdout)
    maps = [option["name"] for option in options if option["type"].startswith("map") and option["name"] != "MixedPrecisionTensor"]
    missing = [name for name in maps if not any(f"{name.split('.')[-1]}:" in text for _, text in EXAMPLES)]
    expect_equal(missing, [], "maps without an example")
    return f"{len(maps)} options"


@test()
def config_show_prints_the_origin_of_every_key():
    with temp_folder() as folder:
        path = os.path.join(folder, "settings.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("target: x2\nguards: off\nquarkq: {seed: 7}\nexclude: [fc]\n")
        shown = json.loads(quarkq("config", "show", path, "--set", "quarkq.threads=2", "--set", "exclude=[relu1]", "--json").stdout)["resolved"]
        found = {name: (shown[name]["value"], shown[name]["origin"]) for name in ("target", "quarkq.guards", "quarkq.seed", "quarkq.threads", "exclude",
                                                                                  "legalize.opset", "activation_type")}
        expect_equal(found, {"target": ("x2", "file"), "quarkq.guards": (False, "file"), "quarkq.seed": (7, "file"), "quarkq.threads": (2, "--set"),
                             "exclude": (["relu1"], "--set"), "legalize.opset": (17, "target"),
                             "activation_type": ("QuantType.QInt8", "preset")}, "values and origins")


@test()
def options_of_the_command_line_are_weaker_than_set():
    """In both orders; the report names each origin."""
    with temp_folder() as folder:
        for words in (["--verify", "3", "--set", "quarkq.verify_samples=2"], ["--set", "quarkq.verify_samples=2", "--verify", "3"]):
            report = os.path.join(folder, "r.json")
            quarkq("quantize", MODEL, "--target", "x2", "--calib", os.path.join(os.path.dirname(MODEL), "calib"), "-o", os.path.join(folder, "q.onnx"),
                   "--on-collapse", "warn", *words, "--report", report)
            with open(report, encoding="utf-8") as file:
                settings = {row["name"]: (row["value"], row["origin"]) for row in json.load(file)["details"]["settings"]}
            expect_equal([settings[name] for name in ("target", "quarkq.verify_samples", "quarkq.on_collapse")],
                         [("x2", "flag"), ("2", "--set"), ("warn", "flag")], " ".join(words))


@test()
def memory_that_runs_out_is_a_message():
    """Also while settings are copied: at many limits, so that allocations of all kinds fail."""
    with temp_folder() as folder:
        path = os.path.join(folder, "settings.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("a: &a %s\npreset: XINT8\nexclude: [%s]\nb: [%s]\n" % ("x" * 1_000_000, ", ".join(["*a"] * 3), ", ".join(str(number) for number in range(60_000))))
        codes = set()
        for mebibytes in range(40, 400, 6):
            limit = mebibytes << 20
            done = run("config", "check", path, preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if "error while loading shared libraries" in done.stderr:
                continue
            codes.add(done.returncode)
            expect(done.returncode in (2, 7) and "error: " in done.stderr, f"{mebibytes} MiB: exit code {done.returncode}, {done.stderr[-300:]}")
        expect(codes == {2, 7}, f"exit codes {codes}: the limits prove nothing")
