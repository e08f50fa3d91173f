"""What the checks came to, as it is kept beside the tree they ran on."""

import json
from typing import NamedTuple

from .failures import Failure, FailureKind

MAX_REPORT = 4 * 1024 * 1024
MAX_TOLD = 12_000


class Check(NamedTuple):
    command: str
    exit: int | None  # None: killed at the time limit
    seconds: float
    log: str  # where its output is


class CheckReport(NamedTuple):
    checks: tuple[Check, ...] = ()
    failures: tuple[Failure, ...] = ()
    signature: str = ""  # equal where the same failed in the same way; empty where nothing did

    @property
    def passed(self) -> bool:
        """Without any command, too: `empty` says so, and a summary must."""
        return all(check.exit == 0 for check in self.checks)

    @property
    def empty(self) -> bool:
        return not self.checks

    @property
    def is_environment(self) -> bool:
        """Nothing here that a developer could mend."""
        return bool(self.failures) and all(one.kind is FailureKind.ENVIRONMENT for one in self.failures)

    @property
    def told(self) -> str:
        """All failures, for the next attempt or a person."""
        return "\n\n".join(map(_told, self.failures))[:MAX_TOLD]

    def to_json(self) -> str:
        return json.dumps(
            {
                "checks": [check._asdict() for check in self.checks],
                "failures": [failure._asdict() for failure in self.failures],
                "signature": self.signature,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "CheckReport | None":
        """None where it is no report of ours, or says two things: then the checks run again."""
        try:
            data = json.loads(text[:MAX_REPORT])
            checks = tuple(_check(one) for one in data["checks"])
            failures = tuple(_failure(one) for one in data["failures"])
            report = cls(checks, failures, _text(data["signature"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        failed = [(check.command, check.exit) for check in checks if check.exit != 0]
        return report if failed == [(one.command, one.exit) for one in failures] else None


def _told(failure: Failure) -> str:
    how = "was stopped at its time limit" if failure.exit is None else f"exit code {failure.exit}"
    return f"$ {failure.command}\n({how})\n{failure.excerpt}"


def _check(data: dict[str, object]) -> Check:
    return Check(_text(data["command"]), _exit(data["exit"]), float(_number(data["seconds"])), _text(data["log"]))


def _failure(data: dict[str, object]) -> Failure:
    kind = FailureKind(_text(data["kind"]))
    return Failure(_text(data["command"]), _exit(data["exit"]), kind, _text(data["excerpt"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _exit(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value
