# SPDX-License-Identifier: MIT
"""What calls return and tell on the way."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional

from ._errors import Finding


class Progress(NamedTuple):
    """How far a call is."""

    phase: str  #: "load", "calibrate", ...
    done: int
    total: int  #: 0: not known
    unit: str  #: of done and total
    step: int  #: this is phase `step` of `steps`, from 1 on; 0: a single phase
    steps: int


def findings_of(rows: List[Dict[str, str]]) -> List[Finding]:
    return [Finding(row["severity"], row["id"], row["subject"], row["text"], row.get("remedy", "")) for row in rows]


class Report(Mapping[str, Any]):
    """The report of a call: the keys of the program's `--json` (docs/schemas)."""

    def __init__(self, text: str, model: Optional[bytes] = None) -> None:
        import json

        self._values: Dict[str, Any] = json.loads(text)
        self._text = text
        self.model = model  #: the serialized result when no output file was named

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        kind = "model" if "model" in self else "output"
        return f"<quarkq.Report of {self.get(kind, 'results')!r}: {', '.join(self)}>"

    @property
    def findings(self) -> List[Finding]:
        return findings_of(self.get("findings", []))

    @property
    def warnings(self) -> List[Finding]:
        return [finding for finding in self.findings if finding.severity == "warning"]

    @property
    def grade(self) -> Optional[str]:
        """"good", "fair" or "poor"; None when outputs were not compared."""
        verdict = self.get("verdict")
        return None if verdict is None else str(verdict["grade"])

    @property
    def metric(self) -> Optional[float]:
        """The mean of the caller's metric over the samples compared."""
        value = self.get("metric")
        return None if value is None else float(value)

    def to_json(self) -> str:
        """As the program prints it."""
        return self._text
