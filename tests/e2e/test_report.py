# SPDX-License-Identifier: MIT
"""quarkq report: the page says what the run's JSON says, is safe and self-contained, and looks right in a real browser."""
import json
import os
import re
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from browser import browse, browser, screenshot
from harness import ROOT, expect, expect_equal, quarkq, run, shared, temp_folder, test

EXAMPLE = os.path.join(ROOT, "examples", "digits")


def report_of(folder, model=os.path.join(EXAMPLE, "digits.onnx"), calib=os.path.join(EXAMPLE, "calib"), preset="xint8", more=()):
    """(the run's JSON, the page)"""
    path, page = os.path.join(folder, "run.json"), os.path.join(folder, "run.html")
    quarkq("quantize", model, "--config", preset, "--calib", calib, "-o", os.path.join(folder, "out.onnx"), "--report", path, "--quiet", *more)
    quarkq("report", path)
    with open(path) as file, open(page) as html:
        return json.load(file), html.read()


@test(cases=["xint8", "a8w8", "bfp16", "uint8_dynamic_quant", "xint8_adaround"])
def the_page_has_what_the_run_found(preset):
    with temp_folder() as folder:
        found, page = report_of(folder, preset=preset)
    wanted = ["digits.onnx", "Where the time went", "Settings that are not the default", found["preset"]]
    if preset != "uint8_dynamic_quant":
        wanted += ["Values and ranges"] + [profile["name"] for profile in found["details"]["profiles"]]
    if preset.startswith("xint8"):
        wanted += ["Limits of the NPU (xint8)", "All limits hold"]
    if preset == "xint8_adaround":
        wanted += ["Tuned layers"]
    for text in wanted:
        expect(text in page, f"{text!r} is not in the page")
    # Null is no noise at all; a tensor of which nothing is left has -400.
    noisiest = sorted(found["details"]["tensors"], key=lambda tensor: (tensor["sqnr_db"] is None, tensor["sqnr_db"] or 0))
    places = [page.index(f">{tensor['name']}</span>") for tensor in noisiest]
    expect_equal(places, sorted(places), "order of the bars")


@test()
def the_page_needs_nothing_else():
    with temp_folder() as folder:
        _, page = report_of(folder)
    for outside in ("http:", "https:", "src=", "href=", "url(", "<script", "@import", "<link"):
        expect(outside not in page, f"{outside} is in the page")


@test()
def counts_are_all_values():
    with temp_folder() as folder:
        found, _ = report_of(folder, more=["--set", "include_cle=false"])  # so that weights are those of the file
    model = onnx.load(os.path.join(EXAMPLE, "digits.onnx"))
    sizes = {tensor.name: int(np.prod(tensor.dims)) for tensor in model.graph.initializer}
    weights = [profile for profile in found["details"]["profiles"] if profile["role"] == "weight" and profile["name"] in sizes]
    expect(weights, "no weight profile")
    for profile in weights:
        expect_equal(sum(profile["counts"]), sizes[profile["name"]], f"values of {profile['name']}")
        stored = next(numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == profile["name"])
        expect_equal((profile["least"], profile["most"]), (float(stored.min()), float(stored.max())), f"ends of {profile['name']}")
        expect(-2 * np.abs(stored).max() - 1 < profile["low"] < 0 < profile["high"], f"range of {profile}")


@test()
def names_cannot_inject_markup():
    evil = '<script>alert("x")</script>&\''
    with temp_folder() as folder:
        model = onnx.load(os.path.join(EXAMPLE, "digits.onnx"))
        for node in model.graph.node:
            node.name = evil + node.name
            node.output[:] = [evil + name if name == "conv2_y" else name for name in node.output]
            node.input[:] = [evil + name if name == "conv2_y" else name for name in node.input]
        path = os.path.join(folder, "evil.onnx")
        onnx.save(model, path)
        _, page = report_of(folder, path)
    expect("<script" not in page, "a name became markup")
    expect("Verdict: " in page and "Next: " in page, "no verdict")
    expect("&lt;script&gt;" in page, "the name is not shown")


BAD = [
    ("missing", None, 2, "nowhere.json"),
    ("empty", b"", 4, "run.json"),
    ("no JSON", b"{", 4, "run.json"),
    ("another JSON", b"[1, 2]", 4, "run.json"),
    ("wrong types", b'{"model": 3, "outputs": {}}', 4, "run.json"),
    ("deep", b'{"nodes": {"selected": ' + b"[" * 100000 + b"]" * 100000 + b"}}", 4, "run.json"),
]


@test(cases=BAD)
def bad_reports(case):
    _, content, code, named = case
    with temp_folder() as folder:
        path = os.path.join(folder, "run.json" if content is not None else "nowhere.json")
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        result = run("report", path)
        expect_equal(result.returncode, code, f"exit code with {result.stderr!r}")
        expect(named in result.stderr, result.stderr)
        expect(not os.path.exists(os.path.join(folder, "run.html")), "a page was left")


@test()
def folded_activations_are_shown_as_they_were_calibrated():
    with temp_folder() as folder:
        found, _ = report_of(folder, preset="u8s8_aaws")
    relu = next(profile for profile in found["details"]["profiles"] if profile["name"] == "relu1_y")
    expect(relu["least"] >= 0, f"a Relu's output reaches down to {relu['least']}")
    worst = min(tensor["sqnr_db"] for tensor in found["details"]["tensors"] if tensor["sqnr_db"] is not None)
    expect(worst > 20, f"a tensor of a model with 40 dB at its output has {worst} dB")


@test()
def unknown_operators_do_not_stop_the_report():
    """An unknown operator: the model is written with a warning, with and without --report."""
    with temp_folder() as folder:
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv"), helper.make_node("Strange", ["y"], ["z"], domain="somewhere", name="strange")]
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 4, 4]) for name in ("x", "z")]
        graph = helper.make_graph(nodes, "net", values[:1], values[1:], [numpy_helper.from_array(np.ones((2, 2, 1, 1), np.float32), "w")])
        model, calib = os.path.join(folder, "net.onnx"), os.path.join(folder, "calib")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("somewhere", 1)], ir_version=8), model)
        os.mkdir(calib)
        np.save(os.path.join(calib, "0.npy"), np.ones((1, 2, 4, 4), np.float32))
        found, page = report_of(folder, model, calib, "bf16")
    expect(any(finding["id"] == "details-left-out" for finding in found["findings"]), f"findings {found['findings']}")
    expect("Settings that are not the default" in page, "no settings")


@test()
def inputs_are_never_overwritten():
    with temp_folder() as folder:
        model = os.path.join(folder, "digits.onnx")
        shutil.copy(os.path.join(EXAMPLE, "digits.onnx"), model)
        common = ["--config", "xint8", "--calib", os.path.join(EXAMPLE, "calib")]
        for arguments in (["quantize", model, *common, "-o", os.path.join(folder, ".", "digits.onnx")],
                          ["quantize", model, *common, "--report", model],
                          ["analyze", model, *common, "--min-cos", "0.9", "--write", model]):
            result = run(*arguments)
            expect_equal(result.returncode, 2, f"exit code of {arguments[0]} with {result.stderr!r}")
            expect("never overwritten" in result.stderr, result.stderr)
        expect_equal(os.listdir(folder), ["digits.onnx"], "files")
        onnx.checker.check_model(model)


@test()
def the_report_is_never_overwritten():
    with temp_folder() as folder:
        path = os.path.join(folder, "run.html")
        with open(path, "w") as file:
            file.write("{}")
        result = run("report", path)
        expect_equal(result.returncode, 2, "exit code")
        expect("never overwritten" in result.stderr, result.stderr)


def section_of(page, title):
    found = re.search(rf"<h2>{re.escape(title)}</h2>(.*?)</section>", page, re.S)
    expect(found, f"no section {title!r}")
    return found[1]


@test()
def verdict_is_on_top():
    with temp_folder() as folder:
        found, page = report_of(folder)
    place = page.index("Verdict: " + found["verdict"]["grade"])
    expect(place < page.index('class="tiles"') and "<section" not in page[:place], "something stands above the verdict")
    expect(page.index("Next: ") < page.index('class="tiles"'), "the next step is not on top")


TARGETS = [("named", "xint8", ["--target", "x1"], "runs", "good"), ("the preset's own", "xint8", [], "runs", "good"),
           ("partly", "a8w8", ["--target", "x1", "--set", "exclude=[fc]"], "blocked: nothing would run", "bad")]


@test(cases=TARGETS)
def target_is_the_second_card(case):
    _, preset, more, verdict, kind = case
    with temp_folder() as folder:
        found, page = report_of(folder, preset=preset, more=more)
    target = found["target"]
    text = section_of(page, "Target " + target["name"])
    expect(page.index("<h2>") == page.index("<h2>Target"), "another section stands above it")
    expect_equal(re.findall(r'class="verdict"><b>(.*?)</b>', text), [verdict], "verdict")
    tiles = re.findall(r'class="tile (\w*)">(.*?)<b>(.*?)</b>', text)
    expect_equal(tiles[:3], [(kind, "nodes placed", f"{target['npu']} of {target['nodes']}"), ("", "operators on the CPU", str(target["cpu"])),
                             ("", "regions", str(target["subgraphs"]))], "tiles")
    expect_equal("--target names another one" in text, not target["asked"], "says that nobody asked")


@test()
def operators_before_and_after():
    with temp_folder() as folder:
        found, page = report_of(folder)
    rows = re.findall(r"<tr><td>(.*?)</td><td>(\d+)</td><td>(\d+)</td><td>(\d+)</td></tr>", section_of(page, "Operators"))
    for op, total, quantized, written in rows:
        count = found["operators"].get(op, {"total": 0, "quantized": 0})
        expect_equal((int(total), int(quantized), int(written)), (count["total"], count["quantized"], found["ops"]["quantized"].get(op, 0)), op)
    expect_equal({row[0] for row in rows}, set(found["operators"]) | set(found["ops"]["quantized"]), "operators")


@test()
def noise_has_bars_where_it_is_bad():
    """The worst layers have the longest bars, also below 0 dB."""
    with temp_folder() as folder:
        model = onnx.load(os.path.join(EXAMPLE, "digits.onnx"))
        # A channel of normalized values that is 10000 times larger, of which the next layer takes a 10000th: the same function, and one
        # range leaves nothing of the other channels.
        norm = next(node for node in model.graph.node if node.op_type == "BatchNormalization")
        convs = [node for node in model.graph.node if node.op_type == "Conv"]
        for tensor in model.graph.initializer:
            values = numpy_helper.to_array(tensor).copy()
            if tensor.name in norm.input[1:3]:
                values[0] *= 1e4
            elif tensor.name == convs[1].input[1]:
                values[:, 0] *= 1e-4
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        path = os.path.join(folder, "bad.onnx")
        onnx.save(model, path)
        found, page = report_of(folder, path, preset="xint8", more=["--on-collapse", "warn", "--set", "include_cle=false"])
    noise = {tensor["name"]: tensor["sqnr_db"] for tensor in found["details"]["tensors"]}
    bad = {name for name, db in noise.items() if db is not None and db < 10}
    expect(bad, f"no tensor is bad: {noise}")
    rows = re.findall(r'<div class="row"><span class="name"[^>]*>(.*?)</span>.*?<rect class="(good|fair|bad)" width="([\d.]+)"', section_of(page, "Noise by tensor"))
    for name, kind, width in rows:
        wanted = 0 if noise[name] is None else max(0, min(100, 100 * (1 - noise[name] / 60)))
        expect(abs(float(width) - wanted) < 0.1, f"{name}: bar of {width}, expected {wanted}")
        expect_equal(kind == "bad", name in bad, f"colour of {name}")
    depth = section_of(page, "Noise by depth")
    names = re.findall(r"<title>(.*?): ", depth)
    expect_equal(names, [tensor["name"] for tensor in found["details"]["tensors"]], "columns from the inputs to the outputs")


@test()
def clipping_and_unused_integers():
    with temp_folder() as folder:
        found, page = report_of(folder, preset="a8w8", more=["--set", "calibrate_method=CalibrationMethod.Percentile", "--set", "Percentile=90"])
    shares = {profile["name"]: profile for profile in found["details"]["profiles"] if profile["clipped"] is not None}
    clipped = [name for name, profile in shares.items() if profile["role"] == "activation" and profile["clipped"] > 0.02]
    expect(clipped, f"the 90th percentile clips nothing: {shares}")
    for profile in shares.values():
        expect(0 <= profile["clipped"] <= 1 and (profile["unused"] is None or 0 <= profile["unused"] < 1), f"{profile}")
    text = section_of(page, "Clipping and unused integers")
    for name in clipped[:3]:
        expect(name in text, f"{name} is not in the table")


@test()
def every_sample_is_shown():
    with temp_folder() as folder:
        found, page = report_of(folder)
    samples = found["details"]["samples"]
    expect_equal(len(samples), found["compared"]["samples"] * len(found["outputs"]), "results")
    worst = min(samples, key=lambda one: one["cosine"])
    expect_equal(worst["sample"], found["outputs"][0]["worst_sample"], "worst sample")
    expect(abs(np.mean([one["cosine"] for one in samples]) - found["outputs"][0]["cosine"]) < 1e-9, "mean of the samples")
    text = section_of(page, "Outputs by sample")
    expect(all(f">{one['sample']}</span>" in text for one in samples), "a sample is missing")


@test(cases=["1", "3"])
def images_are_side_by_side(channels):
    """A model that brightens images: the page draws both outputs, without loading anything."""
    count = int(channels)
    ramp = np.linspace(0, 1, 32, dtype=np.float32)
    with temp_folder() as folder:
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])]
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, count, 32, 32]) for name in ("x", "y")]
        weight = np.zeros((count, count, 3, 3), np.float32)
        weight[range(count), range(count), 1, 1] = 1
        graph = helper.make_graph(nodes, "net", values[:1], values[1:], [numpy_helper.from_array(weight, "w")])
        model, calib = os.path.join(folder, "net.onnx"), os.path.join(folder, "calib")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        os.mkdir(calib)
        for i in range(4):
            image = np.stack([np.roll(np.tile(ramp, (32, 1)), 8 * c + i, axis=1) for c in range(count)])
            np.save(os.path.join(calib, f"{i}.npy"), image[None])
        found, page = report_of(folder, model, calib, "a8w8")
    pictures = found["details"]["pictures"]
    expect_equal([(one["width"], one["height"], one["channels"]) for one in pictures], [(32, 32, count)] * 3, "pictures")
    first = np.frombuffer(bytes.fromhex(pictures[0]["float"]), np.uint8).reshape(32, 32, count)
    expect(np.abs(first[:, :, 0].astype(int) - 255 * ramp).max() <= 1, "the picture is not the float output")
    other = np.frombuffer(bytes.fromhex(pictures[0]["quantized"]), np.uint8).reshape(32, 32, count)
    expect(0 < np.abs(first.astype(int) - other).max() <= 8, "the quantized picture is not that of 8 bits")
    text = section_of(page, "Output images")
    expect_equal((text.count("<svg"), text.count("float: y"), text.count("quantized: y")), (6, 3, 3), "drawn pictures")
    colours = set(re.findall(r'fill="(rgb\([\d,]+\))"', text))
    expect(len(colours) > 10, f"colours {colours}")


@test()
def findings_are_folded_by_their_kind():
    with temp_folder() as folder:
        found, _ = report_of(folder)
        one = {"severity": "notice", "id": "cle-skipped", "subject": "node a", "text": "was not equalized", "remedy": ""}
        found["findings"] = [dict(one, subject=f"node {i}") for i in range(40)] + [dict(one, id="ir-version", subject="model")]
        path = os.path.join(folder, "many.json")
        with open(path, "w") as file:
            json.dump(found, file)
        quarkq("report", path)
        with open(os.path.join(folder, "many.html")) as file:
            text = section_of(file.read(), "Findings")
    shown = re.sub(r"<details>.*?</details>", "", text, flags=re.S)
    expect_equal(shown.count('class="finding '), 2, "findings that are not folded")
    expect("39 more of cle-skipped" in text, text[:500])


@test()
def reports_of_before_are_still_drawn():
    """Keys that an older program did not write may be missing."""
    with temp_folder() as folder:
        found, _ = report_of(folder)
        for key in ("samples", "pictures"):
            found["details"].pop(key)
        for profile in found["details"]["profiles"]:
            profile.pop("clipped"), profile.pop("unused")
        for key in ("operators", "inputs", "verdict", "target"):
            found.pop(key)
        path = os.path.join(folder, "old.json")
        with open(path, "w") as file:
            json.dump(found, file)
        quarkq("report", path)


# The browser.

def real_page(folder):
    model = "nanodet_m_416"
    # The reference's result of this detector is poor, so that something is marked.
    report_of(folder, shared("models", model + ".onnx"), shared("golden", "inputs", model, "calib"), more=("--compat", "quark-0.13"))
    return os.path.join(folder, "run.html")


@test()
def light_dark_and_phone():
    browser()
    with temp_folder() as folder:
        page = real_page(folder)
        light = screenshot(page, folder, 1000)
        dark = screenshot(page, folder, 1000, "--blink-settings=preferredColorScheme=0")
        phone = screenshot(page, folder, 390)
    for name, picture in (("light", light), ("phone", phone)):
        expect(picture.mean() > 200, f"{name}: mean brightness {picture.mean():.0f}")
    expect(dark.mean() < 70, f"dark: mean brightness {dark.mean():.0f}")
    for name, picture in (("light", light), ("dark", dark), ("phone", phone)):
        colours = len(np.unique(picture.reshape(-1, 3), axis=0))
        expect(colours > 50, f"{name}: {colours} colours, the page looks blank")
        red = (picture[..., 0].astype(int) - picture[..., 1] > 70).mean()
        expect(red > 0.0005, f"{name}: nothing is marked as bad")


@test(cases=["390", "1000"])
def nothing_overflows(width):
    browser()
    with temp_folder() as folder:
        page = real_page(folder)
        with open(page) as file:
            text = file.read()
        probe = os.path.join(folder, "probe.html")
        with open(probe, "w") as file:  # headless windows are at least 500 wide, so the page is put into a frame of its own
            file.write(f'<iframe id=f style="width:{width}px;height:800px;border:0" srcdoc="{text.replace("&", "&amp;").replace(chr(34), "&quot;")}"></iframe>'
                       "<script>onload=()=>{const d=document.getElementById('f').contentDocument.documentElement;"
                       "document.title='wide '+d.scrollWidth+' of '+d.clientWidth}</script>")
        seen = re.search(r"<title>wide (\d+) of (\d+)</title>", browse("--dump-dom", "file://" + probe))
    expect(seen, "the browser did not run the probe")
    wide, room = map(int, seen.groups())
    expect_equal(room, int(width), "width of the frame")
    expect(wide <= room, f"the page is {wide} pixels wide in {room}")
    return f"{wide} of {room} pixels"
