# SPDX-License-Identifier: MIT
"""Paths, names and text files of Windows."""
import os
import re
import shutil
import tempfile

from support import (CALIB, DIGITS, EVAL, MODEL, NAME, ROOT, SHARED, TUNE, Skip, expect, fails, linux, quantize, read, succeeds, test, tree, windows,
                     windows_path, write)


@test
def takes_paths_of_windows():
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(windows_path(MODEL), windows_path(os.path.join(folder, "0.onnx"))), (MODEL.replace("/", "\\"), "1.onnx"),
                 ("\\\\?\\" + windows_path(MODEL), ".\\2.onnx")]
        for number, (model, output) in enumerate(pairs):
            succeeds(windows("quantize", "--config", "XINT8", "--calib", windows_path(CALIB), "-o", output, "--quiet", model, cwd=folder))
            expect(os.path.isfile(os.path.join(folder, f"{number}.onnx")), f"{output} was not written")


@test
def takes_unicode_and_long_paths():
    with tempfile.TemporaryDirectory() as folder:
        name = NAME
        deep = os.path.join(folder, name, *(letter * 80 for letter in "abcd"))
        os.makedirs(deep)
        model = shutil.copy(MODEL, os.path.join(deep, name + ".onnx"))
        expect(len(model) > 300, f"{len(model)} characters")
        output = os.path.join(deep, "out.onnx")
        quantize(windows, model, CALIB, output)
        plain = os.path.join(folder, "plain.onnx")
        quantize(linux, model, CALIB, plain)
        expect(read(output) == read(plain), "the models differ")
        refused = windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", output, os.path.join(deep, name + "x.onnx"))
        fails(refused, 2, name + "x.onnx: no such file")


@test
def every_verb_takes_unicode_and_long_paths():
    """Folders and files that verbs create, on both systems with the same contents."""
    with tempfile.TemporaryDirectory() as top:
        found = []
        for name, program in (("linux", linux), ("windows", windows)):
            folder = os.path.join(top, name, NAME, *(letter * 80 for letter in "abc"))
            os.makedirs(folder)
            model = shutil.copy(MODEL, os.path.join(folder, NAME + ".onnx"))
            at = lambda *parts, folder=folder: os.path.join(folder, *parts)
            expect(len(at("logs")) > 260, f"{len(at('logs'))} characters")
            common = ["--config", "XINT8", "--calib", CALIB, "--isa", "avx2", "--threads", 2, "--quiet"]
            log = at(NAME + ".log")
            succeeds(program("quantize", *common, "--target", "x1", "--deploy", at(NAME, "deployed"), "--log-file", log, "-o", at("q.onnx"), model))
            expect(b"calibrat" in read(log), "the log is empty")
            os.remove(log)
            external = ["--set", "use_external_data_format=true"]
            succeeds(program("quantize", *common, *external, "-o", at(NAME, "external.onnx"), model))
            succeeds(program("quantize", *common, *external, "-o", at(NAME, "external.onnx"), model))  # replaces a model and its weights
            succeeds(program("run", at(NAME, "external.onnx"), "--inputs", EVAL, "--outputs", at("results", NAME), "--limit", 4, "--isa", "avx2", "--quiet"))
            succeeds(program("convert", at("q.onnx"), "--pass", "dequantize", "-o", at(NAME, "float.onnx")))
            succeeds(program(*TUNE, "-o", at(NAME + ".tuned.onnx")))
            succeeds(program("calibrate", *common, "-o", at(NAME + ".stats"), model))
            found.append(tree(os.path.join(top, name)))
        expect(sorted(found[0]) == sorted(found[1]), f"files {sorted(set(found[0]) ^ set(found[1]))} are on one system only")
        differ = [path for path, content in found[0].items() if content != found[1][path]]
        expect(not differ, f"{differ} differ")
        expect(len(found[0]) > 12, f"only {len(found[0])} files")


@test
def takes_shares_and_paths_relative_to_a_drive():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(MODEL, os.path.join(folder, "model.onnx"))
        succeeds(windows("--version"))  # makes build/wine
        shares = os.path.join(ROOT, "build", "wine", "dosdevices", "unc", "server")  # where wine looks for \\\\server
        os.makedirs(shares, exist_ok=True)
        share = os.path.join(shares, os.path.basename(folder))
        os.symlink(folder, share)
        try:
            unc = "\\\\server\\" + os.path.basename(folder) + "\\"
            for output, model in ((unc + "share.onnx", unc + "model.onnx"), ("Z:drive.onnx", "Z:model.onnx"),
                                  ("\\\\?\\UNC" + unc[1:] + "long.onnx", unc.replace("\\", "/") + "model.onnx")):
                succeeds(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", output, "--quiet", model, cwd=folder))
            fails(windows("inspect", unc + "other.onnx"), 2, "other.onnx: no such file")
        finally:
            os.remove(share)
        models = {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}
        expect(sorted(models) == ["drive.onnx", "long.onnx", "model.onnx", "share.onnx"], f"files {sorted(models)}")
        expect(models["drive.onnx"] == models["share.onnx"] == models["long.onnx"], "the models differ")


@test
def refuses_names_that_windows_changes():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("aux.onnx", "device on Windows"), ("nul.tar", "device on Windows"), ("out.", "removes dots"), ("a?b.onnx", "does not allow")):
            fails(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", os.path.join(folder, name), MODEL), 2, name.split("?")[0], text)
        expect(not os.listdir(folder), f"{os.listdir(folder)} were written")


@test
def a_byte_order_mark_and_carriage_returns_change_nothing():
    mark = b"\xef\xbb\xbf"
    settings = b"extends: XINT8\nquant_config:\n  activation:\n    symmetric: true\n"
    labels = read(os.path.join(DIGITS, "eval", "labels.csv"))
    with tempfile.TemporaryDirectory() as folder:
        plain, odd = (write(os.path.join(folder, name), text) for name, text in
                      (("a.yaml", settings), ("b.yaml", mark + settings.replace(b"\n", b"\r\n"))))
        shown = [windows("config", "show", path) for path in (plain, odd)]
        expect(shown[0].returncode == shown[1].returncode, f"exit codes {shown[0].returncode} and {shown[1].returncode}")
        expect(shown[0].stdout == shown[1].stdout, "the settings differ")
        odd_labels = write(os.path.join(folder, "labels.csv"), mark + labels.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        result = os.path.join(folder, "out.onnx")
        quantize(windows, MODEL, CALIB, result)
        scores = [succeeds(windows("evaluate", "--float", MODEL, "--quantized", result, "--data", EVAL, "--labels", path, "--limit", 64)).stdout
                  for path in (os.path.join(DIGITS, "eval", "labels.csv"), odd_labels)]
        expect(scores[0] == scores[1] and b"top-1" in scores[0].lower(), "the scores differ")


@test
def json_and_lists_with_carriage_returns_are_read():
    mark = b"\xef\xbb\xbf"
    with tempfile.TemporaryDirectory() as folder:
        names = sorted(os.listdir(CALIB))[:8]
        os.makedirs(os.path.join(folder, "sub"))
        for name in names:
            shutil.copy(os.path.join(CALIB, name), os.path.join(folder, "sub"))
        plain = write(os.path.join(folder, "a.txt"), "".join(f"sub/{name}\n" for name in names).encode())
        odd = write(os.path.join(folder, "b.txt"), mark + "".join(f"sub\\{name}\r\n" for name in names).encode())
        for name, samples in (("a", plain), ("b", odd)):
            settings = f'{{\n"preset": "XINT8",\n"calibration": {{"list": "{os.path.basename(samples)}"}}\n}}\n'.encode()
            if name == "b":
                settings = mark + settings.replace(b"\n", b"\r\n")
            write(os.path.join(folder, name + ".json"), settings)
            succeeds(windows("quantize", "--config", name + ".json", "-o", name + ".onnx", "--isa", "avx2", "--quiet", MODEL, cwd=folder))
        expect(read(os.path.join(folder, "a.onnx")) == read(os.path.join(folder, "b.onnx")), "the models differ")


def is_case_ignored(folder):
    return os.path.exists(os.path.join(folder, "MODEL.ONNX"))


@test
def an_input_is_never_overwritten():
    with tempfile.TemporaryDirectory() as folder:
        model = shutil.copy(MODEL, os.path.join(folder, "model.onnx"))
        fails(windows("quantize", "--config", "XINT8", "--calib", CALIB, "-o", os.path.join(folder, "MODEL.onnx") if is_case_ignored(folder) else model, model), 2,
              "never overwritten")
        expect(read(model) == read(MODEL), "the model was changed")


@test
def the_commands_of_the_page_end_in_a_checked_model():
    """Those of docs/windows.md that call quarkq, on photos."""
    model, photos = (os.path.join(SHARED, *parts) for parts in (("models", "mobilenetv1_025_vww_96.onnx"), ("data", "calib")))
    if not os.path.isfile(model) or not os.path.isdir(photos):
        raise Skip("../shared is not there")
    block = re.search(r"```powershell\n(.*?)```", read(os.path.join(ROOT, "docs", "windows.md")).decode(), re.S).group(1).splitlines()
    commands = [line.split()[1:] for line in block if line.startswith("quarkq ")]
    expect(len(block) == 5 and len(commands) == 2, f"{len(block)} commands, {len(commands)} of them of quarkq")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(model, os.path.join(folder, "model.onnx"))
        os.makedirs(os.path.join(folder, "photos"))
        for name in sorted(os.listdir(photos))[:16]:
            shutil.copy(os.path.join(photos, name), os.path.join(folder, "photos"))
        results = [succeeds(windows(*words, cwd=folder)) for words in commands]
        expect(b"model_quantized.onnx" in results[1].stdout, "check names no file")
