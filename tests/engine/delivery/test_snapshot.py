"""What is seen of an effect that nobody wrote down, or that the forge does not show yet."""

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import BranchFact, CiFact, ForgeFact, PullFact, RequestedReviewFact
from bmad_autopilot.engine.delivery.questions import question_key
from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.github.forge import COPILOT, CheckState, PullState, RemoteCheck
from tests.engine.delivery.worlds import BEGAN, NOW, World, world
from tests.support.pull_builders import BRANCH, add_done_effect, pull

BEFORE = "feature/epic-0"


def test_a_push_that_nobody_wrote_down_is_written_down_first() -> None:
    """Else what was said of the head before would count for this one."""
    made = world(pull(head="h2"))
    made.run.delivery.head = made.remote[BRANCH] = made.local[BRANCH] = "h2"
    made.before["h2"] = {"h1", "b1"}
    assert made.facts().line is BranchFact.AHEAD
    made.pushed("h2")
    assert made.facts().line is BranchFact.IN_SYNC


def test_a_merge_of_ours_that_is_not_shown_yet_is_waited_for() -> None:
    """The base holds it already: it would be taken in, and pushed to a branch that is over."""
    made = world(pull())
    add_done_effect(made.run, "merge", "h1", at=NOW - 1, sha="m1")
    look = made.look()
    assert (look.facts.forge, look.until) == (ForgeFact.UNAVAILABLE, NOW + 2)
    made.now_at = NOW + 100
    assert made.facts().forge is ForgeFact.FINE


def test_a_place_in_the_queue_that_is_not_shown_yet_is_waited_for() -> None:
    made = world(pull())
    add_done_effect(made.run, "enqueue", "h1", at=NOW - 1)
    assert made.facts().forge is ForgeFact.UNAVAILABLE
    made.pulls = [pull(is_queued=True)]
    assert made.facts().forge is ForgeFact.FINE


def merged_into_the_one_before(state: PullState) -> World:
    below = pull(number=6, head_ref=BEFORE, head="e0", state=state)
    made = world(pull(base_ref=BEFORE), below, plan=DeliveryPlan(onto=BEFORE))
    made.pulls[0] = pull(base_ref=BEFORE, state=PullState.MERGED, merged_as="m1", merged_at=BEGAN)
    made.remote[BEFORE] = "e0"
    made.before["e0"] = {"m1"}
    return made


def test_merged_into_the_branch_that_it_stands_on_is_not_merged_yet() -> None:
    look = merged_into_the_one_before(PullState.OPEN).look()
    assert (look.facts.forge, look.until) == (ForgeFact.UNAVAILABLE, NOW + 600)


def test_it_is_once_that_is_merged() -> None:
    made = merged_into_the_one_before(PullState.MERGED)
    assert made.facts().pull is PullFact.MERGED


def test_a_review_that_was_asked_for_is_not_asked_for_again() -> None:
    made = world(pull(requested=(COPILOT,)))
    assert made.facts().review is RequestedReviewFact.DUE  # somebody else's asking is not ours
    made.run.delivery.started_effects["request-review:h1"] = {"do": "request-review", "key": "h1", "at": NOW - 100}
    assert made.facts().review is RequestedReviewFact.PENDING
    made.pulls = [pull()]
    assert made.facts().review is RequestedReviewFact.DUE  # it has not come through


def test_what_was_started_again_is_not_started_once_more() -> None:
    failed = RemoteCheck("test", CheckState.FAILED, job=4, run=1)
    made = world(pull(checks=(failed,)))
    made.run.delivery.started_effects["rerun:h1"] = {"do": "rerun", "key": "h1", "at": NOW - 100, "jobs": [4]}
    assert made.facts().ci is CiFact.PENDING, "it may not be seen yet"
    made.now_at = NOW + 20
    assert made.facts().ci is CiFact.FLAKY
    made.pulls = [pull(checks=(failed._replace(job=5),))]
    assert made.facts().ci is CiFact.RED


def test_checks_appear_after_the_pull_request_and_not_after_the_push() -> None:
    made = world(pull(created=NOW - 10))
    assert made.facts().ci is CiFact.PENDING  # its push was long ago
    made.pulls = [pull(created=NOW - 200)]
    assert made.facts().ci is CiFact.NONE
    add_done_effect(made.run, "reopen", "1", at=NOW - 10)
    assert made.facts().ci is CiFact.PENDING


def test_a_branch_that_was_deleted_is_pushed_back_before_its_pull_request_is_opened_again() -> None:
    made = world(pull())
    made.pulls = [pull(state=PullState.CLOSED)]
    made.run.answers.append({"code": "closed", "key": "7", "means": "reopen"})
    made.remote[BRANCH] = ""
    assert decide(made.facts()).name == "unpushed"
    made.remote[BRANCH] = "h1"
    assert decide(made.facts()).name == "pull-wanted"


def test_one_that_was_closed_before_we_could_write_down_its_number_is_not_opened_anew() -> None:
    made = world(pull(state=PullState.CLOSED))
    assert made.facts().pull is PullFact.NONE  # of somebody before us
    made.run.delivery.started_effects[f"open-pull:{BRANCH}"] = {"do": "open-pull", "key": BRANCH, "at": BEGAN}
    look = made.look()
    assert (look.facts.pull, question_key("closed", look, made.run)) == (PullFact.CLOSED, "7")


def test_an_epic_whose_ground_was_given_up_is_a_persons() -> None:
    """Closed, and its branch deleted: nothing comes of waiting."""
    below = pull(number=6, head_ref=BEFORE, head="e0")
    made = world(pull(base_ref=BEFORE), below, plan=DeliveryPlan(onto=BEFORE))
    assert made.facts().forge is ForgeFact.UNAVAILABLE  # perhaps merged, and not shown yet
    made.pulls[1] = below._replace(state=PullState.CLOSED)
    assert made.facts().forge is ForgeFact.REFUSED
