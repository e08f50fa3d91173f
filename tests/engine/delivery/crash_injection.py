"""What no text of others may do: leave its fence in a prompt, or start anything where we post it."""

import re

from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import RunRecord
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.pull_builders import BRANCH

_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[\s:*_`~(\[]{0,9}(?:[\w.-]+/[\w.-]+)?(?:#\d|gh-\d|https?://)",
    re.IGNORECASE,
)


def lane(title: str = "Sign in", **plan: object) -> Lane:
    made = DeliveryPlan(title=title, **plan)  # type: ignore[arg-type]
    return Lane(LaneScope.EPIC, "epic-1", "1", PIPELINES["lean"], BRANCH, delivery=made)


def record() -> RunRecord:
    run = RunRecord()
    run.delivery.pull = 7
    return run


def outside_fences(prompt: str) -> str:
    return re.sub(r"^(`{3,})text\n.*?^\1$", "", prompt, flags=re.MULTILINE | re.DOTALL)


def assert_starts_nothing(posted: str, marks: int = 0) -> None:
    """No mention, nothing that closes an issue, no command to a bot, no hidden remark but our own at the end."""
    assert not re.search(r"(?<![A-Za-z0-9])@", posted)
    assert not re.search(r"&#|&commat;|&num;", posted)
    assert not _CLOSING.search(posted)
    assert not re.search(r"^\s*/\w", posted, re.MULTILINE)
    assert posted.count("<!--") == marks
    assert not marks or re.search(r"<!-- bmad-autopilot:\S+ -->\Z", posted)
    posted.encode()  # no half letters
