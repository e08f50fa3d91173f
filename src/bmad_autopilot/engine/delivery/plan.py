"""How an epic is delivered: the settings that count, frozen with its lane."""

from collections.abc import Mapping
from typing import Any, NamedTuple

GITHUB, LOCAL = "github", "local"
WHEN_APPROVED, MANUAL, AUTO = "when-approved", "manual", "auto"
STOP, AGENT = "stop", "agent"  # what becomes of a conflict
COPILOT, HUMAN, NOBODY = "copilot", "human", "none"


class Plan(NamedTuple):
    kind: str = GITHUB  # or local: merged here, without a forge
    base: str = "main"  # the branch that it goes to
    onto: str = ""  # the branch of the epic before it, where that is not merged yet: it was begun on that
    title: str = ""  # the epic's
    merge: str = WHEN_APPROVED
    review: str = COPILOT
    checks: bool = True  # a pull request without any checks of the forge's is not merged
    rounds: int = 5  # of mending, after which a person is asked
    review_patience: float = 1800.0  # seconds for a review to come
    check_patience: float = 1800.0
    approval_patience: float = 86400.0
    grace: float = 120.0  # for checks to appear; what is green stays so for a twelfth of it before it counts
    reruns: bool = True  # what failed is run once more as it is
    conflicts: str = "stop"  # or agent: one may resolve them
    trusted: tuple[str, ...] = ()  # logins beside collaborators and Copilot
    labels: tuple[str, ...] = ()
    draft: bool = False

    @property
    def settles(self) -> float:
        return self.grace / 12

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "trusted": list(self.trusted), "labels": list(self.labels)}


def plan_from_json(data: Mapping[str, Any] | None) -> Plan | None:
    if not data:
        return None
    known = {name: data[name] for name in Plan._fields if name in data}
    lists = {name: tuple(data.get(name, ())) for name in ("trusted", "labels")}
    return Plan(**{**known, **lists})
