"""Determines the verdict of a review. The first row that applies decides:

| state after the review, compared with before | result |
|---|---|
| `{key}.review.json` says changes-requested | changes-requested |
| it says approved, and no row below contradicts it | approved |
| a new open finding: High, Patch, Decision; or, unapproved, any but Low, Defer | changes-requested |
| a new outcome that is no approval, or a story status set back from review | changes-requested |
| a readable review.json without a known result | none |
| a new approving outcome, or a status newly set to done | approved |
| anything else | none: the review failed |

*New* means not in the story file before this review, so nothing an earlier review wrote can approve."""

import json
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from ..board.story_file import Finding, StoryFile, StoryVerdict
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, READY
from ..core.text import clip

MAX_REVIEW = 1024 * 1024
MAX_SUMMARY = 4000


class ReviewResult(StrEnum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes-requested"
    NONE = "none"


class VerdictSource(StrEnum):
    REVIEW_FILE = "review.json"
    FINDINGS = "findings"
    OUTCOME = "outcome"
    STATUS = "status"
    NOTHING = "nothing"


class ReviewVerdict(NamedTuple):
    result: ReviewResult
    summary: str
    source: VerdictSource


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
_BLOCKING = frozenset(("high", "critical", "patch", "decision"))
_OPEN = _BLOCKING | {"medium", ""}


def read_review_verdict(review: bytes | None, story: StoryFile | None, before: StoryFile | None) -> ReviewVerdict:
    """`review`: the review file after this attempt; `before`: the story file before the review."""
    said, summary = _read_review(review)
    if said is ReviewResult.CHANGES_REQUESTED:
        return ReviewVerdict(
            said, summary or _format_findings(_new_open_findings(story, before)), VerdictSource.REVIEW_FILE
        )
    against = _find_rejection(story, before, _BLOCKING if said is ReviewResult.APPROVED else _OPEN)
    if against is not None:
        return against._replace(summary=_bounded(f"{summary}\n{against.summary}".strip()))
    if said is ReviewResult.APPROVED:
        return ReviewVerdict(said, summary, VerdictSource.REVIEW_FILE)
    if said is ReviewResult.NONE:
        return ReviewVerdict(ReviewResult.NONE, summary, VerdictSource.REVIEW_FILE)
    return _find_approval(story, before) or ReviewVerdict(ReviewResult.NONE, "", VerdictSource.NOTHING)


def _read_review(review: bytes | None) -> tuple[ReviewResult | None, str]:
    """Result and summary of the review file; None if there is no file or it has no result."""
    pairs = _pairs(review) if review is not None and len(review) <= MAX_REVIEW else []
    words = {(key, _plain(value)) for key, value in pairs if isinstance(value, str)}
    summary = next((_text(value) for name in _SUMMARIES for key, value in pairs if key == name and value), "")
    for key in _KEYS:  # the documented key first; of two different values the stricter wins
        values = {value for name, value in words if name == key}
        if values & _CHANGES:
            return ReviewResult.CHANGES_REQUESTED, summary
        if values and values <= _APPROVED:
            return ReviewResult.APPROVED, summary
        if values:
            return ReviewResult.NONE, summary
    return None, summary


def _pairs(review: bytes) -> list[tuple[str, object]]:
    """Top-level entries with normalised keys; duplicate keys are kept."""
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


def _find_rejection(
    story: StoryFile | None, before: StoryFile | None, kinds: Iterable[str]
) -> ReviewVerdict | None:
    if story is None:
        return None
    findings = [finding for finding in _new_open_findings(story, before) if finding.kind in kinds]
    if findings:
        return ReviewVerdict(ReviewResult.CHANGES_REQUESTED, _format_findings(findings), VerdictSource.FINDINGS)
    outcome = story.outcome
    was = before.outcome if before else None
    is_new = outcome is not None and (was is None or (was.raw, was.line) != (outcome.raw, outcome.line))
    if (
        is_new
        and outcome is not None
        and outcome.verdict in (StoryVerdict.CHANGES_REQUESTED, StoryVerdict.BLOCKED)
    ):
        told = f"The review's outcome: {outcome.raw}"
        return ReviewVerdict(ReviewResult.CHANGES_REQUESTED, _bounded(told), VerdictSource.OUTCOME)
    if _became(story, before, (IN_PROGRESS, READY, BACKLOG)):
        told = "The reviewer set the story back and wrote no findings."
        return ReviewVerdict(ReviewResult.CHANGES_REQUESTED, told, VerdictSource.STATUS)
    return None


def _find_approval(story: StoryFile | None, before: StoryFile | None) -> ReviewVerdict | None:
    if story is None:
        return None
    outcome = story.outcome
    was = before.outcome.raw if before and before.outcome else None
    if outcome is not None and outcome.verdict is StoryVerdict.APPROVED and outcome.raw != was:
        return ReviewVerdict(ReviewResult.APPROVED, _bounded(outcome.raw), VerdictSource.OUTCOME)
    if _became(story, before, (DONE,)):
        return ReviewVerdict(ReviewResult.APPROVED, "", VerdictSource.STATUS)
    return None


def _became(story: StoryFile, before: StoryFile | None, meanings: tuple[str, ...]) -> bool:
    now = story.status.meaning if story.status else ""
    was = before.status.meaning if before and before.status else ""
    return now in meanings and was not in meanings


def _new_open_findings(story: StoryFile | None, before: StoryFile | None) -> list[Finding]:
    """Findings that are open now and were not before: new, or unticked again."""
    known = Counter((one.kind, one.text) for one in (before.open_findings if before else ()))
    found = []
    for finding in story.open_findings if story else ():
        if known[finding.kind, finding.text] > 0:
            known[finding.kind, finding.text] -= 1
        else:
            found.append(finding)
    return found


def _format_findings(findings: Iterable[Finding]) -> str:
    return _bounded("\n".join(f"- [{one.kind or 'finding'}] {one.text}" for one in findings))


def _bounded(text: str) -> str:
    return clip(text.strip(), MAX_SUMMARY)
