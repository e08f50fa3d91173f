"""Verdicts: findings counted one by one, summaries put together, words to the letter."""

import json

import pytest

from bmad_autopilot.gates.verdict import MAX_REVIEW, MAX_SUMMARY, Result, Source, read_verdict
from tests.gates.looks import STORY
from tests.gates.test_verdict import FINDING, OUTCOME, review, story


@pytest.mark.parametrize("kind", ["Critical", "High", "Patch", "Decision"])
def test_a_grave_finding_speaks_against_an_approval(kind):
    found = read_verdict(review("approved"), story(STORY + FINDING.format(kind)), story())
    assert (found.result, found.source) == (Result.CHANGES_REQUESTED, Source.FINDINGS)


def test_a_finding_without_a_kind_is_open_where_nothing_approves():
    after = STORY + "\n### Review Findings\n\n- [ ] Off by one\n"
    found = read_verdict(None, story(after), story())
    assert (found.result, found.summary) == (Result.CHANGES_REQUESTED, "- [finding] Off by one")
    assert read_verdict(review("approved"), story(after), story()).result is Result.APPROVED


def test_of_two_equal_findings_one_is_new():
    one = STORY + FINDING.format("Patch")
    two = one + "- [ ] [Review][Patch] Off by one [src/a.py:3]\n"
    three = two + "- [ ] [Review][Patch] Off by one [src/a.py:3]\n"
    assert read_verdict(review("approved"), story(two), story(one)).result is Result.CHANGES_REQUESTED
    assert read_verdict(review("approved"), story(two), story(two)).result is Result.APPROVED
    found = read_verdict(review("approved"), story(three), story(one))
    assert found.summary.count("Off by one") == 2


def test_findings_are_told_line_by_line_below_the_summary():
    after = STORY + FINDING.format("Patch") + "- [ ] [Review][High] Leaks a handle\n"
    found = read_verdict(review("approved", summary="nearly"), story(after), story())
    assert found.summary.split("\n") == [
        "nearly",
        "- [patch] Off by one [src/a.py:3]",
        "- [high] Leaks a handle",
    ]


def test_a_verdict_without_words_has_none():
    assert read_verdict(None, story(), story()).summary == ""
    assert read_verdict(None, story(STORY.replace("review", "done")), story()).summary == ""
    assert read_verdict(None, None, None) == (Result.NONE, "", Source.NOTHING)


def test_an_outcome_is_told():
    found = read_verdict(None, story(STORY + OUTCOME.format("Changes Requested")), story())
    assert found.summary == "The review's outcome: Changes Requested"
    assert read_verdict(None, story(STORY + OUTCOME.format("Approve")), story()).summary == "Approve"


def test_an_old_outcome_in_its_place_is_not_new():
    once = STORY + OUTCOME.format("Changes Requested")
    assert read_verdict(review("approved"), story(once), story(once)).result is Result.APPROVED


@pytest.mark.parametrize("status", ["in-progress", "ready-for-dev", "backlog"])
def test_a_story_set_back_is_a_request(status):
    found = read_verdict(None, story(STORY.replace("review", status)), story())
    assert (found.result, found.source) == (Result.CHANGES_REQUESTED, Source.STATUS)
    already = story(STORY.replace("review", status))
    assert read_verdict(None, already, already).result is Result.NONE


def test_a_story_without_a_status_is_neither_set_back_nor_done():
    bare = STORY.replace("Status: review\n", "")
    assert read_verdict(None, story(bare), story()).result is Result.NONE
    assert read_verdict(None, story(STORY.replace("review", "done")), story(bare)).result is Result.APPROVED
    assert read_verdict(None, story(STORY.replace("review", "done")), None).result is Result.APPROVED


def test_several_words_that_all_approve_do():
    raw = b'{"reviewResult": "approved", "review_result": "pass"}'
    assert read_verdict(raw, None, None).result is Result.APPROVED
    words = ["approved", "approve", "approves", "accepted", "accept", "passed", "pass", "lgtm"]
    every = "{" + ", ".join(f'"result": "{word}"' for word in words) + "}"
    assert read_verdict(every.encode(), None, None).result is Result.APPROVED


def test_the_documented_key_counts_first():
    raw = b'{"result": "rejected", "reviewResult": "approved"}'
    assert read_verdict(raw, None, None).result is Result.APPROVED


def test_the_first_summary_that_says_something_counts():
    raw = json.dumps({"result": "rejected", "notes": "later", "message": "first", "summary": ""}).encode()
    assert read_verdict(raw, None, None).summary == "first"


def test_a_summary_of_pairs_is_told_line_by_line():
    raw = review("rejected", summary={"a": 1, "b": ["x", "y"]})
    assert read_verdict(raw, None, None).summary == "a: 1\nb: - x\n- y"


def test_bounds_are_kept_to_the_letter():
    assert read_verdict(review("approved", summary="x" * MAX_SUMMARY), None, None).summary == "x" * MAX_SUMMARY
    longer = read_verdict(review("approved", summary="x" * (MAX_SUMMARY + 1)), None, None).summary
    assert longer == "x" * (MAX_SUMMARY - 1) + "…"
    raw = review("approved")
    assert read_verdict(raw + b" " * (MAX_REVIEW - len(raw)), None, None).result is Result.APPROVED
    assert read_verdict(raw + b" " * (MAX_REVIEW + 1 - len(raw)), None, None).result is Result.NONE


def test_a_fenced_review_without_an_end_says_nothing():
    assert read_verdict(b"```json\n" + review("approved"), None, None).result is Result.NONE
