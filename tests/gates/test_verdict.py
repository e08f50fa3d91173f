"""Verdicts: the review file, the story file, and what holds where they disagree."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.stories import StoryFile, read_story
from bmad_autopilot.files import Text
from bmad_autopilot.gates.verdict import MAX_SUMMARY, Result, Source, read_verdict
from tests.gates.looks import STORY

APPROVED, CHANGES, NONE = Result.APPROVED, Result.CHANGES_REQUESTED, Result.NONE


def story(text: str = STORY) -> StoryFile:
    return read_story(Text("1-2.md", text.encode()))


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
    found = read_verdict(review(word, summary="why"), story(), story())
    assert (found.result, found.source, found.summary) == (result, Source.REVIEW_FILE, "why")


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
    assert read_verdict(raw, None, None).result is APPROVED


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
    assert read_verdict(raw, story(), story()).result is NONE


def test_of_two_results_the_stricter_holds():
    raw = b'{"reviewResult": "approved", "reviewResult": "changes-requested"}'
    assert read_verdict(raw, None, None).result is CHANGES
    assert read_verdict(raw.replace(b"changes-requested", b"hm"), None, None).result is NONE


FINDING = "\n### Review Findings\n\n- [ ] [Review][{}] Off by one [src/a.py:3]\n"


@pytest.mark.parametrize("kind", ["Patch", "Decision", "High"])
def test_an_approval_beside_a_new_open_finding_is_none(kind):
    found = read_verdict(review("approved", summary="fine"), story(STORY + FINDING.format(kind)), story())
    assert (found.result, found.source) == (CHANGES, Source.FINDINGS)
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
    assert read_verdict(review("approved"), story(after), story(before)).result is APPROVED


def test_a_finding_that_is_open_again_is_new():
    ticked = STORY + FINDING.format("Patch").replace("[ ]", "[x]")
    assert (
        read_verdict(review("approved"), story(STORY + FINDING.format("Patch")), story(ticked)).result is CHANGES
    )


OUTCOME = "\n## Senior Developer Review (AI)\n\n**Outcome:** {}\n"


@pytest.mark.parametrize(
    ("after", "before", "result", "source"),
    [
        (STORY + OUTCOME.format("Approve"), STORY, APPROVED, Source.OUTCOME),
        (STORY + OUTCOME.format("Changes Requested"), STORY, CHANGES, Source.OUTCOME),
        (STORY + OUTCOME.format("Blocked"), STORY, CHANGES, Source.OUTCOME),
        (STORY + OUTCOME.format("Approve"), STORY + OUTCOME.format("Changes Requested"), APPROVED, Source.OUTCOME),
        (STORY + OUTCOME.format("Approve"), STORY + OUTCOME.format("Approve"), NONE, Source.NOTHING),
        ("\n" + STORY + OUTCOME.format("Approve"), STORY + OUTCOME.format("Approve"), NONE, Source.NOTHING),
        (STORY + OUTCOME.format("Who knows"), STORY, NONE, Source.NOTHING),
        (STORY + OUTCOME.format("Approve") + FINDING.format("High"), STORY, CHANGES, Source.FINDINGS),
        (STORY + FINDING.format("Medium"), STORY, CHANGES, Source.FINDINGS),
        (STORY + FINDING.format("Low"), STORY, NONE, Source.NOTHING),
        (STORY.replace("review", "done"), STORY, APPROVED, Source.STATUS),
        (STORY.replace("review", "Completed"), STORY, APPROVED, Source.STATUS),
        (STORY.replace("review", "done"), STORY.replace("review", "done"), NONE, Source.NOTHING),
        (STORY.replace("review", "done") + FINDING.format("Patch"), STORY, CHANGES, Source.FINDINGS),
        (STORY.replace("review", "in-progress"), STORY, CHANGES, Source.STATUS),
        (STORY, STORY, NONE, Source.NOTHING),
    ],
)
def test_without_a_review_file_the_story_file_decides(after, before, result, source):
    found = read_verdict(None, story(after), story(before))
    assert (found.result, found.source) == (result, source)


def test_a_second_request_in_a_further_review_is_new():
    once = STORY + OUTCOME.format("Changes Requested")
    twice = once + OUTCOME.format("Changes Requested")
    assert read_verdict(None, story(twice), story(once)).result is CHANGES


@pytest.mark.parametrize(
    "after", [STORY + OUTCOME.format("Changes Requested"), STORY.replace("review", "in-progress")]
)
def test_an_approval_that_the_story_file_contradicts_is_none(after):
    found = read_verdict(review("approved", summary="fine"), story(after), story())
    assert found.result is CHANGES
    assert found.summary.startswith("fine")


def test_an_unknown_word_is_not_rescued_by_a_status_but_a_finding_still_counts():
    assert read_verdict(review("hm"), story(STORY.replace("review", "done")), story()).result is NONE
    assert read_verdict(review("hm"), story(STORY + FINDING.format("Patch")), story()).result is CHANGES


def test_a_request_without_words_is_told_by_its_findings():
    found = read_verdict(review("changes-requested"), story(STORY + FINDING.format("Low")), story())
    assert "Off by one" in found.summary


def test_no_story_file_and_no_review_is_no_verdict():
    assert read_verdict(None, None, story()).result is NONE


def test_a_summary_may_be_a_list_and_is_bounded():
    found = read_verdict(review("changes-requested", summary=["one", {"file": "a"}]), None, None)
    assert found.summary == "- one\n- file: a"
    assert len(read_verdict(review("approved", summary="x" * 9999), None, None).summary) == MAX_SUMMARY


@given(st.binary(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_nothing_breaks_the_reader(raw, after, before):
    read_verdict(raw, read_story(Text("a", after.replace("\0", "").encode("utf-8", "replace"))), None)
    read_verdict(raw, None, read_story(Text("a", before.replace("\0", "").encode("utf-8", "replace"))))


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda c: st.lists(c) | st.dictionaries(st.sampled_from(["reviewResult", "summary", "x"]), c),
    )
)
def test_no_json_approves_but_one_that_says_so(data):
    raw = json.dumps(data).encode()
    assert read_verdict(raw, None, None).result is not APPROVED or b"pprove" in raw or b"pass" in raw
