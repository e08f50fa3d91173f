"""The merge and what comes after it: nothing of others is deleted, and no queue is filled again and again."""

from typing import Any, cast

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.rules import Action
from bmad_autopilot.engine.delivery.performing import PERFORMERS
from bmad_autopilot.github.pulls import PullMark, PullState, RemoteCheck
from bmad_autopilot.views.delivery_log import delivery_lines
from tests.engine.delivery.pulls import BOT, BRANCH, OWNER, answered, pull, review
from tests.engine.delivery.test_performing import READY, Stage, stage
from tests.engine.delivery.worlds import NOW

QUEUED = READY._replace(needs_queue=True)
BELOW = PullMark(9, PullState.OPEN, "feature/epic-2", BRANCH, "e2", "")


class Cleared(Stage):
    """After the merge."""

    marks: tuple[PullMark, ...] = ()

    def pulls_of(self, prefix: str) -> list[PullMark]:
        return [mark for mark in self.marks if mark.head_ref.startswith(prefix)]

    def edit_pull(self, number: int, *, base_ref: str) -> None:
        self._did("edit", number, base_ref)

    def delete_branch(self, ref: str, head: str) -> None:
        self._did("delete", ref, head)

    def forget(self, branch: str, base: str) -> None:
        self._did("forget", branch)

    def enqueue(self, found: Any) -> None:
        self._did("enqueue", found.number)


def cleared(remote: str) -> Cleared:
    made = Cleared([pull(state=PullState.MERGED, merged_as="m1", merged_at=NOW - 5)])
    made.pushed()
    made.run.delivery.pull = 7
    made.remote = {BRANCH: remote, "main": "m1"}
    made.perform(Action.CLEAR_BRANCH)
    assert made.run.delivery.is_done("clear-branch")
    return made


def test_the_branch_that_was_merged_is_deleted() -> None:
    assert ("delete", BRANCH, "h1") in cleared("h1").asked


def test_what_somebody_pushed_to_it_after_the_merge_is_in_no_other_branch_and_stays() -> None:
    assert cleared("theirs").asked == [("forget", BRANCH)]


def test_one_that_is_gone_already_is_not_asked_for() -> None:
    assert cleared("").asked == [("forget", BRANCH)]


def test_what_stands_on_it_goes_to_the_base_first_whosever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = BELOW._replace(number=10, head_ref="patch-1", is_foreign=True)
    hers = BELOW._replace(number=11, head_ref="marias-idea")
    other = BELOW._replace(number=12, base_ref="main")
    monkeypatch.setattr(Cleared, "marks", (BELOW, fork, hers, other))
    made = cleared("h1")
    moved = [("edit", number, "main") for number in (9, 10, 11)]
    assert made.asked[:4] == [*moved, ("delete", BRANCH, "h1")]
    lines = delivery_lines("did", made.notes[-1][1], NOW) or []
    assert [(line.word, line.text) for line in lines] == [
        ("moved", "#9, #10, #11 to main, which stood on its branch")
    ]


def test_what_the_queue_puts_out_again_is_asked_about_and_not_put_in_for_ever() -> None:
    made = Cleared([QUEUED])
    made.pushed()
    made.run.delivery.pull = 7
    assert made.facts().merge.value == "free"
    made.perform(Action.MERGE)
    assert made.asked == [("enqueue", 7)]
    made.now_at += 3600.0  # taken out of it meanwhile: nobody says why
    assert made.facts().merge.value == "refused"
    answered(made.run, "merge-refused", "h1:b1", "try-merge")
    assert made.facts().merge.value == "free"


@pytest.mark.parametrize("decision", ["REVIEW_REQUIRED", "CHANGES_REQUESTED"])
def test_a_rule_of_the_branch_about_reviews_holds_for_us_too(decision: str) -> None:
    """GitHub lets an administrator's login merge over it."""
    reviews = (review(BOT, READY.reviews[0].state), review(OWNER, READY.reviews[1].state))
    checks: tuple[RemoteCheck, ...] = READY.checks
    made = stage(pull(checks=checks, reviews=reviews, decision=decision))
    assert made.facts().merge.value == "unapproved"


def test_a_base_that_has_moved_since_the_look_is_looked_at_again_before_the_merge() -> None:
    made = Cleared([READY])
    made.pushed()
    made.run.delivery.pull = 7
    look = made.look()
    made.remote["main"] = "b2"
    PERFORMERS[Action.MERGE](cast(Any, made), look, decide(look.facts))
    assert made.asked == []
    made.remote["main"] = "b1"
    PERFORMERS[Action.MERGE](cast(Any, made), look, decide(look.facts))
    assert [one[0] for one in made.asked] == ["merge"]
