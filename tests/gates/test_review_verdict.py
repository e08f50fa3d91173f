"""Verdicts: the review file, the story file, and what holds where they disagree."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.story_file import StoryFile, read_story
from bmad_autopilot.core.stop_causes import BlockReason
from bmad_autopilot.gates.check_output import FailureKind
from bmad_autopilot.gates.review_verdict import (
    MAX_REVIEW,
    MAX_SUMMARY,
    ReviewResult,
    VerdictSource,
    read_review_verdict,
)
from bmad_autopilot.io.files import TextFile
from tests.gates.evidence_builder import STORY

APPROVED, CHANGES, NONE = ReviewResult.APPROVED, ReviewResult.CHANGES_REQUESTED, ReviewResult.NONE


def story(text: str = STORY) -> StoryFile:
    return read_story(TextFile("1-2.md", text.encode()))


def review(result: object, **rest: object) -> bytes:
    return json.dumps({"storyKey": "1-2", "reviewResult": result, **rest}).encode()


@pytest.mark.parametrize(
    ("word", "result"),
    [
        ("approved", APPROVED),
        ("Approved", APPROVED),
        ("approve", APPROVED),
        ("APPROVED ✅", APPROVED),
        ("changes-requested", CHANGES),
        ("changes_requested", CHANGES),
        ("Changes Requested", CHANGES),
        ("changesRequested", CHANGES),
        ("rejected", CHANGES),
        ("not approved", CHANGES),
        ("blocked", CHANGES),
        ("approved with changes", NONE),
        ("maybe", NONE),
        ("", NONE),
    ],
)
def test_the_review_file_decides(word, result):
    found = read_review_verdict(review(word, summary="why"), story(), story())
    assert (found.result, found.source, found.summary) == (result, VerdictSource.REVIEW_FILE, "why")


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + review("approved"),
        b"```json\n" + review("approved") + b"\n```\n",
        review("approved").replace(b"reviewResult", b"review_result"),
        review("approved").replace(b"reviewResult", b"ReviewResult"),
        review("approved").replace(b"reviewResult", b"verdict"),
        review("approved", extra={"a": [1]}, status="whatever"),
    ],
)
def test_a_review_file_may_be_untidy(raw):
    assert read_review_verdict(raw, None, None).result is APPROVED


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'"approved"',
        b"null",
        b'{"reviewResult": true}',
        b'{"summary": "approved"}',
        b'{"other": "approved"}',
        b"[" * 100_000,
        b" " * 2_000_000 + b'{"reviewResult": "approved"}',
    ],
)
def test_what_says_nothing_approves_nothing(raw):
    assert read_review_verdict(raw, story(), story()).result is NONE


def test_of_two_results_the_stricter_holds():
    raw = b'{"reviewResult": "approved", "reviewResult": "changes-requested"}'
    assert read_review_verdict(raw, None, None).result is CHANGES
    assert read_review_verdict(raw.replace(b"changes-requested", b"hm"), None, None).result is NONE


FINDING = "\n### Review Findings\n\n- [ ] [Review][{}] Off by one [src/a.py:3]\n"


@pytest.mark.parametrize("kind", ["Patch", "Decision", "High"])
def test_an_approval_beside_a_new_open_finding_is_none(kind):
    found = read_review_verdict(review("approved", summary="fine"), story(STORY + FINDING.format(kind)), story())
    assert (found.result, found.source) == (CHANGES, VerdictSource.FINDINGS)
    assert "Off by one" in found.summary


@pytest.mark.parametrize(
    ("after", "before"),
    [
        (STORY + FINDING.format("Low"), STORY),
        (STORY + FINDING.format("Defer"), STORY),
        (STORY + FINDING.format("Medium"), STORY),
        (STORY + FINDING.format("Patch").replace("[ ]", "[x]"), STORY),
        (STORY + FINDING.format("Patch"), STORY + FINDING.format("Patch")),
        (STORY.replace("review", "done"), STORY),
        (STORY, STORY),
    ],
)
def test_an_approval_stands_beside_small_old_or_mended_findings(after, before):
    assert read_review_verdict(review("approved"), story(after), story(before)).result is APPROVED


def test_a_finding_that_is_open_again_is_new():
    ticked = STORY + FINDING.format("Patch").replace("[ ]", "[x]")
    assert (
        read_review_verdict(review("approved"), story(STORY + FINDING.format("Patch")), story(ticked)).result
        is CHANGES
    )


OUTCOME = "\n## Senior Developer Review (AI)\n\n**Outcome:** {}\n"


@pytest.mark.parametrize(
    ("after", "before", "result", "source"),
    [
        (STORY + OUTCOME.format("Approve"), STORY, APPROVED, VerdictSource.OUTCOME),
        (STORY + OUTCOME.format("Changes Requested"), STORY, CHANGES, VerdictSource.OUTCOME),
        (STORY + OUTCOME.format("Blocked"), STORY, CHANGES, VerdictSource.OUTCOME),
        (
            STORY + OUTCOME.format("Approve"),
            STORY + OUTCOME.format("Changes Requested"),
            APPROVED,
            VerdictSource.OUTCOME,
        ),
        (STORY + OUTCOME.format("Approve"), STORY + OUTCOME.format("Approve"), NONE, VerdictSource.NOTHING),
        ("\n" + STORY + OUTCOME.format("Approve"), STORY + OUTCOME.format("Approve"), NONE, VerdictSource.NOTHING),
        (STORY + OUTCOME.format("Who knows"), STORY, NONE, VerdictSource.NOTHING),
        (STORY + OUTCOME.format("Approve") + FINDING.format("High"), STORY, CHANGES, VerdictSource.FINDINGS),
        (STORY + FINDING.format("Medium"), STORY, CHANGES, VerdictSource.FINDINGS),
        (STORY + FINDING.format("Low"), STORY, NONE, VerdictSource.NOTHING),
        (STORY.replace("review", "done"), STORY, APPROVED, VerdictSource.STATUS),
        (STORY.replace("review", "Completed"), STORY, APPROVED, VerdictSource.STATUS),
        (STORY.replace("review", "done"), STORY.replace("review", "done"), NONE, VerdictSource.NOTHING),
        (STORY.replace("review", "done") + FINDING.format("Patch"), STORY, CHANGES, VerdictSource.FINDINGS),
        (STORY.replace("review", "in-progress"), STORY, CHANGES, VerdictSource.STATUS),
        (STORY, STORY, NONE, VerdictSource.NOTHING),
    ],
)
def test_without_a_review_file_the_story_file_decides(after, before, result, source):
    found = read_review_verdict(None, story(after), story(before))
    assert (found.result, found.source) == (result, source)


def test_a_second_request_in_a_further_review_is_new():
    once = STORY + OUTCOME.format("Changes Requested")
    twice = once + OUTCOME.format("Changes Requested")
    assert read_review_verdict(None, story(twice), story(once)).result is CHANGES


@pytest.mark.parametrize(
    "after", [STORY + OUTCOME.format("Changes Requested"), STORY.replace("review", "in-progress")]
)
def test_an_approval_that_the_story_file_contradicts_is_none(after):
    found = read_review_verdict(review("approved", summary="fine"), story(after), story())
    assert found.result is CHANGES
    assert found.summary.startswith("fine")


def test_an_unknown_word_is_not_rescued_by_a_status_but_a_finding_still_counts():
    assert read_review_verdict(review("hm"), story(STORY.replace("review", "done")), story()).result is NONE
    assert read_review_verdict(review("hm"), story(STORY + FINDING.format("Patch")), story()).result is CHANGES


def test_a_request_without_words_is_told_by_its_findings():
    found = read_review_verdict(review("changes-requested"), story(STORY + FINDING.format("Low")), story())
    assert "Off by one" in found.summary


def test_no_story_file_and_no_review_is_no_verdict():
    assert read_review_verdict(None, None, story()).result is NONE


def test_a_summary_may_be_a_list_and_is_bounded():
    found = read_review_verdict(review("changes-requested", summary=["one", {"file": "a"}]), None, None)
    assert found.summary == "- one\n- file: a"
    assert len(read_review_verdict(review("approved", summary="x" * 9999), None, None).summary) == MAX_SUMMARY


@given(st.binary(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_nothing_breaks_the_reader(raw, after, before):
    read_review_verdict(raw, read_story(TextFile("a", after.replace("\0", "").encode("utf-8", "replace"))), None)
    read_review_verdict(raw, None, read_story(TextFile("a", before.replace("\0", "").encode("utf-8", "replace"))))


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda c: st.lists(c) | st.dictionaries(st.sampled_from(["reviewResult", "summary", "x"]), c),
    )
)
def test_no_json_approves_but_one_that_says_so(data):
    raw = json.dumps(data).encode()
    assert read_review_verdict(raw, None, None).result is not APPROVED or b"pprove" in raw or b"pass" in raw


# Verdicts: findings counted one by one, summaries put together, words to the letter.


@pytest.mark.parametrize("kind", ["Critical", "High", "Patch", "Decision"])
def test_a_grave_finding_speaks_against_an_approval(kind):
    found = read_review_verdict(review("approved"), story(STORY + FINDING.format(kind)), story())
    assert (found.result, found.source) == (ReviewResult.CHANGES_REQUESTED, VerdictSource.FINDINGS)


def test_a_finding_without_a_kind_is_open_where_nothing_approves():
    after = STORY + "\n### Review Findings\n\n- [ ] Off by one\n"
    found = read_review_verdict(None, story(after), story())
    assert (found.result, found.summary) == (ReviewResult.CHANGES_REQUESTED, "- [finding] Off by one")
    assert read_review_verdict(review("approved"), story(after), story()).result is ReviewResult.APPROVED


def test_of_two_equal_findings_one_is_new():
    one = STORY + FINDING.format("Patch")
    two = one + "- [ ] [Review][Patch] Off by one [src/a.py:3]\n"
    three = two + "- [ ] [Review][Patch] Off by one [src/a.py:3]\n"
    assert read_review_verdict(review("approved"), story(two), story(one)).result is ReviewResult.CHANGES_REQUESTED
    assert read_review_verdict(review("approved"), story(two), story(two)).result is ReviewResult.APPROVED
    found = read_review_verdict(review("approved"), story(three), story(one))
    assert found.summary.count("Off by one") == 2


def test_findings_are_told_line_by_line_below_the_summary():
    after = STORY + FINDING.format("Patch") + "- [ ] [Review][High] Leaks a handle\n"
    found = read_review_verdict(review("approved", summary="nearly"), story(after), story())
    assert found.summary.split("\n") == [
        "nearly",
        "- [patch] Off by one [src/a.py:3]",
        "- [high] Leaks a handle",
    ]


def test_a_verdict_without_words_has_none():
    assert read_review_verdict(None, story(), story()).summary == ""
    assert read_review_verdict(None, story(STORY.replace("review", "done")), story()).summary == ""
    assert read_review_verdict(None, None, None) == (ReviewResult.NONE, "", VerdictSource.NOTHING)


def test_an_outcome_is_told():
    found = read_review_verdict(None, story(STORY + OUTCOME.format("Changes Requested")), story())
    assert found.summary == "The review's outcome: Changes Requested"
    assert read_review_verdict(None, story(STORY + OUTCOME.format("Approve")), story()).summary == "Approve"


def test_an_old_outcome_in_its_place_is_not_new():
    once = STORY + OUTCOME.format("Changes Requested")
    assert read_review_verdict(review("approved"), story(once), story(once)).result is ReviewResult.APPROVED


@pytest.mark.parametrize("status", ["in-progress", "ready-for-dev", "backlog"])
def test_a_story_set_back_is_a_request(status):
    found = read_review_verdict(None, story(STORY.replace("review", status)), story())
    assert (found.result, found.source) == (ReviewResult.CHANGES_REQUESTED, VerdictSource.STATUS)
    already = story(STORY.replace("review", status))
    assert read_review_verdict(None, already, already).result is ReviewResult.NONE


def test_a_story_without_a_status_is_neither_set_back_nor_done():
    bare = STORY.replace("Status: review\n", "")
    assert read_review_verdict(None, story(bare), story()).result is ReviewResult.NONE
    assert (
        read_review_verdict(None, story(STORY.replace("review", "done")), story(bare)).result
        is ReviewResult.APPROVED
    )
    assert read_review_verdict(None, story(STORY.replace("review", "done")), None).result is ReviewResult.APPROVED


def test_several_words_that_all_approve_do():
    raw = b'{"reviewResult": "approved", "review_result": "pass"}'
    assert read_review_verdict(raw, None, None).result is ReviewResult.APPROVED
    words = ["approved", "approve", "approves", "accepted", "accept", "passed", "pass", "lgtm"]
    every = "{" + ", ".join(f'"result": "{word}"' for word in words) + "}"
    assert read_review_verdict(every.encode(), None, None).result is ReviewResult.APPROVED


def test_the_documented_key_counts_first():
    raw = b'{"result": "rejected", "reviewResult": "approved"}'
    assert read_review_verdict(raw, None, None).result is ReviewResult.APPROVED


def test_the_first_summary_that_says_something_counts():
    raw = json.dumps({"result": "rejected", "notes": "later", "message": "first", "summary": ""}).encode()
    assert read_review_verdict(raw, None, None).summary == "first"


def test_a_summary_of_pairs_is_told_line_by_line():
    raw = review("rejected", summary={"a": 1, "b": ["x", "y"]})
    assert read_review_verdict(raw, None, None).summary == "a: 1\nb: - x\n- y"


def test_bounds_are_kept_to_the_letter():
    assert (
        read_review_verdict(review("approved", summary="x" * MAX_SUMMARY), None, None).summary == "x" * MAX_SUMMARY
    )
    longer = read_review_verdict(review("approved", summary="x" * (MAX_SUMMARY + 1)), None, None).summary
    assert longer == "x" * (MAX_SUMMARY - 1) + "…"
    raw = review("approved")
    assert read_review_verdict(raw + b" " * (MAX_REVIEW - len(raw)), None, None).result is ReviewResult.APPROVED
    assert read_review_verdict(raw + b" " * (MAX_REVIEW + 1 - len(raw)), None, None).result is ReviewResult.NONE


def test_a_fenced_review_without_an_end_says_nothing():
    assert read_review_verdict(b"```json\n" + review("approved"), None, None).result is ReviewResult.NONE


@pytest.mark.parametrize("key", ["reviewResult", "result", "verdict", "outcome", "decision", "status"])
def test_where_a_review_file_says_its_result(key):
    assert read_review_verdict(f'{{"{key}": "approved"}}'.encode(), None, None).result is ReviewResult.APPROVED


@pytest.mark.parametrize("key", ["summary", "message", "reason", "feedback", "notes", "comments"])
def test_where_a_review_file_says_why(key):
    raw = f'{{"result": "rejected", "{key}": "too slow"}}'.encode()
    assert read_review_verdict(raw, None, None).summary == "too slow"


def test_words_that_stand_in_files_stay_what_they_are():
    assert [one.value for one in FailureKind] == ["code", "environment"]
    assert [one.value for one in ReviewResult] == ["approved", "changes-requested", "none"]
    assert [one.value for one in BlockReason] == [
        "no_resource",
        "manual_test_required",
        "human_review_required",
        "critical_decision",
        "subagent_failed",
    ]
