"""What a run has done and heard on its epic's way to the base branch, folded from its journal."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.run_record import DELIVERY_HANDLERS, CallRecord, CheckRecord, DeliveryRecord, RunRecord

Entry = tuple[str, dict[str, Any]]

ROUND = "epic-1.pr-1"
BEGUN: Entry = ("delivering", {"head": "h1", "branch": "feature/epic-1", "known": []})
PUSH: Entry = ("effect", {"do": "push", "key": "h1", "content": True})
PUSHED: Entry = ("did", {"do": "push", "key": "h1", "content": True})
POINTS = [
    {"name": "T1", "thread": "one", "heard": ["m1"], "text": "rename it"},
    {"name": "T2", "thread": "two", "heard": ["m2", "m3"], "text": "test it"},
]
OPENED: Entry = ("pull-round", {"story": ROUND, "why": "points", "points": POINTS, "logs": []})
STORY: Entry = ("story", {"story": ROUND, "status": "", "baseline": "h1", "tree": "t1", "code": "c1"})
STEP: Entry = ("step", {"story": ROUND, "number": 9, "step": "fix-issues"})
CALL: Entry = ("call", {"story": ROUND, "number": 9, "attempt": 1})


def run_of(*entries: Entry) -> RunRecord:
    return fold((kind, data, float(index)) for index, (kind, data) in enumerate(entries, 100))


def delivery(*entries: Entry) -> DeliveryRecord:
    return run_of(*entries).delivery


def answered(means: str, *before: Entry) -> DeliveryRecord:
    asked: Entry = ("asked", {"story": "epic-1", "question": "q1"})
    return delivery(*before, asked, ("answered", {"means": means}))


def said(finding: str, answers: object) -> DeliveryRecord:
    ended: Entry = ("ended", {"story": ROUND, "number": 9, "finding": finding, "row": "", "said": answers})
    return delivery(BEGUN, OPENED, STORY, STEP, CALL, ended)


def test_without_any_entry_nothing_has_begun() -> None:
    record = delivery()
    assert not any(vars(record).values())
    assert not record.is_done("push")


def test_a_delivery_begins_once_and_knows_what_it_takes_along() -> None:
    record = delivery(BEGUN, ("delivering", {"head": "h2", "pull": 7, "known": ["h1", "h2"]}))
    assert (record.started_at, record.head, record.pull, record.has_new_content) == (100.0, "h2", 7, True)
    assert record.known_heads == {"h1", "h2"}
    assert delivery(BEGUN, ("delivering", {"head": "h2", "pull": 7, "known": []}), BEGUN).pull == 7


def test_an_effect_is_begun_until_it_is_known_to_be_done() -> None:
    record = delivery(BEGUN, PUSH)
    assert record.started_effects["push:h1"]["at"] == 101.0
    assert (record.pushed, record.is_done("push", "h1")) == ("", False)
    record = delivery(BEGUN, PUSH, PUSHED)
    assert record.started_effects == {}
    assert record.completed_effects["push:h1"] == {"do": "push", "key": "h1", "content": True, "at": 102.0}
    assert record.is_done("push", "h1")
    assert not record.is_done("push")


def test_a_lost_answer_leaves_the_effect_begun() -> None:
    record = delivery(BEGUN, PUSH, ("trouble", {"do": "push", "key": "h1", "why": "no answer"}))
    assert list(record.started_effects) == ["push:h1"]
    assert (record.completed_effects, record.refused_effects) == ({}, {})


def test_lost_answers_are_counted_until_one_comes() -> None:
    lost: Entry = ("trouble", {"do": "push", "key": "h1", "why": "no answer"})
    assert delivery(BEGUN, PUSH, lost, PUSH, lost).failed_effects == {"push:h1": {"times": 2, "why": "no answer"}}
    assert delivery(BEGUN, PUSH, lost, PUSH, PUSHED).failed_effects == {}
    assert answered("look", BEGUN, PUSH, lost).failed_effects == {}


def test_a_lost_race_is_known_by_its_time_and_leaves_nothing_to_look_for() -> None:
    late: Entry = ("trouble", {"do": "push", "key": "h1", "why": "it moved", "raced": True})
    record = delivery(BEGUN, PUSH, late)
    (trouble,) = record.failed_effects.values()
    assert (trouble["times"], trouble["why"], type(trouble["raced"])) == (1, "it moved", float)
    assert record.started_effects == {}


def test_what_we_push_is_ours_and_brings_the_content() -> None:
    record = delivery(BEGUN, PUSH, PUSHED)
    assert (record.pushed, record.pushed_at, record.has_new_content, record.known_heads) == (
        "h1",
        102.0,
        False,
        {"h1"},
    )


def test_what_is_pushed_back_brings_what_it_brought_before() -> None:
    """Else it would pass for a head that differs from an older one by the base alone."""
    record = delivery(BEGUN, PUSH, PUSHED, ("did", {"do": "push", "key": "h1", "content": False}))
    assert record.completed_effects["push:h1"] == {"do": "push", "key": "h1", "content": True, "at": 103.0}
    assert record.pushed_at == 103.0


def test_a_pull_request_is_known_by_its_number() -> None:
    opened: Entry = ("did", {"do": "open-pull", "key": "feature/epic-1", "number": 12})
    assert delivery(BEGUN, opened).pull == 12


def test_a_refused_effect_is_not_done_and_says_why() -> None:
    record = delivery(BEGUN, PUSH, ("did", {"do": "push", "key": "h1", "failed": True, "why": "protected"}))
    assert record.refused_effects == {"push:h1": "protected"}
    assert (record.started_effects, record.completed_effects, record.pushed) == ({}, {}, "")


def test_a_merge_that_was_refused_is_asked_about_as_such_also_after_a_crash() -> None:
    refused: Entry = ("did", {"do": "merge", "key": "h1", "failed": True, "why": "a rule"})
    noted: Entry = ("did", {"do": "merge-refused", "key": "h1:b1", "why": "a rule"})
    record = delivery(BEGUN, refused, noted)
    assert record.refused_effects == {}
    assert record.completed_effects["merge-refused:h1:b1"]["why"] == "a rule"


def test_a_merge_that_others_made_impossible_is_noted_though_none_was_tried() -> None:
    record = delivery(BEGUN, ("did", {"do": "merge-refused", "key": "h1:b1", "why": "a rule"}), PUSHED)
    assert record.is_done("merge-refused", "h1:b1")
    assert record.pushed == "h1"


def test_what_is_done_once_has_no_key_of_its_own() -> None:
    assert delivery(BEGUN, ("did", {"do": "label", "key": ""})).is_done("label")


def test_a_round_of_a_conflict_knows_what_it_is_with_and_one_of_checks_what_they_printed() -> None:
    log = {"title": "The check test:", "text": "boom"}
    told = {"story": ROUND, "why": "conflict", "points": [], "logs": [log], "base": "b2"}
    (opened,) = delivery(BEGUN, ("pull-round", told)).rounds
    assert (opened.logs, opened.base) == ([log], "b2")
    (opened,) = delivery(BEGUN, OPENED).rounds
    assert (opened.logs, opened.base) == ([], "")


def test_checks_are_green_from_a_moment_on_for_one_head_and_their_number() -> None:
    record = delivery(BEGUN, ("green", {"key": "h1:3"}))
    assert (record.green_key, record.green_at) == ("h1:3", 101.0)


def test_a_round_is_opened_once() -> None:
    record = delivery(BEGUN, OPENED, OPENED)
    assert [one.story for one in record.rounds] == [ROUND]
    found = record.round_of(ROUND)
    assert found is not None
    assert (found.why, [one["thread"] for one in found.points]) == ("points", ["one", "two"])
    assert record.round_of("1-2-sign-in") is None


def test_the_base_taken_in_is_no_content_of_ours() -> None:
    record = delivery(BEGUN, PUSH, PUSHED, ("base-taken", {"sha": "h2", "base": "b2"}))
    assert (record.head, record.has_new_content, record.base_merges) == ("h2", False, 1)


def test_what_others_pushed_is_content_and_known_from_then_on() -> None:
    record = delivery(BEGUN, PUSH, PUSHED, ("foreign-taken", {"sha": "h2", "remote": "f1", "heard": 2}))
    assert (record.head, record.has_new_content, record.answers_seen) == ("h2", True, 2)
    assert record.known_heads == {"h1", "f1"}
    assert record.pushed == "f1"  # from there we go on


def test_a_rounds_commit_is_the_new_head_and_a_storys_is_not() -> None:
    commit: Entry = ("commit", {"story": ROUND, "label": "done", "sha": "h2"})
    record = delivery(BEGUN, PUSH, PUSHED, OPENED, STORY, commit)
    assert (record.head, record.has_new_content) == ("h2", True)
    other: Entry = ("commit", {"story": "1-2-sign-in", "label": "done", "sha": "h9"})
    assert delivery(BEGUN, OPENED, other).head == "h1"


def test_a_merge_and_its_proof() -> None:
    record = delivery(BEGUN, ("merged", {"sha": "m1", "proof": "differs"}))
    assert (record.merged, record.proof) == ("m1", "differs")


def test_a_wait_for_the_same_thing_goes_on_from_when_it_began() -> None:
    waits: Entry = ("pending", {"why": "an approval", "until": 500.0})
    first = delivery(BEGUN, waits, waits).current_wait
    assert first is not None
    assert (first["since"], first["until"]) == (101.0, 500.0)
    later = delivery(BEGUN, waits, ("pending", {"why": "an approval", "until": 900.0})).current_wait
    assert later == {"why": "an approval", "until": 900.0, "since": 101.0}
    other = delivery(BEGUN, waits, ("pending", {"why": "its checks"})).current_wait
    assert other is not None
    assert other["since"] == 102.0


def test_what_an_agent_said_counts_once_its_call_was_good() -> None:
    answers = {"T1": {"answer": "fixed", "why": "done"}, "T9": {"answer": "fixed", "why": "no such point"}}
    record = said("good", answers)
    told = {"heard": ["m1"], "since": ""}
    assert record.answers == {"one": {"answer": "fixed", "why": "done", "story": ROUND, **told}}
    assert said("lacking", answers).answers == {}
    assert said("failed", answers).answers == {}


def test_a_later_round_has_the_last_word_about_a_thread() -> None:
    entries: list[Entry] = []
    for number, word in ((1, "disagrees"), (2, "fixed")):
        key = f"epic-1.pr-{number}"
        entries += [
            ("pull-round", {"story": key, "why": "points", "points": POINTS[:1], "logs": []}),
            ("story", {"story": key, "status": "", "baseline": "h", "tree": "t", "code": "c"}),
            ("step", {"story": key, "number": number, "step": "fix-issues"}),
            ("call", {"story": key, "number": number, "attempt": 1}),
            (
                "ended",
                {
                    "story": key,
                    "number": number,
                    "finding": "good",
                    "row": "",
                    "said": {"T1": {"answer": word, "why": "so"}},
                },
            ),
        ]
    assert delivery(BEGUN, *entries).answers["one"]["answer"] == "fixed"
    assert delivery(BEGUN, *entries).answers["one"]["story"] == "epic-1.pr-2"


def test_more_rounds_are_counted_from_the_answer_on() -> None:
    assert answered("more-pull-rounds", BEGUN, OPENED).rounds_counted_from == 1
    assert answered("look", BEGUN, OPENED).rounds_counted_from == 0


def test_more_of_the_base_may_be_allowed() -> None:
    taken: Entry = ("base-taken", {"sha": "h2", "base": "b2"})
    assert answered("more-bases", BEGUN, taken, taken).base_merges == 0
    assert answered("look", BEGUN, taken, taken).base_merges == 2


def test_a_person_may_accept_what_was_merged() -> None:
    merged: Entry = ("merged", {"sha": "m1", "proof": "differs"})
    assert answered("merged-fine", BEGUN, merged).proof == "accepted"
    assert answered("look", BEGUN, merged).proof == "differs"


@pytest.mark.parametrize("means", ["look", "reopen", "more-pull-rounds", "of a newer version"])
def test_after_any_answer_what_was_refused_is_tried_again(means: str) -> None:
    refused: Entry = ("did", {"do": "push", "key": "h1", "failed": True, "why": "protected"})
    record = answered(means, BEGUN, refused, ("pending", {"why": "an approval"}))
    assert (record.refused_effects, record.current_wait) == ({}, None)


def test_an_answer_undoes_nothing_that_was_done() -> None:
    record = answered("look", BEGUN, PUSH, PUSHED)
    assert record.is_done("push", "h1")
    assert record.pushed == "h1"


@pytest.mark.parametrize("answers", [["T1"], "T1", 7, {"T1": "fixed"}, {"T1": 3}, {"T1": None}])
def test_answers_of_another_shape_are_no_answers(answers: object) -> None:
    assert said("good", answers).answers == {}


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = "head pull known do key failed why number story points logs sha remote proof since until said".split()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*DELIVERY_HANDLERS, "ended", "a newer kind"]),
            st.dictionaries(st.sampled_from(NAMES), anything),
        )
    )
)
def test_torn_and_unknown_entries_are_passed_over(entries: list[Entry]) -> None:
    whole = [BEGUN, PUSH, PUSHED]
    record = delivery(*entries, *whole)
    assert (record.head, record.pushed) == ("h1", "h1")
    assert delivery(*whole, ("a newer kind", {})) == delivery(*whole)


def test_an_answer_keeps_the_moment_its_point_was_raised() -> None:
    points = [{**POINTS[0], "since": "c1"}]
    opened: Entry = ("pull-round", {"story": ROUND, "why": "points", "points": points, "logs": []})
    answers = {"T1": {"answer": "fixed", "why": "done"}}
    ended: Entry = ("ended", {"story": ROUND, "number": 9, "finding": "good", "row": "", "said": answers})
    run = run_of(BEGUN, opened, STORY, STEP, CALL, ended)
    assert run.delivery.answers["one"]["since"] == "c1"


def test_checks_have_moved_head_only_where_both_sides_are_known() -> None:
    assert CheckRecord("c", True, head_before="a", head="b").moved_head
    for before, after in (("a", "a"), ("", "b"), ("a", "")):
        assert not CheckRecord("c", True, head_before=before, head=after).moved_head


def test_a_call_names_no_agent_of_its_own() -> None:
    assert CallRecord(1).agent == ""
