"""What a delivery takes for its own of a branch that is on the remote already."""

from typing import Any, cast

import pytest

from bmad_autopilot.core.answers import AnswerMeaning
from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.facts import BranchFact
from bmad_autopilot.core.run_record import apply_delivery_answer
from bmad_autopilot.core.transitions import RuleAction
from bmad_autopilot.engine.delivery.branch_actions import AGAIN, start_delivery
from bmad_autopilot.engine.delivery.observe import PATIENCE
from bmad_autopilot.engine.delivery.pull_actions import perform_delivery
from bmad_autopilot.github.forge import PullState, PullSummary, RemoteCheck
from bmad_autopilot.views.run_log import delivery_lines
from tests.engine.delivery.test_pull_actions import READY, Stage, stage
from tests.engine.delivery.worlds import NOW
from tests.support.pull_builders import BASE, BOT, BRANCH, OWNER, add_answer, pull, review


class Dirty(Stage):
    """Somebody works in the tree: its branch cannot be moved."""

    what = "src/it.py"

    def move(self, branch: str, new: str, old: str) -> None:
        raise ConflictError("files have changes that are not committed", found=self.what)


class Shared(Stage):
    """In a checkout that lanes share."""

    owner = ""  # whose work lies there

    def checkout_blocker(self) -> str:
        return self.owner

    def check_out(self, branch: str) -> None:
        return


@pytest.mark.parametrize("action", [RuleAction.MERGE_BASE, RuleAction.PUSH, RuleAction.CHECK_OUT])
def test_where_somebody_works_in_the_tree_the_lane_waits(action: RuleAction) -> None:
    made = Dirty([READY], remote={BRANCH: "h1", BASE: "b2"})
    made.pushed()
    made.run.delivery.pull = READY.number
    if action is not RuleAction.MERGE_BASE:
        made.run.delivery.head = "h2"  # what we have recorded, and died before the branch here was moved
        made.before["h2"] = {"h1", "b1", "b2"}
    assert made.perform(action, "base-moved") == "pending"
    waits = made.run.delivery.current_wait
    assert waits is not None
    assert "the work tree: " in waits["why"]
    assert "src/it.py" in waits["why"]
    assert (waits["until"], made.has_merge_turn()) == (made.now() + AGAIN, True)
    assert made.asked == []


def test_a_work_tree_that_stays_in_the_way_is_asked_about() -> None:
    """What is in the way may change from look to look: it is one wait, and it has a bound."""
    made = Dirty([READY], remote={BRANCH: "h1", BASE: "b2"})
    made.pushed()
    made.run.delivery.pull = READY.number
    made.run.delivery.head = "h2"
    made.before["h2"] = {"h1", "b1", "b2"}
    began = made.now_at
    while made.perform(RuleAction.PUSH) == "pending":
        made.what += " more.py"
        made.now_at += AGAIN
        assert made.now_at <= began + PATIENCE + AGAIN, "it waits for ever"
    assert made.now_at >= began + PATIENCE
    look = made.look()
    rule = decide(look.facts)
    assert (rule.action, rule.question) == (RuleAction.ASK, "work-tree")
    assert "src/it.py" in look.worktree_problem

    apply_delivery_answer(made.run.delivery, AnswerMeaning.OBSERVE, {})  # the answer
    assert made.facts().usable
    assert made.perform(RuleAction.PUSH) == "pending", "it is waited for anew"


def test_another_lanes_work_is_waited_for_as_long_as_it_takes() -> None:
    """That lane asks its own questions."""
    made = Shared([READY], stands_not="another branch is checked out")
    made.pushed()
    made.run.delivery.pull = READY.number
    made.owner = "what epic-2 has not finished lies there: a.py"
    for _ in range(3):
        assert made.perform(RuleAction.CHECK_OUT) == "pending"
        made.now_at += PATIENCE
    made.owner = ""
    assert made.perform(RuleAction.CHECK_OUT) == "pending", "the patience begins only now"


@pytest.mark.parametrize(
    ("remote", "known", "line"), [("h0", {"h0"}, BranchFact.AHEAD), ("theirs", set(), BranchFact.FOREIGN)]
)
def test_what_ours_holds_was_begun_from_and_nothing_else(remote: str, known: set[str], line: BranchFact) -> None:
    made = Stage()
    made.remote = {BRANCH: remote, BASE: "b1"}
    made.before["h1"] = {"b1", "h0"}
    start_delivery(cast(Any, made))
    assert made.run.delivery.known_heads == known
    assert made.facts().line is line


# The merge and what comes after it: nothing of others is deleted, and no queue is filled again and again.

QUEUED = READY._replace(needs_queue=True)
BELOW = PullSummary(9, PullState.OPEN, "feature/epic-2", BRANCH, "e2", "")


class Cleared(Stage):
    """After the merge."""

    marks: tuple[PullSummary, ...] = ()

    def pulls_of(self, prefix: str) -> list[PullSummary]:
        return [mark for mark in self.marks if mark.head_ref.startswith(prefix)]

    def edit_pull(self, number: int, *, base_ref: str) -> None:
        self._did("edit", number, base_ref)

    def delete_branch(self, ref: str, head: str) -> None:
        self._did("delete", ref, head)

    def delete_merged(self, branch: str, base: str) -> None:
        self._did("forget", branch)

    def enqueue(self, found: Any) -> None:
        self._did("enqueue", found.number)


def cleared(remote: str) -> Cleared:
    made = Cleared([pull(state=PullState.MERGED, merged_as="m1", merged_at=NOW - 5)])
    made.pushed()
    made.run.delivery.pull = 7
    made.remote = {BRANCH: remote, "main": "m1"}
    made.perform(RuleAction.DELETE_BRANCH)
    assert made.run.delivery.is_done("clear-branch")
    return made


def test_the_branch_that_was_merged_is_deleted() -> None:
    assert ("delete", BRANCH, "h1") in cleared("h1").asked


def test_what_somebody_pushed_to_it_after_the_merge_is_in_no_other_branch_and_stays() -> None:
    assert cleared("theirs").asked == [("forget", BRANCH)]


def test_one_that_is_gone_already_is_not_asked_for() -> None:
    assert cleared("").asked == [("forget", BRANCH)]


def test_what_stands_on_it_goes_to_the_base_first_whosever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = BELOW._replace(number=10, head_ref="patch-1", is_from_fork=True)
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
    made.perform(RuleAction.MERGE)
    assert made.asked == [("enqueue", 7)]
    made.now_at += 3600.0  # taken out of it meanwhile: nobody says why
    assert made.facts().merge.value == "refused"
    add_answer(made.run, "merge-refused", "h1:b1", "try-merge")
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
    perform_delivery(cast(Any, made), look, decide(look.facts))
    assert made.asked == []
    made.remote["main"] = "b1"
    perform_delivery(cast(Any, made), look, decide(look.facts))
    assert [one[0] for one in made.asked] == ["merge"]
