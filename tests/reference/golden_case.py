# SPDX-License-Identifier: MIT
"""A recorded result of the reference: where it is, and the settings that led to it in the form of a quarkq configuration."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
GOLDEN = os.path.join(SHARED, "golden")
OWN = os.path.join(HERE, "own")


class GoldenCase:
    """`model` and `case` name it; `config` is a quarkq configuration; `expected` is the recording.

    A small model (golden/ops, own/) is stored beside its recordings, which hold nodes and stored tensors, too."""

    def __init__(self, path):
        with open(path) as file:
            self.expected = json.load(file)
        self.folder, name = os.path.split(path)
        self.is_small = self.folder in (OWN, os.path.join(GOLDEN, "ops"))
        self.model, self.case = name[:-len(".json")].split(".", 1) if self.is_small else (os.path.basename(self.folder), name[:-len(".json")])
        self.config = _config(self.expected)

    @property
    def float_model(self):
        return os.path.join(self.folder if self.is_small else os.path.join(SHARED, "models"), self.model + ".onnx")

    @property
    def samples(self):
        if self.is_small:
            return os.path.join(self.folder, "inputs", self.expected["inputs"])
        return os.path.join(GOLDEN, "inputs", self.model, "calib")

    @property
    def reference_failed(self):
        return self.expected.get("reference_failed")

    def nodes(self):
        """The recorded node list of a small model, which may stand in another case; None for networks."""
        same = self.expected.get("nodes_same_as")
        if same is None:
            return self.expected.get("nodes")
        with open(os.path.join(self.folder, f"{self.model}.{same}.json")) as file:
            return json.load(file)["nodes"]


def cases(which):
    """Every recording of a set, sorted by model and case: "networks" and "small" of ../shared, "own" of this repository."""
    if which == "own":
        folders = [OWN]
    elif which == "small":
        folders = [os.path.join(GOLDEN, "ops")]
    else:
        folders = [os.path.join(GOLDEN, name) for name in sorted(set(os.listdir(GOLDEN)) - {"ops", "inputs"})]
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith(".json") and not name.startswith("stages_"):
                yield GoldenCase(os.path.join(folder, name))


def _config(recording):
    if "qconfig" in recording:
        return _plain(_layers(recording["qconfig"]))
    return _plain({"preset": recording["preset"], "quant_config": recording.get("fields", {}),
                   "extra_options": recording.get("extra_options", {})})


def _plain(value):
    """{"float32": v} is a typed array in the recordings."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)) in ("float32", "int8", "uint8", "int16", "uint16", "int32"):
            return next(iter(value.values()))
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _layers(qconfig):
    config = {"global_config": _spec_map(qconfig["global_config"])}
    for key, value in qconfig.items():
        if key in ("specific_layer_config", "layer_type_config"):
            config[key] = [dict(rule, config=_spec_map(rule["config"])) for rule in value]
        elif key != "global_config":
            config[key] = value
    for algorithm in config.get("algo_config", []):
        if "target_layer_config" in algorithm:
            algorithm["target_layer_config"] = _spec_map(algorithm["target_layer_config"])
    return config


def _spec_map(layer):
    """A spec is its class's name, or {"spec": class, changed fields}."""
    if layer is None:
        return None
    specs = {}
    for role, spec in layer.items():
        name = spec if isinstance(spec, str) else spec["spec"]
        changed = {} if isinstance(spec, str) else {key: value for key, value in spec.items() if key != "spec"}
        specs[role] = {"spec": name, **changed}
    return specs
