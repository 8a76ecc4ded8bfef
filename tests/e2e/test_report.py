# SPDX-License-Identifier: MIT
"""quarkq report: the page says what the run's JSON says, is safe and self-contained, and looks right in a real browser."""
import json
import os
import re
import shutil
import struct
import subprocess
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import ROOT, Skip, expect, expect_equal, quarkq, run, shared, temp_folder, test

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
    expect("&lt;script&gt;" in page, "the name is not shown")


BAD = [
    ("missing", None, 1, "nowhere.json"),
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
    """An operator that nobody knows: the model is written with a warning, with and without --report."""
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


# The browser.

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


def real_page(folder):
    model = "nanodet_m_416"
    report_of(folder, shared("models", model + ".onnx"), shared("golden", "inputs", model, "calib"))
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
