# SPDX-License-Identifier: MIT
"""quarkq evaluate --metric and --metric-cmd: scores of models and folders, gates, commands that fail."""
import csv
import json
import os
import struct
import sys
import zlib

import numpy as np

from average_precision import mean_average_precision, suppress
from harness import expect, expect_equal, quarkq, run, shared, temp_folder, test
from reference import DIGITS
from text_lines import error_rates, model_input, read_by_ctc

MODEL = os.path.join(DIGITS, "digits.onnx")
EVAL = os.path.join(DIGITS, "eval", "inputs")
LABELS = os.path.join(DIGITS, "eval", "labels.csv")


def scores(*arguments):
    report = json.loads(quarkq("evaluate", *arguments, "--json").stdout)
    return {metric["name"]: metric for metric in report["metrics"]}, report["samples"]


def results_of(folder, model=MODEL, name="results"):
    path = os.path.join(folder, name)
    quarkq("run", model, "--inputs", EVAL, "--outputs", path)
    return path


@test()
def top_k_of_a_model_and_of_its_results():
    with temp_folder() as folder:
        results = results_of(folder)
        with open(LABELS, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        hits = {1: 0, 2: 0}
        for row in rows:
            order = np.argsort(-np.load(os.path.join(results, row["file"])).ravel(), kind="stable")
            for k in hits:
                hits[k] += int(row["label"]) in order[:k]
        for side in ([MODEL, "--data", EVAL], [results]):
            found, samples = scores(*side, "--metric", "top1", "--metric", "top2", "--labels", LABELS)
            expect_equal(samples, len(rows), "samples")
            for k, count in hits.items():
                expect_equal(found[f"top{k}"]["value"], count / len(rows), f"top{k} of {side}")
                expect_equal(found[f"top{k}"]["baseline"], None, "baseline of one side")


@test()
def two_models_give_both_sides_and_their_distance():
    with temp_folder() as folder:
        quantized = os.path.join(folder, "q.onnx")
        quarkq("quantize", MODEL, "--config", "xint8", "--calib", os.path.join(DIGITS, "calib"), "-o", quantized)
        models = ["--float", MODEL, "--quantized", quantized, "--data", EVAL, "--labels", LABELS]
        found, _ = scores(*models, "--metric", "top1", "--metric", "cosine", "--metric", "sqnr")
        compared = json.loads(quarkq("evaluate", *models, "--json").stdout)
        expect_equal(found["cosine"]["value"], compared["mean_cosine"], "cosine")
        expect_equal(found["top1"]["baseline"], compared["accuracy"]["top"][0]["baseline"], "top-1 of the float model")
        expect_equal(found["top1"]["value"], compared["accuracy"]["top"][0]["quantized"], "top-1 of the quantized model")
        text = quarkq("evaluate", *models, "--metric", "top1").stdout
        header = ["Metric", "baseline", "95 % interval", "value", "95 % interval", "difference", "unit", "better"]
        expect_equal(text.split("\n")[0].split(), " ".join(header).split(), "header of the table")


@test()
def gates():
    side = [MODEL, "--data", EVAL, "--labels", LABELS, "--limit", "20", "--metric", "top1"]
    expect_equal(run("evaluate", *side, "--require", "top1>=0.5").returncode, 0, "exit code of a gate that holds")
    missed = run("evaluate", *side, "--require", "top1>=1.5", "--require", "top1<=0.1")
    expect_equal(missed.returncode, 5, "exit code of a gate that does not hold")
    expect("at least 1.5" in missed.stderr and "at most 0.1" in missed.stderr, missed.stderr)
    expect("top1" in missed.stdout, "the value is printed all the same")


@test(cases=["top1", "top1>=x", "top1>0.5", "top5>=0.5", ">=1", "top1>=nan"])
def gates_that_mean_nothing(text):
    result = run("evaluate", MODEL, "--data", EVAL, "--labels", LABELS, "--metric", "top1", "--require", text)
    expect_equal(result.returncode, 2, "exit code")
    expect("allowed is METRIC>=X or METRIC<=X of top1" in result.stderr, result.stderr)


@test()
def a_command_scores_both_sides():
    with temp_folder() as folder:
        script = os.path.join(folder, "a script.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import os, sys\nprint(len(os.listdir(sys.argv[1])) / 4)\n")
        command = f"{sys.executable} '{script}' {{results}}"
        found, _ = scores(MODEL, "--data", EVAL, "--limit", "6", "--metric-cmd", command)
        expect_equal(found["command"]["value"], 1.5, "files a model wrote, by 4")
        odd = results_of(folder, name="it's; $(echo) \"x\"")
        found, _ = scores(odd, odd, "--metric-cmd", command)
        expect_equal(found["command"]["value"], len(os.listdir(EVAL)) / 4, "files of a folder with an odd name")
        expect_equal(found["command"]["baseline"], found["command"]["value"], "the other side")


@test(cases=[("sh -c 'echo 0.5; echo no data >&2; exit 7'", 4, "ended with exit code 7; it printed: no data"), ("echo score: 0.5", 4, "one finite number"),
             ("true", 4, 'printed ""'), ("sh -c 'sleep 60'", 4, "takes longer than 0.2 seconds"), ("no-such-program", 2, "cannot be started"),
             ("sh -c 'x", 2, "is not closed")])
def commands_that_fail(case):
    command, code, words = case
    with temp_folder() as folder:
        np.save(os.path.join(folder, "a.npy"), np.zeros(3, np.float32))
        result = run("evaluate", folder, "--metric-cmd", command, "--metric-timeout", "0.2" if "sleep" in command else "60")
        expect_equal(result.returncode, code, f"exit code of {command}")
        expect(words in result.stderr, result.stderr)
        expect_equal(result.stdout, "", "nothing is printed")


@test(cases=[(["--metric", "top1"], "needs --labels"), (["--metric", "tpo1", "--labels", LABELS], "did you mean top1?"),
             (["--metric", "cosine"], "compares two sides"), (["--metric", "map", "--labels", LABELS], "--head: found none"),
             (["--metric", "top1", "--labels", LABELS, "--min-cos", "0.9"], "--min-cos: cannot be combined with --metric"),
             (["--require", "top1>=1"], "--require: needs --metric")])
def options_that_do_not_fit(case):
    more, words = case
    result = run("evaluate", MODEL, "--data", EVAL, *more)
    expect_equal(result.returncode, 2, "exit code")
    expect(words in result.stderr, result.stderr)


@test()
def detections_in_a_folder():
    """A box that is right and one that is wrong, letterboxed from 200 x 100 into 100 x 100 pixels."""
    with temp_folder() as folder:
        results = os.path.join(folder, "results")
        os.makedirs(results)
        rows = np.array([[[20, 40, 20, 20, .9, 1, 0], [80, 50, 10, 10, .8, 0, 1]]], np.float32)
        np.save(os.path.join(results, "photo.npy"), rows)
        truth = os.path.join(folder, "truth.json")
        boxes = [{"image_id": 1, "category_id": 5, "bbox": [20, 10, 40, 40]}, {"image_id": 1, "category_id": 9, "bbox": [0, 0, 9, 9]}]
        with open(truth, "w", encoding="utf-8") as file:
            json.dump({"images": [{"id": 1, "file_name": "photo.jpg", "width": 200, "height": 100}], "annotations": boxes,
                       "categories": [{"id": 5}, {"id": 9}]}, file)
        config = "preprocess={resize: {mode: letterbox, size: 100}}"
        found, _ = scores(results, "--set", config, "--metric", "map", "--metric", "map50", "--head", "yolov5", "--labels", truth)
        for name in ("map", "map50"):
            expect(abs(found[name]["value"] - 0.5) < 1e-9, f"{name}: one class is right, one is wrong, found {found[name]['value']}")


SIZE = 64
FINAL_HEADS = ("detr", "torchvision", "tf-ssd")  # nothing is suppressed after them
GRIDS = [(8, x, y) for y in range(8) for x in range(8)] + [(16, x, y) for y in range(4) for x in range(4)] + [(32, x, y) for y in range(2) for x in range(2)]


def random_scene(rng, classes):
    """True boxes, and as many cells as the grids of a YOLOX of 64 pixels have: boxes near the true ones, the rest anywhere."""
    true = [(int(rng.integers(classes)), box_of(*rng.uniform(16, 48, 2), *rng.uniform(8, 30, 2))) for _ in range(rng.integers(1, 5))]
    cells = np.zeros((len(GRIDS), 4 + classes), np.float32)
    for i, cell in enumerate(cells):
        category, box = true[i % len(true)]
        centre = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]])
        cell[:4] = np.maximum(centre + rng.normal(0, 1, 4) * rng.choice([.3, 2, 9]), 1)
        cell[4:] = rng.uniform(0, .1, classes)
        cell[4 + (category if rng.random() < .7 else rng.integers(classes))] = rng.uniform(.05, 1)
    return true, cells


def box_of(x, y, width, height):
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def encoded(cells, head):
    """The cells as a network with this head would give them."""
    if head == "yolov8":
        return cells.T[None]
    rows = np.concatenate([cells[:, :4], np.full((len(cells), 1), .5, np.float32), cells[:, 4:] * 2], 1)
    if head == "yolox":
        stride, x, y = (np.array(column, np.float32) for column in zip(*GRIDS))
        rows[:, 0], rows[:, 1] = rows[:, 0] / stride - x, rows[:, 1] / stride - y
        rows[:, 2:4] = np.log(rows[:, 2:4] / stride[:, None])
    return rows[None]


def listed(cells):
    """Box, class and score of all classes of all cells."""
    classes = cells.shape[1] - 4
    boxes = np.repeat(np.array([box_of(*cell[:4]) for cell in cells]), classes, axis=0)
    return boxes, np.tile(np.arange(classes), len(cells)), cells[:, 4:].ravel()


def outputs_of(cells, head):
    """The outputs of a network with this head, by name; of heads with one output that alone, without a name."""
    shares = cells[:, :4] / SIZE
    boxes, classes, scores = listed(cells)
    if head == "torchvision":
        return {"boxes": boxes, "labels": classes.astype(np.int64) * 10, "scores": scores}
    if head == "tf-ssd":
        return {"detection_boxes": boxes[None][:, :, [1, 0, 3, 2]] / SIZE, "detection_classes": classes[None] * 10.0, "detection_scores": scores[None],
                "num_detections": np.array([len(scores)])[None].astype(np.float32)}
    if head == "detr":
        return {"logits": np.log(cells[None, :, 4:] / (1 - cells[None, :, 4:])), "pred_boxes": shares[None]}
    if head == "ssd":
        corners = np.array([box_of(*row) for row in shares])
        return {"boxes": corners[None], "scores": np.concatenate([1 - cells[:, 4:5], cells[:, 4:]], 1)[None]}
    return {"": encoded(cells, head)}


def found_in(cells, classes, min_score, most_overlap):
    boxes = [box_of(*(float(v) for v in cell[:4])) for cell in cells]
    found = []
    for category in range(classes):
        scores = cells[:, 4 + category].astype(float)
        able = np.flatnonzero(scores > min_score)
        kept = range(len(able)) if most_overlap is None else suppress([boxes[i] for i in able], scores[able], most_overlap)
        found += [(category, scores[able[k]], np.clip(boxes[able[k]], 0, SIZE)) for k in kept]
    return found


@test(cases=["yolov5", "yolov8", "yolox", "ssd", "detr", "torchvision", "tf-ssd"])
def map_against_an_independent_implementation(head):
    """Random scenes through each head: decoded, suppressed, matched and averaged as another program does it."""
    rng, classes, images = np.random.default_rng(11), 3, []
    truth = {"images": [], "annotations": [], "categories": [{"id": 10 * c} for c in range(classes)]}
    with temp_folder() as folder:
        results = os.path.join(folder, "results")
        os.makedirs(results)
        for number in range(5):
            true, cells = random_scene(rng, classes)
            images.append((true, found_in(cells, classes, .02, None if head in FINAL_HEADS else .5)))
            for name, values in outputs_of(cells, head).items():
                os.makedirs(os.path.join(results, name), exist_ok=True)
                np.save(os.path.join(results, name, f"{number}.npy"), values if head == "torchvision" and name == "labels" else values.astype(np.float32))
            truth["images"].append({"id": number, "file_name": f"{number}.png", "width": SIZE, "height": SIZE})
            truth["annotations"] += [{"image_id": number, "category_id": 10 * c, "bbox": [b[0], b[1], b[2] - b[0], b[3] - b[1]]} for c, b in true]
        path = os.path.join(folder, "truth.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(truth, file)
        options = ["--min-score", "0.02", "--nms-iou", "0.5", "--set", f"preprocess={{resize: {{mode: stretch, size: {SIZE}}}}}"]
        found, samples = scores(results, "--metric", "map", "--metric", "map50", "--head", head, "--labels", path, *options)
    expect_equal(samples, 5, "samples")
    for name, expected in zip(("map", "map50"), mean_average_precision(images, classes)):
        expect(abs(found[name]["value"] - expected) < 1e-4, f"{name} of {head}: found {found[name]['value']}, expected {expected}")


PYCOCOTOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pycocotools.json")


def crowded_scenes(seed, images=12, classes=3):
    """Scenes and their truth as COCO has it; one object of five is a crowd."""
    rng = np.random.default_rng(seed)
    truth = {"images": [], "annotations": [], "categories": [{"id": 10 * c, "name": str(c)} for c in range(classes)]}
    scenes = [random_scene(rng, classes) for _ in range(images)]
    for number, (true, _) in enumerate(scenes):
        truth["images"].append({"id": number, "file_name": f"{number:02d}.png", "width": SIZE, "height": SIZE})
        for c, b in true:
            width, height = float(b[2] - b[0]), float(b[3] - b[1])
            truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": number, "category_id": 10 * c, "area": width * height,
                                         "iscrowd": int(len(truth["annotations"]) % 5 == 4), "bbox": [float(b[0]), float(b[1]), width, height]})
    return scenes, truth


@test(cases=[str(seed) for seed in range(8)])
def map_as_pycocotools_has_it(seed):
    """On the same detections, crowds included; its figures were recorded by record_pycocotools.py."""
    scenes, truth = crowded_scenes(int(seed))
    with temp_folder() as folder:
        results, path = os.path.join(folder, "results"), os.path.join(folder, "truth.json")
        for number, (_, cells) in enumerate(scenes):
            for name, values in outputs_of(cells, "torchvision").items():
                os.makedirs(os.path.join(results, name), exist_ok=True)
                np.save(os.path.join(results, name, f"{number:02d}.npy"), values if name == "labels" else values.astype(np.float32))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(truth, file)
        options = ["--min-score", "0", "--set", f"preprocess={{resize: {{mode: stretch, size: {SIZE}}}}}"]
        found, _ = scores(results, "--metric", "map", "--metric", "map50", "--head", "torchvision", "--labels", path, *options)
    with open(PYCOCOTOOLS, encoding="utf-8") as file:
        recorded = json.load(file)[seed]
    for name, expected in recorded.items():
        expect(abs(found[name]["value"] - expected) < 1e-4, f"{name}: found {found[name]['value']}, pycocotools has {expected}")


def write_boxes(folder, number, true, kind):
    """The boxes of a scene as a file of YOLO's or PASCAL VOC's."""
    with open(os.path.join(folder, f"{number}.{'txt' if kind == 'yolo' else 'xml'}"), "w", encoding="utf-8") as file:
        if kind == "yolo":
            file.writelines(f"{c} {(b[0] + b[2]) / 2 / SIZE} {(b[1] + b[3]) / 2 / SIZE} {(b[2] - b[0]) / SIZE} {(b[3] - b[1]) / SIZE}\n" for c, b in true)
            return
        file.write(f"<annotation>\n<size><width>{SIZE}</width><height>{SIZE}</height><depth>3</depth></size>\n")
        for c, b in true:
            sides = zip(("xmin", "ymin", "xmax", "ymax"), (b[0] + 1, b[1] + 1, b[2], b[3]))
            file.write(f"<object><name>class {c}</name><bndbox>" + "".join(f"<{name}>{side}</{name}>" for name, side in sides) + "</bndbox></object>\n")
        file.write("</annotation>\n")


@test(cases=["yolo", "voc"])
def map_against_boxes_in_a_folder(kind):
    rng, classes, images = np.random.default_rng(12), 3, []
    with temp_folder() as folder:
        results, truth, names = (os.path.join(folder, name) for name in ("results", "truth", "names"))
        os.makedirs(results)
        os.makedirs(truth)
        for number in range(5):
            true, cells = random_scene(rng, classes)
            true = [(c, [min(max(side, 0), SIZE) for side in box]) for c, box in true]
            images.append((true, found_in(cells, classes, .02, .5)))
            np.save(os.path.join(results, f"{number}.npy"), np.ascontiguousarray(encoded(cells, "yolov8"), dtype=np.float32))
            write_boxes(truth, number, true, kind)
        with open(names, "w", encoding="utf-8") as file:
            file.writelines(f"class {c}\n" for c in range(classes))
        options = ["--min-score", "0.02", "--nms-iou", "0.5", "--set", f"preprocess={{resize: {{mode: stretch, size: {SIZE}}}}}"]
        asked = [results, "--metric", "map", "--head", "yolov8", "--labels", truth, *options]
        found, _ = scores(*asked, "--classes", names)
        unnamed = run("evaluate", *asked)
    expected = mean_average_precision(images, classes)[0]
    expect(abs(found["map"]["value"] - expected) < 1e-4, f"found {found['map']['value']}, expected {expected}")
    expect_equal(unnamed.returncode, 2, "exit code without names of classes")
    expect("--classes: found none" in unnamed.stderr, unnamed.stderr)
    return f"{found['map']['value']:.4f}"


def expect_near(found, expected, what):
    expect(abs(found - expected) < 1e-9, f"{what}: found {found}, expected {expected}")


@test()
def likelihood_and_f1_of_logits():
    with temp_folder() as folder:
        results = results_of(folder)
        with open(LABELS, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        logits = np.array([np.load(os.path.join(results, row["file"])).ravel() for row in rows], np.float64)
        labels, chosen = np.array([int(row["label"]) for row in rows]), logits.argmax(1)
        surprise = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(rows)), labels]
        names = ["--metric", "perplexity", "--metric", "bits", "--metric", "f1"]
        found, samples = scores(results, *names, "--labels", LABELS)
        expect_equal(samples, len(rows), "samples")
        expect_near(found["perplexity"]["value"], np.exp(surprise.mean()), "perplexity")
        expect_near(found["bits"]["value"], surprise.mean() / np.log(2), "bits per label")
        expect_equal(found["perplexity"]["better"], "lower", "direction of perplexity")
        f1 = [2 * np.sum((labels == c) & (chosen == c)) / (np.sum(labels == c) + np.sum(chosen == c)) for c in np.union1d(labels, chosen)]
        expect_near(found["f1"]["value"], np.mean(f1), "F1")
        np.save(os.path.join(results, rows[3]["file"]), np.full(logits.shape[1], np.nan, np.float32))
        found, _ = scores(results, *names, "--labels", LABELS)
        expect_equal(found["bits"]["value"], None, "bits of logits that are no numbers")
        missed = run("evaluate", results, "--metric", "bits", "--labels", LABELS, "--require", "bits<=100")
        expect_equal(missed.returncode, 5, "exit code of a gate on NaN")


def indexed_png(classes):
    """A PNG with a palette whose indices are `classes`."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in classes.astype(np.uint8))
    head = struct.pack(">IIBBBBB", classes.shape[1], classes.shape[0], 8, 3, 0, 0, 0)
    palette = np.random.default_rng(1).integers(0, 256, 768, dtype=np.uint8).tobytes()
    parts = [(b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def mean_iou(true, found):
    counted = true != 255
    true, found = true[counted], found[counted]
    ratios = [np.sum((true == c) & (found == c)) / np.sum((true == c) | (found == c)) for c in np.union1d(true, found)]
    return np.mean(ratios)


@test(cases=["png", "npy", "all in one"])
def segments_against_masks(kind):
    rng, classes, height, width = np.random.default_rng(5), 6, 9, 7
    with temp_folder() as folder:
        for name in ("first", "last", "map", "masks"):
            os.makedirs(os.path.join(folder, name, "town"))
        masks, maps = [], []
        for number in range(4):
            logits = rng.normal(size=(classes - 1, height, width)).astype(np.float32)
            found = logits.argmax(0)
            mask = np.where(rng.random(found.shape) < .6, found, rng.choice([0, 1, 4, 255], found.shape))
            name = os.path.join("town", f"street.{number}.npy")
            np.save(os.path.join(folder, "first", name), logits[None])
            np.save(os.path.join(folder, "last", name), np.ascontiguousarray(logits.transpose(1, 2, 0)[None]))
            np.save(os.path.join(folder, "map", name), found[None])
            path = os.path.join(folder, "masks", name)
            if kind == "png":
                with open(path.removesuffix(".npy") + ".png", "wb") as file:
                    file.write(indexed_png(mask))
            else:
                np.save(path, mask.astype(np.uint8))
            masks.append(mask)
            maps.append(found)
        truth = os.path.join(folder, "masks")
        if kind == "all in one":
            truth = os.path.join(folder, "all.npy")
            np.save(truth, np.array(masks))
        for side in ("first", "last", "map"):
            found, samples = scores(os.path.join(folder, side), "--metric", "miou", "--labels", truth)
            expect_equal(samples, 4, "samples")
            expect_near(found["miou"]["value"], mean_iou(np.array(masks), np.array(maps)), f"mIoU of {side}")


@test()
def masks_of_another_size():
    with temp_folder() as folder:
        results = os.path.join(folder, "results")
        os.makedirs(results)
        np.save(os.path.join(results, "a.npy"), np.zeros((1, 3, 4, 4), np.float32))
        truth = os.path.join(folder, "all.npy")
        np.save(truth, np.zeros((1, 8, 8), np.uint8))
        result = run("evaluate", results, "--metric", "miou", "--labels", truth)
        expect_equal(result.returncode, 4, "exit code")
        expect("[1,3,4,4]" in result.stderr and "[8,8]" in result.stderr and "sample a" in result.stderr, result.stderr)


def text_scores(results, pairs, symbols, folder):
    """What quarkq says of the texts in `results`; pairs: name and truth."""
    truth, alphabet = os.path.join(folder, "truth.txt"), os.path.join(folder, "alphabet.txt")
    with open(truth, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\t{text}\n" for name, text in pairs)
    with open(alphabet, "w", encoding="utf-8") as file:
        file.writelines(f"{symbol}\n" for symbol in symbols)
    names = ["--metric", "cer", "--metric", "wer", "--metric", "exact"]
    found, samples = scores(results, *names, "--labels", truth, "--alphabet", alphabet)
    expect_equal(samples, len(pairs), "samples")
    return [found[name]["value"] for name in ("cer", "wer", "exact")]


@test()
def texts_against_an_independent_implementation():
    rng, symbols = np.random.default_rng(9), list("abcde\u00e9\u4e2d")
    with temp_folder() as folder:
        results, pairs, texts = os.path.join(folder, "results"), [], []
        os.makedirs(results)
        for number in range(20):
            logits = rng.normal(size=(1, 30, len(symbols) + 2)).astype(np.float32)
            np.save(os.path.join(results, f"{number}.npy"), logits if number % 2 else logits.transpose(1, 0, 2))
            text = read_by_ctc(logits[0], ["", *symbols, " "])
            true = text if number % 4 == 0 else "".join(c for c in text if rng.random() < .8) + "x, y"[:rng.integers(5)]
            pairs.append((f"lines/{number}.png", true))
            texts.append((true, text))
        found = text_scores(results, pairs, symbols, folder)
    for name, one, expected in zip(("cer", "wer", "exact"), found, error_rates(texts)):
        expect_near(one, expected, name)


@test(cases=[["--metric", "cer", "--labels", LABELS], ["--metric", "exact", "--labels", LABELS, "--alphabet", LABELS]])
def texts_need_an_alphabet_that_fits(options):
    result = run("evaluate", MODEL, "--data", EVAL, *options)
    has_alphabet = "--alphabet" in options
    expect_equal(result.returncode, 4 if has_alphabet else 2, "exit code")
    expect(("holds scores of 10 classes" if has_alphabet else "--alphabet: found none") in result.stderr, result.stderr)


@test()
def lines_of_a_trained_recognizer():
    """Its known score is without blanks: an empty line for the space writes none. With them it is computed here."""
    model, data = shared("trained", "ppocrv4_rec", "ppocrv4_rec.onnx"), shared("trained", "_data", "text_lines")
    with open(shared("trained", "ppocrv4_rec", "chars.txt"), encoding="utf-8") as file:
        symbols = file.read().split("\n")
    with open(os.path.join(data, "labels.json"), encoding="utf-8") as file:
        pairs = [(line["file"], line["text"]) for line in json.load(file) if line["set"] == "eval"]
    with temp_folder() as folder:
        inputs, results = os.path.join(folder, "inputs"), os.path.join(folder, "results")
        os.makedirs(inputs)
        for name, _ in pairs:
            np.save(os.path.join(inputs, name.replace(".png", ".npy")), model_input(os.path.join(data, name)))
        quarkq("run", model, "--inputs", inputs, "--outputs", results)
        texts = [(text, read_by_ctc(np.load(os.path.join(results, name.replace(".png", ".npy")))[0], ["", *symbols, " "]))
                 for name, text in pairs]
        found = text_scores(results, pairs, symbols, folder)
        for name, one, expected in zip(("cer", "wer", "exact"), found, error_rates(texts)):
            expect_near(one, expected, name)
        cer, _, exact = text_scores(results, [(name, text.replace(" ", "")) for name, text in pairs], [*symbols, ""], folder)
        expect(abs(exact - .85) < .01 and abs(cer - .043) < .003, f"known are 85.0 % and 4.3 %, found {exact} and {cer}")
    return f"{len(pairs)} lines, exact {exact:.3f}, CER {cer:.4f} without blanks; cer, wer, exact with them {found}"
