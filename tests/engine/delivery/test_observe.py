"""How things stand with an epic on its way: each fact, from a forge and branches that stand as the test says."""

from typing import Any

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import (
    BaseFact,
    BranchFact,
    CiFact,
    DeliveryFact,
    Facts,
    ForgeFact,
    GateFact,
    MergeFact,
    ProofFact,
    PullFact,
    QuestionFact,
    RequestedReviewFact,
    ThreadsFact,
)
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.core.journal_fold import apply_entry
from bmad_autopilot.core.run_record import CheckRecord, PullRound, StoryRecord
from bmad_autopilot.core.transitions import DELIVERY_RULES, PullWait, RuleAction
from bmad_autopilot.engine.delivery.branch_port import BranchMerge
from bmad_autopilot.engine.delivery.observe import MAX_BASES
from bmad_autopilot.engine.delivery.pull_facts import RERUN_SHOWS
from bmad_autopilot.engine.delivery.questions import pull_question, question_key
from bmad_autopilot.engine.delivery.rounds import answer_count
from bmad_autopilot.engine.delivery.snapshot import LAG
from bmad_autopilot.engine.delivery.text import WAIT_REASONS, describe_wait, prompt_points
from bmad_autopilot.engine.delivery.threads import DISAGREES, FIXED, reply_key
from bmad_autopilot.engine.lane import DeliveryPlan
from bmad_autopilot.github.approval import MOST_FILES, ROBOT
from bmad_autopilot.github.auto_approve import WORKFLOW_PATH
from bmad_autopilot.github.forge import CheckState, ForgeActor, Pull, PullState, RemoteCheck, ReviewState
from tests.engine.delivery.worlds import BEGAN, NOW, PLAN, World, world
from tests.support.pull_builders import (
    BASE,
    BOT,
    BRANCH,
    OWNER,
    STRANGER,
    add_answer,
    add_done_effect,
    add_thread_answer,
    comment,
    pull,
    review,
    thread,
)

GREEN = RemoteCheck("test", CheckState.PASSED, job=1, run=1)
REVIEWED = review(BOT, ReviewState.COMMENTED)
APPROVED = review(OWNER, ReviewState.APPROVED, at=2.0)


def check(state: CheckState, **more: Any) -> RemoteCheck:
    return RemoteCheck("test", state, **more)


def ready(**more: Any) -> Pull:
    return pull(**{"checks": (GREEN,), "reviews": (REVIEWED, APPROVED), **more})


def rule(made: World) -> str:
    return decide(made.facts()).name


def test_green_reviewed_approved_and_answered_is_merged() -> None:
    made = world(ready())
    assert rule(made) == "merge"
    assert made.facts().delivery is DeliveryFact.ON


@pytest.mark.parametrize("facts", [Facts(stop=True), Facts(pause=True), Facts(question=QuestionFact.OPEN)])
def test_nobody_looks_at_the_forge_where_it_does_not_matter(facts: Facts) -> None:
    made = world(error=ForgeError(ForgeErrorKind.UNRECOGNIZED, "never asked"))
    assert made.look(facts).facts.forge is ForgeFact.FINE


# the forge


@pytest.mark.parametrize("trouble", list(ForgeErrorKind))
def test_a_forge_that_cannot_be_asked(trouble: ForgeErrorKind) -> None:
    made = world(ready(), error=ForgeError(trouble, "no such luck", until=NOW + 700))
    look = made.look()
    passes = trouble in (ForgeErrorKind.UNAVAILABLE, ForgeErrorKind.LIMIT, ForgeErrorKind.LOGIN)
    assert look.facts.forge is (ForgeFact.UNAVAILABLE if passes else ForgeFact.REFUSED)
    assert "no such luck" in look.worktree_problem
    assert not passes or look.until == NOW + 700
    assert (look.problem is made.error) is (trouble is ForgeErrorKind.LOGIN)


def test_where_nothing_is_said_it_is_tried_again_in_a_minute() -> None:
    assert world(ready(), error=ForgeError(ForgeErrorKind.UNAVAILABLE, "x")).look().until == NOW + 60


def test_an_effect_without_an_answer_is_given_time_to_be_seen() -> None:
    made = world(ready())
    made.run.delivery.started_effects["merge:h1"] = {"do": "merge", "key": "h1", "at": NOW - 4}
    look = made.look()
    assert (look.facts.forge, look.until) == (ForgeFact.UNAVAILABLE, NOW + 6)
    made.now_at = NOW + 6
    assert made.facts().forge is ForgeFact.FINE


def test_an_effect_that_gets_no_answer_is_tried_at_longer_intervals_and_then_asked_about() -> None:
    made = world(ready())
    record = made.run.delivery
    record.started_effects["merge:h1"] = {"do": "merge", "key": "h1", "at": NOW}
    record.failed_effects["merge:h1"] = {"times": 3, "why": "502"}
    assert made.look().until == NOW + 40
    record.failed_effects["merge:h1"] = {"times": 9, "why": "502"}
    assert made.look().until == NOW + 640
    record.failed_effects["merge:h1"] = {"times": 10, "why": "502"}
    made.now_at = NOW + 640
    look = made.look()
    assert (look.facts.forge, look.worktree_problem) == (ForgeFact.REFUSED, "502")


def test_a_push_that_the_forge_has_not_seen_is_waited_for_and_nothing_of_the_old_head_counts() -> None:
    made = world(ready(), remote={BRANCH: "h2", BASE: "b1"}, local={BRANCH: "h2", BASE: "b1"})
    made.before["h2"] = {"h1", "b1"}
    made.pushed("h2", NOW - 5)
    look = made.look()
    assert (look.facts.forge, look.until) == (ForgeFact.UNAVAILABLE, NOW + 2)
    made.now_at = NOW + 600
    assert (made.facts().forge, made.facts().ci) == (ForgeFact.FINE, CiFact.PENDING)
    assert made.facts().merge is MergeFact.UNAPPROVED
    made.plan = DeliveryPlan(checks=False, merge="auto", review="none")
    assert rule(made) != "merge"


def test_what_was_refused_is_a_persons_as_long_as_it_is_wanted() -> None:
    made = world()
    made.run.delivery.refused_effects["open-pull:feature/epic-1"] = "not allowed to"
    look = made.look()
    assert (look.facts.forge, look.worktree_problem) == (ForgeFact.REFUSED, "not allowed to")
    made.pulls.append(ready())
    assert made.facts().forge is ForgeFact.FINE
    made.run.delivery.refused_effects["retarget:main"] = "no"
    assert made.facts().forge is ForgeFact.REFUSED


# the branch


def test_a_head_of_ours_that_is_not_there_yet_is_to_be_pushed() -> None:
    made = World(remote={BASE: "b1"})
    assert made.facts().line is BranchFact.AHEAD
    made = world(ready())
    made.run.delivery.head, made.before["h2"] = "h2", {"h1", "b1"}
    assert made.facts().line is BranchFact.AHEAD


def test_one_that_is_there_is_even() -> None:
    assert world(ready()).facts().line is BranchFact.IN_SYNC


@pytest.mark.parametrize("where", ["remote", "local"])
def test_what_somebody_else_put_there_is_foreign_until_told(where: str) -> None:
    made = world(ready(head="x9"))
    getattr(made, where)[BRANCH] = "x9"
    if where == "remote":
        made.run.delivery.pushed_at = 0.0
    else:
        made.pulls = [ready()]
    assert made.facts().line is BranchFact.FOREIGN
    key = f"{made.remote[BRANCH]}:{made.local[BRANCH]}"
    add_answer(made.run, "foreign", key, "take-over")
    assert made.facts().line is BranchFact.ALLOWED
    getattr(made, where)[BRANCH] = "x10"  # more of it is another question
    made.before["x10"] = {"x9"}
    assert made.facts().line is BranchFact.FOREIGN


def test_an_older_head_of_ours_is_not_ours_to_push_over() -> None:
    made = world(ready(head="h0"))
    made.run.delivery.known_heads.add("h0")
    made.remote[BRANCH] = "h0"
    made.run.delivery.pushed_at = 0.0
    assert made.facts().line is BranchFact.FOREIGN


@pytest.mark.parametrize("where", ["remote", "local"])
@pytest.mark.parametrize(
    ("holds", "line"),
    [
        ({"h1", "b2"}, BranchFact.ALLOWED),
        ({"h1"}, BranchFact.FOREIGN),
        ({"b2"}, BranchFact.FOREIGN),
        (set(), BranchFact.FOREIGN),
    ],
)
def test_who_was_told_to_resolve_a_conflict_may_push_that_once(
    where: str, holds: set[str], line: BranchFact
) -> None:
    made = world(ready(head="x9" if where == "remote" else "h1"), now_at=NOW)
    getattr(made, where)[BRANCH] = "x9"
    made.before["x9"], made.run.delivery.pushed_at = holds, 0.0
    add_answer(made.run, "base-conflict", "h1:b2", "look")
    assert made.facts().line is line
    made.run.delivery.answers_seen = 1  # taken in
    assert made.facts().line is BranchFact.FOREIGN


def test_beside_a_resolved_conflict_nothing_else_comes_in() -> None:
    made = world(ready(head="x9"), local={BRANCH: "x8", BASE: "b1"})
    made.remote[BRANCH], made.run.delivery.pushed_at = "x9", 0.0
    made.before |= {"x9": {"h1", "b2"}, "x8": {"h1"}}
    add_answer(made.run, "base-conflict", "h1:b2", "look")
    assert made.facts().line is BranchFact.FOREIGN


def test_a_conflict_is_asked_about_with_the_base_that_it_is_with() -> None:
    made = world(ready(), remote={BRANCH: "h1", BASE: "b2"}, taken=BranchMerge("", conflicts=("src/it.py",)))
    assert question_key("base-conflict", made.look(), made.run) == "h1:b2"


def test_a_branch_here_that_is_behind_what_we_recorded_is_ours() -> None:
    made = world(ready(), local={BRANCH: "h0", BASE: "b1"})
    made.before["h1"].add("h0")
    assert made.facts().line is BranchFact.IN_SYNC
    made.local[BRANCH] = ""
    assert made.facts().line is BranchFact.IN_SYNC


# the pull request


@pytest.mark.parametrize(
    ("found", "fact"),
    [
        ([], PullFact.NONE),
        ([pull()], PullFact.OPEN),
        ([pull(is_from_fork=True)], PullFact.NONE),  # of a fork, with a branch of that name
        ([pull(state=PullState.CLOSED)], PullFact.NONE),  # closed before ours was opened
        ([pull(state=PullState.MERGED, head="x0", merged_as="b1")], PullFact.NONE),  # an older one's
        ([pull(state=PullState.MERGED, merged_as="b1")], PullFact.MERGED),
    ],
)
def test_which_pull_request_is_ours(found: list[Pull], fact: PullFact) -> None:
    made = world()
    made.pulls = found
    assert made.facts().pull is fact


def test_one_that_somebody_closed_stays_closed_until_a_person_wants_it() -> None:
    made = world(ready())
    made.pulls = [ready(state=PullState.CLOSED)]
    assert made.facts().pull is PullFact.CLOSED
    add_answer(made.run, "closed", "7", "look")
    assert made.facts().pull is PullFact.CLOSED
    add_answer(made.run, "closed", "7", "reopen")
    assert made.facts().pull is PullFact.REOPEN_REQUESTED
    add_done_effect(made.run, "reopen", answer_count(made.run, "closed"))
    assert made.facts().pull is PullFact.CLOSED  # closed once more
    add_answer(made.run, "silence", "h1", "wait-more")
    assert made.facts().pull is PullFact.CLOSED


def test_a_merge_counts_once_the_base_holds_it() -> None:
    made = world(ready())
    made.pulls = [ready(state=PullState.MERGED, merged_as="m1", merged_at=NOW - 1)]
    look = made.look()
    assert (look.facts.forge, look.until) == (ForgeFact.UNAVAILABLE, NOW + 2)
    made.now_at = NOW + 100  # it does not come: others are seen to meanwhile
    look = made.look()
    assert (look.until, look.worktree_problem) == (NOW + 700, "main does not hold what was merged into main")
    made.remote[BASE] = "m1"
    assert (made.facts().pull, made.facts().proof, made.facts().cleared) == (
        PullFact.MERGED,
        ProofFact.NONE,
        False,
    )
    made.run.delivery.proof = "differs"
    assert made.facts().proof is ProofFact.DIFFERS
    made.run.delivery.proof = "accepted"
    add_done_effect(made.run, "clear-branch")
    assert (made.facts().proof, made.facts().cleared) == (ProofFact.SAME, True)


def test_labels_and_aim() -> None:
    made = world(ready(labels=()))
    assert made.facts().labelled is False
    add_done_effect(made.run, "label")  # asked for once, whatever came of it
    assert made.facts().labelled is True
    assert world(ready(labels=("EPIC", "more"))).facts().labelled is True


# our own checks


@pytest.mark.parametrize(
    ("found", "gate"),
    [
        (None, GateFact.DUE),
        (CheckRecord("code of h1", False), GateFact.CODE),
        (CheckRecord("code of h1", False, environment=True), GateFact.ENVIRONMENT),
    ],
)
def test_what_our_own_checks_say_of_this_code(found: CheckRecord | None, gate: GateFact) -> None:
    made = world(ready())
    made.run.checks.clear()
    if found is not None:
        made.run.checks[found.code] = found
    assert made.facts().gate is gate


def test_where_the_work_tree_stands() -> None:
    made = world(ready(), stands_not="main is checked out")
    assert (made.facts().here, made.look().worktree_problem) == (False, "main is checked out")


def test_rounds_of_mending_are_bounded_and_may_be_allowed_again() -> None:
    made = world(ready(), plan=DeliveryPlan(rounds=2))
    record = made.run.delivery
    record.rounds = [PullRound("epic-1.pr-1", "points", [], [], "")]
    assert made.facts().rounds is True
    record.rounds.append(PullRound("epic-1.pr-2", "points", [], [], ""))
    assert made.facts().rounds is False
    record.rounds_counted_from = 2
    assert made.facts().rounds is True
    record.rounds.append(PullRound("epic-1.pr-3", "points", [], [], ""))
    made.run.stories["epic-1.pr-3"] = StoryRecord("epic-1.pr-3", skipped=True)
    assert made.facts().rounds is False


# the base


def test_a_base_that_moved() -> None:
    made = world(ready(), remote={BRANCH: "h1", BASE: "b2"})
    assert made.facts().base is BaseFact.MOVED
    made.run.delivery.base_merges = MAX_BASES
    assert made.facts().base is BaseFact.UNSTABLE
    made.taken = BranchMerge("", conflicts=("src/it.py",))
    assert made.facts().base is BaseFact.CONFLICT
    assert "src/it.py" in made.look().worktree_problem
    made.before["h1"].add("b2")
    assert made.facts().base is BaseFact.UP_TO_DATE


# the forge's checks


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ("passed", CiFact.GREEN),
        ("passed skipped neutral", CiFact.GREEN),
        ("passed pending", CiFact.PENDING),
        ("passed failed", CiFact.RED),
        ("cancelled", CiFact.RED),
        ("passed unknown", CiFact.STOPPED),
        ("passed action-required", CiFact.STOPPED),
        ("skipped", CiFact.NONE),
        ("neutral skipped", CiFact.NONE),
        ("", CiFact.NONE),
    ],
)
def test_the_forges_checks(states: str, word: CiFact) -> None:
    checks = tuple(check(CheckState(state)) for state in states.split())
    made = world(ready(checks=checks), plan=DeliveryPlan(check_patience=10_000.0))
    assert made.facts().ci is word


def test_checks_have_some_time_to_appear() -> None:
    made = world(ready(checks=()))
    made.pushed("h1", NOW - 119)
    assert (made.facts().ci, made.look().until) == (CiFact.PENDING, NOW + 1)
    made.now_at = NOW + 1
    assert made.facts().ci is CiFact.NONE


def test_without_any_checks_only_where_that_is_allowed() -> None:
    made = world(ready(checks=()))
    assert made.facts().ci is CiFact.NONE
    add_answer(made.run, "no-checks", question_key("no-checks", made.look(), made.run), "look")
    assert made.facts().ci is CiFact.NONE
    add_answer(made.run, "no-checks", question_key("no-checks", made.look(), made.run), "without-checks")
    assert made.facts().ci is CiFact.GREEN
    made.remote[BRANCH] = made.local[BRANCH] = "h2"
    made.before["h2"], made.pulls = {"h1", "b1"}, [ready(checks=(), head="h2")]
    made.pushed("h2", content=False)
    assert made.facts().ci is CiFact.GREEN, "the base alone"
    made.pushed("h2", content=True)
    assert made.facts().ci is CiFact.NONE, "that was said of something else"
    assert world(ready(checks=()), plan=DeliveryPlan(checks=False)).facts().ci is CiFact.GREEN


def test_checks_without_an_end_are_late_after_all_patience() -> None:
    made = world(ready(checks=(check(CheckState.PENDING),)))
    made.pushed("h1", NOW - 1799)
    assert (made.facts().ci, made.look().until) == (CiFact.PENDING, NOW + 1)
    made.now_at = NOW + 1
    assert made.facts().ci is CiFact.OVERDUE
    add_answer(made.run, "ci-late", "h1", "wait-more", at=NOW)
    assert made.facts().ci is CiFact.PENDING
    made.now_at = NOW + 1800
    assert made.facts().ci is CiFact.OVERDUE


def test_what_we_did_not_push_ourselves_has_the_same_time() -> None:
    made = World([ready(checks=(check(CheckState.PENDING),))])
    made.run.delivery.pull, made.run.delivery.started_at = 7, NOW - 60
    assert made.facts().ci is CiFact.PENDING
    made.now_at = NOW + 1740
    assert made.facts().ci is CiFact.OVERDUE


def test_what_failed_is_run_once_more_as_it_is() -> None:
    failed = check(CheckState.FAILED, job=5, run=1)
    made = world(ready(checks=(failed,)))
    assert made.facts().ci is CiFact.FLAKY
    add_done_effect(made.run, "rerun", "h1", NOW, jobs=[5])
    assert (made.facts().ci, made.look().until) == (CiFact.PENDING, NOW + RERUN_SHOWS), "it is not seen yet"
    made.now_at = NOW + RERUN_SHOWS
    assert made.facts().ci is CiFact.RED
    made.now_at = NOW
    made.pulls = [ready(checks=(failed._replace(job=6),))]
    assert made.facts().ci is CiFact.RED, "once more"
    add_done_effect(made.run, "rerun", "h1", NOW, jobs=[6], refused="not allowed")
    assert made.facts().ci is CiFact.RED
    made.pulls = [ready(checks=(check(CheckState.PENDING),))]
    assert made.facts().ci is CiFact.PENDING  # its time begins anew
    assert world(ready(checks=(failed,)), plan=DeliveryPlan(reruns=False)).facts().ci is CiFact.RED
    assert world(ready(checks=(check(CheckState.FAILED),))).facts().ci is CiFact.RED  # nothing to start again


def test_what_failed_is_not_run_again_before_its_run_is_over() -> None:
    """GitHub starts nothing of a run that is under way."""
    failed, other = check(CheckState.FAILED, job=5, run=1), RemoteCheck("b", CheckState.PENDING, job=6, run=1)
    made = world(ready(checks=(failed, other)), now_at=NOW)
    made.pushed(at=NOW - 100)
    assert made.facts().ci is CiFact.PENDING
    made.pulls = [ready(checks=(failed, other._replace(run=2)))]
    assert made.facts().ci is CiFact.FLAKY, "of another run"
    both = (failed, other._replace(state=CheckState.FAILED))
    made.pulls = [ready(checks=both)]
    add_done_effect(made.run, "rerun", "h1", NOW, jobs=[5, 6])
    made.pulls = [ready(checks=(failed._replace(job=7, state=CheckState.PENDING), both[1]))]
    assert made.facts().ci is CiFact.PENDING, "one of them is seen before the other"
    made.pulls = [ready(checks=(failed, other))]
    made.now_at = NOW + 1800.0
    assert made.facts().ci is CiFact.OVERDUE, "but not for ever"


# reviews


def test_a_review_is_asked_for_waited_for_and_missed() -> None:
    made = world(ready(reviews=()), now_at=NOW)
    assert made.facts().review is RequestedReviewFact.DUE
    add_done_effect(made.run, "request-review", "h1", NOW - 10)
    look = made.look()
    assert (look.facts.review, look.until) == (RequestedReviewFact.PENDING, NOW + 1790)
    made.now_at = NOW + 1790
    assert made.facts().review is RequestedReviewFact.OVERDUE
    add_answer(made.run, "silence", "h1", "wait-more", at=NOW + 1790)
    assert made.facts().review is RequestedReviewFact.PENDING
    add_answer(made.run, "silence", "h1", "without-review", at=NOW + 1800)
    assert made.facts().review is RequestedReviewFact.SUFFICIENT


def test_a_review_is_asked_for_anew_once_it_was_closed_in_between() -> None:
    """Whoever was at it may have dropped it."""
    made = world(ready(reviews=()), now_at=NOW)
    add_done_effect(made.run, "request-review", "h1", NOW - 10)
    add_done_effect(made.run, "reopen", "1", NOW - 5)
    assert made.facts().review is RequestedReviewFact.DUE
    add_done_effect(made.run, "request-review", "h1+1", NOW - 4)
    assert made.facts().review is RequestedReviewFact.PENDING
    made.run.delivery.started_effects["reopen:2"] = {"do": "reopen", "key": "2", "at": BEGAN}  # its answer is lost
    assert made.facts().review is RequestedReviewFact.DUE


@pytest.mark.parametrize(
    ("found", "fact"),
    [
        (REVIEWED, RequestedReviewFact.SUFFICIENT),
        (review(BOT, ReviewState.APPROVED), RequestedReviewFact.SUFFICIENT),
        (review(BOT, ReviewState.COMMENTED, commit="h0"), RequestedReviewFact.DUE),  # of what it held before
        (review(BOT, ReviewState.DISMISSED), RequestedReviewFact.DUE),
        (review(ForgeActor(BOT.login, association="OWNER"), ReviewState.COMMENTED), RequestedReviewFact.DUE),
        (review(OWNER, ReviewState.APPROVED), RequestedReviewFact.DUE),
    ],
)
def test_whose_review_of_what_is_enough(found: Any, fact: RequestedReviewFact) -> None:
    assert world(ready(reviews=(found,))).facts().review is fact


@pytest.mark.parametrize("whose", ["human", "none"])
def test_no_review_of_copilots_where_none_is_asked_for(whose: str) -> None:
    assert (
        world(ready(reviews=()), plan=DeliveryPlan(review=whose)).facts().review is RequestedReviewFact.SUFFICIENT
    )


def test_where_it_cannot_be_asked_for_somebodys_approval_is_what_counts() -> None:
    made = world(ready(reviews=()))
    add_done_effect(made.run, "no-review")
    assert made.facts().review is RequestedReviewFact.SUFFICIENT
    assert made.facts().merge is MergeFact.UNAPPROVED
    made.plan = DeliveryPlan(merge="auto")
    assert made.facts().review is RequestedReviewFact.OVERDUE


def test_a_base_taken_in_voids_neither_review_nor_approval() -> None:
    made = world(ready(head="h2"), remote={BRANCH: "h2", BASE: "b2"}, local={BRANCH: "h2", BASE: "b1"})
    made.before["h2"] = {"h1", "b1", "b2"}
    made.pushed("h2", NOW - 500, content=False)
    assert (made.facts().review, made.facts().merge) == (RequestedReviewFact.SUFFICIENT, MergeFact.READY)
    made.pushed("h2", NOW - 500, content=True)
    assert (made.facts().review, made.facts().merge) == (RequestedReviewFact.DUE, MergeFact.UNAPPROVED)


# threads


def test_the_most_urgent_thread_counts() -> None:
    made = world(ready(threads=(thread(comment(STRANGER)), thread(comment(OWNER), id="U"))))
    assert made.facts().threads is ThreadsFact.OPEN
    assert [point.due for point in made.seen().points] == [ThreadsFact.UNTRUSTED, ThreadsFact.OPEN]
    assert rule(world(ready(threads=(thread(comment(STRANGER)),)))) == "threads-strange"


@pytest.mark.parametrize(
    ("commit", "fact"), [("h1", ThreadsFact.REPLY), ("h9", ThreadsFact.OPEN), ("", ThreadsFact.OPEN)]
)
def test_fixed_is_what_a_commit_on_the_head_fixed(commit: str, fact: ThreadsFact) -> None:
    made = world(ready(threads=(thread(comment(OWNER)),)))
    add_thread_answer(made.run, "T", FIXED, commit=commit)
    assert made.facts().threads is fact


@pytest.mark.parametrize(
    ("named", "fact"),
    [("h1", ThreadsFact.REPLY), *((other, ThreadsFact.OPEN) for other in ("h0", "b1", "b2", "h9"))],
)
def test_a_commit_that_is_named_counts_only_if_it_came_after_the_head_that_the_point_is_about(
    named: str, fact: ThreadsFact
) -> None:
    """`b1` was there before, `b2` came with the base."""
    made = world(ready(threads=(thread(comment(OWNER), commit="h0"),)))
    made.before = {"h1": {"h0", "b1", "b2"}, "h0": {"b1"}, "b2": {"b1"}, "h9": {"h0"}}
    add_thread_answer(made.run, "T", FIXED, commit="", named=named)
    assert made.facts().threads is fact
    made.pulls = [ready(threads=(thread(comment(OWNER), commit=""),))]
    assert made.facts().threads is ThreadsFact.OPEN, "nobody knows what it was written on"


def test_what_did_not_satisfy_a_reviewer_does_not_settle_the_next_thing_they_say() -> None:
    more = comment(OWNER, "Still wrong.", 9.0)
    made = world(ready(threads=(thread(comment(OWNER), commit="h0"),)))
    made.before = {"h1": {"h0", "b1"}, "h2": {"h1", "h0", "b1"}}
    add_thread_answer(made.run, "T", FIXED, commit="h1")
    assert made.facts().threads is ThreadsFact.REPLY
    made.pulls = [ready(threads=(thread(comment(OWNER), more, commit="h0"),))]
    look = made.seen()
    assert [one["since"] for one in prompt_points(look.points, made.run)] == ["h1"]
    add_thread_answer(made.run, "T", FIXED, comment(OWNER), more, commit="", named="h1", since="h1")
    assert made.facts().threads is ThreadsFact.OPEN


# the merge


@pytest.mark.parametrize(
    ("merge", "reviews", "fact"),
    [
        ("when-approved", (APPROVED,), MergeFact.READY),
        ("when-approved", (), MergeFact.UNAPPROVED),
        ("when-approved", (review(STRANGER, ReviewState.APPROVED),), MergeFact.UNAPPROVED),
        ("when-approved", (review(OWNER, ReviewState.APPROVED, commit="h0"),), MergeFact.UNAPPROVED),
        ("when-approved", (APPROVED, review(OWNER, ReviewState.DISMISSED, at=3.0)), MergeFact.UNAPPROVED),
        ("when-approved", (APPROVED, review(OWNER, ReviewState.CHANGES, at=3.0)), MergeFact.UNAPPROVED),
        ("when-approved", (APPROVED, review(OWNER, ReviewState.COMMENTED, at=3.0)), MergeFact.READY),
        ("when-approved", (review(ForgeActor(ROBOT, is_bot=True), ReviewState.APPROVED),), MergeFact.READY),
        ("when-approved", (review(ForgeActor(ROBOT), ReviewState.APPROVED),), MergeFact.UNAPPROVED),
        ("when-approved", (review(BOT, ReviewState.APPROVED),), MergeFact.UNAPPROVED),
        ("manual", (APPROVED,), MergeFact.MANUAL),
        ("auto", (), MergeFact.READY),
        ("auto", (review(OWNER, ReviewState.CHANGES, commit="h0"),), MergeFact.UNAPPROVED),
    ],
)
def test_when_it_may_be_merged(merge: str, reviews: tuple[Any, ...], fact: MergeFact) -> None:
    assert world(ready(reviews=reviews), plan=DeliveryPlan(merge=merge)).facts().merge is fact


def test_changes_that_somebody_in_the_settings_asks_for_are_asked_for() -> None:
    """GitHub does not count them: whoever runs this does."""
    carla = ForgeActor("carla", association="CONTRIBUTOR")
    wish = review(carla, ReviewState.CHANGES, "This leaks money.", at=1.0)
    plan = DeliveryPlan(merge="auto", trusted=("carla",), labels=("epic",))
    made = world(ready(reviews=(REVIEWED, wish)), plan=plan)
    assert rule(made) == "points"
    made.run.delivery.answers[wish.id] = {"answer": DISAGREES, "why": "It does not.", "story": "epic-1.pr-1"}
    assert rule(made) == "reply-due"
    look = made.seen()
    key = reply_key(look.points[0])
    add_done_effect(made.run, "reply", key, NOW)
    assert rule(made) == "disputed"
    assert "This leaks money." in pull_question("disputed", made.look(), made.run).context
    add_answer(made.run, "disputed", key, "close-thread")
    assert rule(made) == "unapproved", "it still stands there"
    look = made.seen()
    assert describe_wait(PullWait.APPROVAL, look.snapshot).startswith("carla to take back")
    made.pulls = [ready(reviews=(REVIEWED, wish, review(carla, ReviewState.DISMISSED, at=2.0)))]
    assert rule(made) == "merge"
    for trusted, fact in (
        ((), MergeFact.READY),
        (("lint",), MergeFact.READY),
        (("lint[bot]",), MergeFact.UNAPPROVED),
    ):
        bot = review(ForgeActor("lint", is_bot=True), ReviewState.CHANGES, at=1.0)
        assert world(ready(reviews=(REVIEWED, bot)), plan=plan._replace(trusted=trusted)).facts().merge is fact


@pytest.mark.parametrize("merge", ["when-approved", "auto"])
def test_where_a_persons_review_is_wanted_only_a_persons_approval_will_do(merge: str) -> None:
    plan, robot = (
        DeliveryPlan(merge=merge, review="human"),
        review(ForgeActor(ROBOT, is_bot=True), ReviewState.APPROVED),
    )
    assert world(ready(reviews=()), plan=plan).facts().merge is MergeFact.UNAPPROVED
    assert world(ready(reviews=(robot,)), plan=plan).facts().merge is MergeFact.UNAPPROVED
    assert world(ready(reviews=(robot, APPROVED)), plan=plan).facts().merge is MergeFact.READY


def test_the_robots_approval_of_its_own_rules_is_none() -> None:
    robot = review(ForgeActor(ROBOT, is_bot=True), ReviewState.APPROVED)
    made = world(ready(reviews=(robot,)), files=(".github/workflows/auto-approve.yml",))
    assert made.facts().merge is MergeFact.UNAPPROVED


def test_what_is_too_large_for_a_robot_waits_for_a_persons_approval() -> None:
    """It cannot be told whether it changes what judges it."""
    robot = review(ForgeActor(ROBOT, is_bot=True), ReviewState.APPROVED)
    made = world(ready(reviews=(REVIEWED, robot)), files=tuple(f"{number}.py" for number in range(MOST_FILES)))
    assert rule(made) == "unapproved"
    look = made.seen()
    assert "a person's approval" in describe_wait(PullWait.APPROVAL, look.snapshot)
    made.pulls = [ready(reviews=(REVIEWED, robot, APPROVED))]
    assert rule(made) == "merge"
    small = world(ready(reviews=(REVIEWED,))).seen()
    assert describe_wait(PullWait.APPROVAL, small.snapshot) == "an approval"


def test_a_robot_that_would_approve_is_started_once_and_only_where_there_is_one() -> None:
    """GitHub may hold back the run that Copilot's review starts."""
    there, later = (WORKFLOW_PATH,), NOW + 3600.0
    waits = ready(reviews=(REVIEWED,))
    assert rule(world(waits, now_at=later)) == "unapproved"
    assert rule(world(waits, in_base=there, now_at=later)) == "robot-due"
    assert rule(world(waits, in_base=there, now_at=later, plan=DeliveryPlan(merge="manual"))) == "by-hand"
    assert rule(world(ready(reviews=()), in_base=there, now_at=later)) != "robot-due", "nobody has reviewed it"
    started = world(waits, in_base=there, now_at=later)
    add_done_effect(started.run, "start-robot", "h1")
    assert rule(started) == "unapproved"


def test_it_is_looked_at_again_when_the_robot_could_be_started() -> None:
    made = world(ready(reviews=(REVIEWED,)), in_base=(WORKFLOW_PATH,), now_at=1300.0)
    assert rule(made) == "unapproved"
    until = made.look().until
    assert until is not None
    assert until <= made.run.delivery.pushed_at + 601.0
    assert rule(world(ready(reviews=(REVIEWED,)), in_base=(WORKFLOW_PATH,), now_at=until)) == "robot-due"


def test_an_approval_that_does_not_come_is_asked_about_in_the_end() -> None:
    waits, late = ready(reviews=(REVIEWED,)), NOW + 30 * 3600.0
    assert rule(world(waits, now_at=late)) == "approval-late"
    answered_once = world(waits, now_at=late)
    add_answer(answered_once.run, "approval-late", "h1", "wait-more", at=late - 60.0)
    assert rule(answered_once) == "unapproved"


def test_what_is_green_counts_once_checks_had_time_to_appear_and_it_has_stayed_so() -> None:
    """A job that needs another one is listed only when that has ended."""
    soon = world(ready(), now_at=1119.0)
    assert rule(soon) == "checks-run"
    assert soon.look().until == 1120.0
    fresh = world(ready(), is_settled=False)
    assert rule(fresh) == "checks-fresh"
    apply_entry(fresh.run, "green", {"key": "h1:1"}, NOW)
    assert rule(fresh) == "checks-run"
    assert fresh.look().until == NOW + 10.0
    fresh.now_at = NOW + 10.0
    assert rule(fresh) == "merge"
    fresh.pulls[0] = ready(checks=(GREEN, RemoteCheck("more", CheckState.PASSED)))
    assert rule(fresh) == "checks-fresh", "another has come since"


def test_drafts_and_queues_are_left_to_whom_they_belong() -> None:
    assert world(ready(is_draft=True), plan=DeliveryPlan(merge="auto")).facts().merge is MergeFact.MANUAL
    assert world(ready(is_queued=True)).facts().merge is MergeFact.QUEUED


def test_a_merge_queue_that_never_comes_to_it_is_asked_about_in_the_end() -> None:
    made = world(ready(is_queued=True), now_at=NOW + 86400.0)
    add_done_effect(made.run, "enqueue", "h1", NOW + 10.0)
    assert rule(made) == "in-the-queue"
    assert made.look().until == NOW + 86410.0
    made.now_at = NOW + 86410.0
    assert rule(made) == "approval-late"
    assert "merge queue" in pull_question("approval-late", made.look(), made.run).context
    add_answer(made.run, "approval-late", "h1", "wait-more", at=made.now_at)
    assert rule(made) == "in-the-queue"


def test_what_the_forge_does_not_call_free_is_waited_for_and_then_asked_about() -> None:
    """A required check that never reported: an administrator's login would merge over it."""
    made = world(ready(merge_state="BLOCKED"), now_at=BEGAN + 119.0)
    made.run.delivery.green_at = BEGAN
    made.plan = PLAN._replace(grace=120.0)
    assert made.facts().merge is MergeFact.BLOCKED
    made.now_at = BEGAN + 120.0
    assert rule(made) == "merge-refused"
    add_answer(made.run, "merge-refused", "h1:b1", "try-merge", at=made.now_at)
    assert rule(made) == "blocked", "still over no rule"
    assert made.look().until == BEGAN + 240.0
    look = made.seen()
    assert "GitHub calls it BLOCKED" in describe_wait(PullWait.BRANCH_RULES, look.snapshot)
    made.now_at = BEGAN + 240.0
    assert rule(made) == "merge-refused"
    assert question_key("merge-refused", made.look(), made.run) == "h1:b1"
    made.pulls = [ready()]
    assert rule(made) == "merge"


def test_what_is_not_known_yet_is_looked_at_again_soon() -> None:
    made = world(ready(merge_state="UNKNOWN"), is_settled=False)
    apply_entry(made.run, "green", {"key": "h1:1"}, NOW - 20.0)
    assert rule(made) == "blocked"
    assert made.look().until == NOW + LAG


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"reviews": (REVIEWED,)}, MergeFact.UNAPPROVED),
        ({"decision": "REVIEW_REQUIRED"}, MergeFact.UNAPPROVED),
        ({"is_draft": True}, MergeFact.MANUAL),
        ({"is_queued": True}, MergeFact.QUEUED),
        ({"needs_queue": True}, MergeFact.READY),
    ],
)
def test_what_is_blocked_for_another_reason_waits_for_that(more: dict[str, Any], fact: MergeFact) -> None:
    assert world(ready(merge_state="BLOCKED", **more)).facts().merge is fact
    assert world(ready(merge_state="BLOCKED"), plan=DeliveryPlan(merge="manual")).facts().merge is MergeFact.MANUAL


def test_a_merge_that_was_refused_is_tried_again_once_for_each_answer() -> None:
    made = world(ready())
    add_done_effect(made.run, "merge-refused", "h1:b1", mark="0")
    assert made.facts().merge is MergeFact.REFUSED
    add_answer(made.run, "merge-refused", "h1:b1", "try-merge")
    assert made.facts().merge is MergeFact.READY
    add_done_effect(made.run, "merge-refused", "h1:b1", mark="1")
    assert made.facts().merge is MergeFact.REFUSED
    made.before["h1"].add("b2")
    made.remote[BASE] = "b2"  # with another base it is another merge
    assert made.facts().merge is MergeFact.READY


# an epic on top of another


def test_an_epic_on_one_that_is_not_merged_waits_for_it() -> None:
    first = pull(number=6, head_ref="feature/epic-0", head="e0", labels=())
    made = world(ready(base_ref="feature/epic-0"), first, plan=DeliveryPlan(onto="feature/epic-0"))
    made.remote["feature/epic-0"] = "e0"
    assert (made.facts().aim, made.facts().merge) == (True, MergeFact.MANUAL)
    assert rule(made) == "by-hand"
    made.taken = BranchMerge("", ("a.py",))
    assert made.facts().base is BaseFact.UP_TO_DATE, "met once the epic before it is merged"
    look = made.seen()
    assert describe_wait(PullWait.PERSON, look.snapshot) == (
        "the pull request of feature/epic-0, which it stands on"
    )


def test_once_that_is_merged_it_goes_to_the_base() -> None:
    first = pull(number=6, head_ref="feature/epic-0", head="e0", state=PullState.MERGED, merged_as="b2")
    made = world(ready(base_ref="feature/epic-0"), first, plan=DeliveryPlan(onto="feature/epic-0"))
    made.remote[BASE] = "b2"
    assert (made.facts().aim, made.facts().base) == (False, BaseFact.MOVED)
    look = made.seen()
    assert look.snapshot.parent_fork == "fork of h1 and e0"


# without a forge


def test_local_delivery_needs_no_forge() -> None:
    made = World(plan=DeliveryPlan(kind="local"), error=ForgeError(ForgeErrorKind.LOGIN, "none"))
    assert rule(made) == "merge"
    made.plan = DeliveryPlan(kind="local", merge="manual")
    assert rule(made) == "by-hand"
    add_done_effect(made.run, "merge", "h1", sha="m1")
    made.local[BASE], made.before["m1"] = "m1", {"b1"}
    assert made.facts().pull is PullFact.MERGED


# words


def test_every_wait_for_a_pull_request_says_for_what() -> None:
    assert WAIT_REASONS.keys() == {
        one.pull_wait for one in DELIVERY_RULES if one.action is RuleAction.WAIT_FOR_PULL
    }


def test_a_draft_waits_for_a_person() -> None:
    look = world(ready(is_draft=True)).seen()
    assert describe_wait(PullWait.PERSON, look.snapshot) == "a person to take it out of draft"
