"""An epic that stands on another: never past it, and never waiting for it without an end."""

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.facts import ForgeFact, MergeFact
from bmad_autopilot.engine.delivery.questions import pull_question, question_key
from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.github.forge import Pull, PullState
from tests.engine.delivery.test_observe import ready
from tests.engine.delivery.worlds import NOW, World, world
from tests.support.pull_builders import BASE, BRANCH, STRANGER, add_answer, add_done_effect, comment, pull, thread

BEFORE = "feature/epic-0"
DAYS = 86400.0


def below(state: PullState, number: int = 6, **more: object) -> Pull:
    return pull(number=number, head_ref=BEFORE, head="e0", labels=(), state=state, **more)


def stacked(*before: Pull, base_ref: str = BEFORE) -> World:
    made = world(ready(base_ref=base_ref), *before, plan=DeliveryPlan(onto=BEFORE, labels=("epic",)))
    made.remote[BEFORE] = "e0"
    return made


def test_a_branch_of_that_name_that_was_merged_in_other_times_is_not_the_one_below() -> None:
    """Else the epic before it would come to the base without a review of its own."""
    old = below(PullState.MERGED, number=3, merged_as="b0")
    made = stacked(below(PullState.OPEN), old, base_ref=BASE)
    assert decide(made.facts()).name == "stacked"
    made = stacked(below(PullState.OPEN), old)
    assert decide(made.facts()).name == "by-hand"


def test_a_forks_branch_of_that_name_is_not_the_one_below_either() -> None:
    foreign = below(PullState.MERGED, number=3, merged_as="b0", is_from_fork=True)
    assert decide(stacked(foreign, base_ref=BASE).facts()).name == "stacked"


def test_one_below_that_has_no_pull_request_yet_is_not_passed_by() -> None:
    assert decide(stacked(base_ref=BASE).facts()).name == "stacked"


def test_one_below_that_is_nowhere_on_the_remote_is_a_persons() -> None:
    made = stacked()
    made.remote[BEFORE] = ""
    look = made.look()
    assert (look.facts.forge, BEFORE in look.worktree_problem) == (ForgeFact.REFUSED, True)


def test_a_branch_that_was_deleted_after_its_merge_may_be_seen_before_the_merge_is() -> None:
    made = stacked(below(PullState.OPEN))
    made.remote[BEFORE] = ""
    assert made.facts().forge is ForgeFact.UNAVAILABLE


def test_without_a_base_nothing_is_merged() -> None:
    made = world(ready())
    made.remote[BASE] = ""
    look = made.look()
    assert (look.facts.forge, BASE in look.worktree_problem) == (ForgeFact.REFUSED, True)


@pytest.mark.parametrize(
    ("state", "fact"), [(PullState.OPEN, MergeFact.MANUAL), (PullState.CLOSED, MergeFact.OVERDUE)]
)
def test_one_below_that_was_closed_is_asked_about_in_the_end(state: PullState, fact: MergeFact) -> None:
    made = stacked(below(state))
    assert made.facts().merge is MergeFact.MANUAL
    made.now_at = NOW + 10 * DAYS
    assert made.facts().merge is fact
    asked = pull_question("approval-late", made.look(), made.run)
    assert f"it stands on {BEFORE}" in asked.context


def test_a_thread_that_nobody_closes_is_asked_about_in_the_end() -> None:
    made = world(ready(threads=(thread(comment(STRANGER)),)))
    assert decide(made.facts()).name == "threads-strange"
    made.now_at = NOW + 10 * DAYS
    assert decide(made.facts()).name == "approval-late"
    assert "review threads are open" in pull_question("approval-late", made.look(), made.run).context


def test_what_was_merged_into_another_branch_and_stays_there_is_asked_about_in_the_end() -> None:
    made = world(ready())
    made.pulls = [ready(state=PullState.MERGED, base_ref="release", merged_as="r1", merged_at=NOW)]
    assert made.facts().forge is ForgeFact.UNAVAILABLE
    made.now_at = NOW + 10 * DAYS
    look = made.look()
    assert (look.facts.forge, look.worktree_problem) == (
        ForgeFact.REFUSED,
        "main does not hold what was merged into release",
    )
    made.run.answers.append({"code": "forge", "key": "h1", "means": "look", "at": made.now_at})
    assert made.facts().forge is ForgeFact.UNAVAILABLE


def test_where_the_last_commit_below_never_came_here_what_is_known_of_it_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = stacked(below(PullState.MERGED, merged_as="b2"))
    made.local[BEFORE] = "e9"
    monkeypatch.setattr(made, "fork_point", lambda one, other: "" if other == "e0" else f"{one} and {other}")
    look = made.seen()
    assert look.snapshot.parent_fork == "h1 and e9"


def test_what_git_cannot_tell_is_a_persons_and_other_epics_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base may have been begun anew: without a commit in common nothing can be taken in."""

    def no(*arguments: object) -> None:
        raise ConflictError("no commit in common")

    made = world(ready())
    made.remote[BASE] = "b2"
    monkeypatch.setattr(made, "merge_commits", no)
    look = made.look()
    assert (look.facts.forge, look.worktree_problem) == (ForgeFact.REFUSED, "no commit in common")


# somebody sets it to another base


def opened(made: World, base: str = BASE) -> World:
    add_done_effect(made.run, "open-pull", BRANCH, 900.0, number=7, base=base)
    return made


def test_what_a_person_sets_to_another_base_is_asked_about_and_set_back_once_for_each_answer() -> None:
    made = opened(world(ready(base_ref="release")))
    look = made.look()
    assert decide(look.facts).name == "pull-retargeted"
    asked = pull_question("retargeted", look, made.run)
    assert "from main to release" in asked.text
    assert asked.options == ("retry", "abort")
    add_answer(made.run, "retargeted", question_key("retargeted", look, made.run), "retarget", at=NOW - 100.0)
    assert decide(made.facts()).name == "stacked"
    add_done_effect(made.run, "retarget", BASE, NOW - 90.0, base=BASE)
    assert decide(made.facts()).name == "pull-retargeted", "they have done it again"


def test_one_that_stands_on_another_is_not_taken_from_it_unasked() -> None:
    made = opened(stacked(below(PullState.OPEN), base_ref=BASE), BEFORE)
    assert decide(made.facts()).name == "pull-retargeted"


def test_what_we_set_last_is_moved_by_ourselves() -> None:
    assert decide(opened(stacked(below(PullState.MERGED, merged_as="b1")), BEFORE).facts()).name == "stacked"


def test_what_we_have_just_set_may_not_be_seen_yet() -> None:
    made = opened(stacked(below(PullState.MERGED, merged_as="b1")), BEFORE)
    add_done_effect(made.run, "retarget", BASE, NOW - 5.0, base=BASE)
    assert (made.facts().forge, made.look().until) == (ForgeFact.UNAVAILABLE, NOW + 2)
    made.now_at = NOW + 600.0
    assert decide(made.facts()).name == "pull-retargeted", "somebody has set it back"


def test_a_pull_request_that_others_made_for_another_base_is_not_taken_to_ours_unasked() -> None:
    assert decide(world(ready(base_ref="release")).facts()).name == "pull-retargeted"
