# SPDX-License-Identifier: MIT
"""What calls return and tell on the way."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from ._errors import Finding, in_python


class Progress(NamedTuple):
    """How far a call is."""

    phase: str  #: "load", "calibrate", ...
    done: int
    total: int  #: 0: not known
    unit: str  #: of done and total
    step: int  #: this is phase `step` of `steps`, from 1 on; 0: a single phase
    steps: int


def findings_of(rows: List[Dict[str, str]]) -> List[Finding]:
    return [Finding(row["severity"], row["id"], row["subject"], in_python(row["text"]), in_python(row.get("remedy", ""))) for row in rows]


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _counted(count: int, noun: str, nouns: str) -> str:
    return f"{count or 'no'} {noun if count == 1 else nouns}"


def _deployable_text(found: Mapping[str, Any]) -> str:
    start = f"{found['target']}: {found['holds']}, "
    if found["holds"] != "yes":
        return start + str(found["why"])
    return f"{start}{found['nodes']} of {found['of']} nodes" + (f" in {found['regions']} regions" if found["regions"] > 1 else "")


def _quantize_rows(report: Report) -> List[Tuple[str, str]]:
    """The rows of the program's summary that fit a notebook."""
    size, opset, nodes = report["bytes"], report["opset"], report["nodes"]
    written = "Report.model" if report.model is not None else report["output"]
    types = "".join(f", {count} x {kind}" for kind, count in report["tensors"].items())
    rows = [
        ("model", f"{report['model']} (opset {opset['input']}, {nodes['total']} nodes, {_size(size['input'])})"),
        ("settings", f"{report['preset'] or 'file'}, {report['quantizer']}, {_counted(report['threads'], 'thread', 'threads')}, {report['isa']}"),
        ("calibrated", f"{report['calibrated_tensors']} activations on {_counted(report['samples'], 'sample', 'samples')}"),
        ("quantized", f"{nodes['selected']} of {nodes['total']} nodes{types}"),
        *(("output", f"{row['name']}: mean cosine {row['cosine']:.6g}, worst {row['min_cosine']:.6g}") for row in report["outputs"]),
        ("written", f"{written} (opset {opset['output']}, {_size(size['output'])}) in {report['seconds']:.2f} s"),
    ]
    if report["deployable"] is not None:
        rows.append(("deployable", _deployable_text(report["deployable"])))
    if report.metric is not None:
        rows.append(("metric", f"{report.metric:.6g}"))
    rows += [("warning", ": ".join(part for part in (finding.subject, finding.text) if part)) for finding in report.warnings]
    if report["verdict"] is not None:
        rows.append(("verdict", f"{report.grade}: {report['verdict']['why']}"))
    return rows


def _plain_rows(report: Report) -> List[Tuple[str, str]]:
    """The plain values of any other report, and how many entries its lists have."""
    rows = []
    for key, value in report.items():
        if isinstance(value, (list, dict)):
            value = _counted(len(value), "entry", "entries")
        if value is not None and value != "":
            rows.append((key, f"{value:.6g}" if isinstance(value, float) else str(value)))
    return rows


class Report(Mapping[str, Any]):
    """The report of a call: a mapping with the keys of the program's `--json` (docs/schemas). print() gives a summary."""

    def __init__(self, text: str, model: Optional[bytes] = None, tail: Optional[bytes] = None, joined: Optional[bytes] = None) -> None:
        import json

        self._values: Dict[str, Any] = json.loads(text)
        self._text = text
        self.model = model  #: the serialized result when no output file was named
        self.tail = tail  #: the same of the float model with its last nodes, if it was cut (docs/targets.md)
        self.joined = joined  #: result and tail as one model, if it was cut

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        kind = "model" if "model" in self else "output"
        return f"<quarkq.Report of {self.get(kind, 'results')!r}: {len(self)} keys>"

    def _rows(self) -> List[Tuple[str, str]]:
        return _quantize_rows(self) if "calibrated_tensors" in self and "opset" in self else _plain_rows(self)

    def __str__(self) -> str:
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name:{width}} {text}" for name, text in rows)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        from html import escape

        rows = "".join(f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
                       for name, text in self._rows())
        return f"<table>{rows}</table>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the report: JSON if the name ends with ".json", otherwise the HTML page of `quarkq report`, which reports of
        quantize() and tune() have. quantize(details=True) adds its charts of tensors and samples."""
        import tempfile

        from ._call import Call

        place = os.path.abspath(os.fspath(path))
        if place.endswith(".json"):
            with tempfile.TemporaryDirectory(prefix=".quarkq-", dir=os.path.dirname(place)) as folder:
                self._write(os.path.join(folder, "report.json"))
                os.replace(os.path.join(folder, "report.json"), place)  # whole or not at all
            return
        with tempfile.TemporaryDirectory(prefix="quarkq-") as folder:
            source = os.path.join(folder, "report.json")
            self._write(source)
            Call("report", {"report": source, "output": place}).run()

    def _write(self, place: str) -> None:
        with open(place, "w", encoding="utf-8") as file:
            file.write(self._text)

    @property
    def findings(self) -> List[Finding]:
        return findings_of(self.get("findings", []))

    @property
    def warnings(self) -> List[Finding]:
        return [finding for finding in self.findings if finding.severity == "warning"]

    @property
    def grade(self) -> Optional[str]:
        """"good", "fair" or "poor" (also what the target refuses); None when outputs were not compared."""
        verdict = self.get("verdict")
        return None if verdict is None else str(verdict["grade"])

    @property
    def deployable(self) -> Optional[bool]:
        """Whether the target runs the model nearly whole; None without a target, and where no source says it."""
        found = self.get("deployable")
        return None if found is None or found["holds"] == "unknown" else bool(found["holds"] == "yes")

    @property
    def metric(self) -> Optional[float]:
        """The mean of the caller's metric over the samples compared."""
        value = self.get("metric")
        return None if value is None else float(value)

    def to_json(self) -> str:
        """As the program prints it."""
        return self._text
