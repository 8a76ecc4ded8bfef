# SPDX-License-Identifier: MIT
"""The calls of quark.shapeshifter for ONNX models: lists of passes, run by `quarkq convert` (docs/preprocessing.md)."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional, Union

import quarkq

__all__ = ["Engine", "LoadConfigFromFileOrDict"]


class LoadConfigFromFileOrDict:
    """A list of passes: a file, the text of a JSON object, or what such a file holds. `data` is what Engine takes."""

    def __init__(self, config: Union[str, "os.PathLike[str]", Mapping[str, Any]]) -> None:
        self.data: Union[str, Dict[str, Any]] = dict(config) if isinstance(config, Mapping) else os.fspath(config)


class Engine:
    """Runs the passes of a list on the model that it names, or on a model in memory. `report`: of the last run."""

    def __init__(self, config: Union[str, "os.PathLike[str]", Mapping[str, Any], LoadConfigFromFileOrDict]) -> None:
        self.config = config.data if isinstance(config, LoadConfigFromFileOrDict) else config
        self.report: Optional[quarkq.Report] = None

    def initialize(self) -> None:
        """There is nothing to prepare: passes are known by name, and a list is checked when it runs."""

    def run(self, model: Any = None) -> Any:
        """Without `model` the file that the list names; the result goes to its output_model_path, and is returned as an
        onnx.ModelProto where it has none."""
        passes = json.dumps(dict(self.config)) if isinstance(self.config, Mapping) else os.fspath(self.config)
        has_output = "output_model_path" in (self.config if isinstance(self.config, Mapping) else _text(passes))
        self.report = quarkq.convert(model, passes=passes, in_memory=not has_output)
        if self.report.model is None:
            return None
        import onnx

        return onnx.load_from_string(self.report.model)


def _text(source: str) -> str:
    if not os.path.exists(source):
        return source
    with open(source, encoding="utf-8") as file:
        return file.read()
