"""What a review came to. The first line that applies decides:

| what is there, against what was there before the reviewer | result |
|---|---|
| `{key}.review.json` says changes-requested | changes-requested |
| it says approved, and nothing below speaks against it | approved |
| a new open finding: High, Patch, Decision; where no review.json approves any but Low, Defer | changes-requested |
| a new outcome that is no approval, or the story set back from review | changes-requested |
| a review.json that can be read and gives no known result | none |
| a new outcome that approves, or a status that is newly done | approved |
| anything else | none: the review failed |

*New* is measured against the story file as the reviewer found it, so nothing an earlier review wrote approves."""

import json
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from ..board.review_findings import Finding, Verdict
from ..board.stories import StoryFile
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY

MAX_REVIEW = 1024 * 1024
MAX_SUMMARY = 4000


class Result(StrEnum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes-requested"
    NONE = "none"


class Source(StrEnum):
    REVIEW_FILE = "review.json"
    FINDINGS = "findings"
    OUTCOME = "outcome"
    STATUS = "status"
    NOTHING = "nothing"


class ReviewVerdict(NamedTuple):
    result: Result
    summary: str
    source: Source


_KEYS = ("reviewresult", "result", "verdict", "outcome", "decision", "status")
_SUMMARIES = ("summary", "message", "reason", "feedback", "notes", "comments")
_APPROVED = frozenset("approved approve approves accepted accept passed pass lgtm".split())
_CHANGES = frozenset(
    (
        "changes requested|changesrequested|change requested|request changes|requested changes|requestchanges"
        "|rejected|reject|needs work|needs changes|not approved|blocked|failed|fail|changes required"
        "|changes needed|disapproved"
    ).split("|")
)
_GRAVE = frozenset(("high", "critical", "patch", "decision"))
_OPEN = _GRAVE | {"medium", ""}


def read_verdict(review: bytes | None, story: StoryFile | None, before: StoryFile | None) -> ReviewVerdict:
    """`review`: the review file as this attempt left it; `before`: the story file as the reviewer found it."""
    said, summary = _read_review(review)
    if said is Result.CHANGES_REQUESTED:
        return ReviewVerdict(said, summary or _told(_new_open(story, before)), Source.REVIEW_FILE)
    against = _against(story, before, _GRAVE if said is Result.APPROVED else _OPEN)
    if against is not None:
        return against._replace(summary=_bounded(f"{summary}\n{against.summary}".strip()))
    if said is Result.APPROVED:
        return ReviewVerdict(said, summary, Source.REVIEW_FILE)
    if said is Result.NONE:
        return ReviewVerdict(Result.NONE, summary, Source.REVIEW_FILE)
    return _approval(story, before) or ReviewVerdict(Result.NONE, "", Source.NOTHING)


def _read_review(review: bytes | None) -> tuple[Result | None, str]:
    """None: no file, or one that says nothing at all."""
    pairs = _pairs(review) if review is not None and len(review) <= MAX_REVIEW else []
    words = {(key, _plain(value)) for key, value in pairs if isinstance(value, str)}
    summary = next((_text(value) for name in _SUMMARIES for key, value in pairs if key == name and value), "")
    for key in _KEYS:  # the documented one first; of two that differ, the stricter
        values = {value for name, value in words if name == key}
        if values & _CHANGES:
            return Result.CHANGES_REQUESTED, summary
        if values and values <= _APPROVED:
            return Result.APPROVED, summary
        if values:
            return Result.NONE, summary
    return None, summary


def _pairs(review: bytes) -> list[tuple[str, object]]:
    """Top-level entries, each key in plain letters; a key given twice stands there twice."""
    text = review.decode("utf-8-sig", "replace").strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        data = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, _Pairs):
        return []
    return [("".join(filter(str.isalnum, key)).lower(), value) for key, value in data]


class _Pairs(list[tuple[str, object]]):
    pass


def _plain(value: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in value[:200].lower()).split())


def _text(value: object) -> str:
    if isinstance(value, _Pairs):
        return _bounded("\n".join(f"{key}: {_text(one)}" for key, one in value[:50]))
    if isinstance(value, list):
        return _bounded("\n".join(f"- {_text(one)}" for one in value[:50]))
    return _bounded(str(value))


def _against(story: StoryFile | None, before: StoryFile | None, kinds: Iterable[str]) -> ReviewVerdict | None:
    if story is None:
        return None
    findings = [finding for finding in _new_open(story, before) if finding.kind in kinds]
    if findings:
        return ReviewVerdict(Result.CHANGES_REQUESTED, _told(findings), Source.FINDINGS)
    outcome = story.outcome
    was = before.outcome if before else None
    is_new = outcome is not None and (was is None or (was.raw, was.line) != (outcome.raw, outcome.line))
    if is_new and outcome is not None and outcome.verdict in (Verdict.CHANGES_REQUESTED, Verdict.BLOCKED):
        told = f"The review's outcome: {outcome.raw}"
        return ReviewVerdict(Result.CHANGES_REQUESTED, _bounded(told), Source.OUTCOME)
    if _became(story, before, (IN_PROGRESS, READY, BACKLOG)):
        told = "The reviewer set the story back and wrote no findings."
        return ReviewVerdict(Result.CHANGES_REQUESTED, told, Source.STATUS)
    return None


def _approval(story: StoryFile | None, before: StoryFile | None) -> ReviewVerdict | None:
    if story is None:
        return None
    outcome = story.outcome
    was = before.outcome.raw if before and before.outcome else None
    if outcome is not None and outcome.verdict is Verdict.APPROVED and outcome.raw != was:
        return ReviewVerdict(Result.APPROVED, _bounded(outcome.raw), Source.OUTCOME)
    if _became(story, before, (DONE,)):
        return ReviewVerdict(Result.APPROVED, "", Source.STATUS)
    return None


def _became(story: StoryFile, before: StoryFile | None, meanings: tuple[str, ...]) -> bool:
    now = story.status.meaning if story.status else ""
    was = before.status.meaning if before and before.status else ""
    return now in meanings and was not in meanings


def _new_open(story: StoryFile | None, before: StoryFile | None) -> list[Finding]:
    """Open now and not open before: written by this reviewer, or unticked again."""
    known = Counter((one.kind, one.text) for one in (before.open_findings if before else ()))
    found = []
    for finding in story.open_findings if story else ():
        if known[finding.kind, finding.text] > 0:
            known[finding.kind, finding.text] -= 1
        else:
            found.append(finding)
    return found


def _told(findings: Iterable[Finding]) -> str:
    return _bounded("\n".join(f"- [{one.kind or 'finding'}] {one.text}" for one in findings))


def _bounded(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_SUMMARY else f"{text[: MAX_SUMMARY - 1]}…"
