"""What weighs how much: severities by code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from distcycle.findings import CODES, Severity

__all__ = ["Policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Decisions of the user about findings.

    Attributes:
        severities: Codes that weigh other than by default.
    """

    severities: Mapping[str, Severity] = field(default_factory=dict)

    def judge_severity(self, code: str, *, default: Severity | None = None) -> Severity:
        """Decide what a finding weighs.

        Args:
            code: Its code.
            default: What it weighs by default, where that depends on more than the code.
        """
        return self.severities.get(code, default or CODES[code].severity)
