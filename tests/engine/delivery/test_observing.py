"""How things stand with an epic on its way: each fact, from a forge and branches that stand as the test says."""

from typing import Any

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.delivery import PullRound
from bmad_autopilot.core.facts import (
    Base,
    Ci,
    Delivery,
    Facts,
    Forge,
    Gate,
    Line,
    Merge,
    Proof,
    Question,
    Review,
    Threads,
)
from bmad_autopilot.core.facts import Pull as PullFact
from bmad_autopilot.core.folding import apply
from bmad_autopilot.core.records import Check, StoryRecord
from bmad_autopilot.core.rules import Action
from bmad_autopilot.core.to_merged import TO_MERGED
from bmad_autopilot.engine.delivery.branch_facts import MAX_BASES
from bmad_autopilot.engine.delivery.lines import TakenIn
from bmad_autopilot.engine.delivery.observing import WAITS_FOR, waits_for
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.delivery.pull_facts import RERUN_SHOWS
from bmad_autopilot.engine.delivery.questions import pull_question, question_key
from bmad_autopilot.engine.delivery.said import asked_mark
from bmad_autopilot.engine.delivery.seeing import LAG
from bmad_autopilot.engine.delivery.telling import told_points
from bmad_autopilot.engine.delivery.threads import DISAGREES, FIXED, reply_key
from bmad_autopilot.github.approval import MOST_FILES, ROBOT
from bmad_autopilot.github.auto_approve import WORKFLOW_PATH
from bmad_autopilot.github.forge import ForgeError, Trouble
from bmad_autopilot.github.pulls import Actor, CheckState, Pull, PullState, RemoteCheck, ReviewState
from tests.engine.delivery.pulls import (
    BASE,
    BOT,
    BRANCH,
    OWNER,
    STRANGER,
    answered,
    comment,
    did,
    pull,
    review,
    said,
    thread,
)
from tests.engine.delivery.worlds import BEGAN, NOW, PLAN, World, world

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
    assert made.facts().delivery is Delivery.ON


@pytest.mark.parametrize("facts", [Facts(stop=True), Facts(pause=True), Facts(question=Question.OPEN)])
def test_nobody_looks_at_the_forge_where_it_does_not_matter(facts: Facts) -> None:
    made = world(error=ForgeError(Trouble.ODD, "never asked"))
    assert made.look(facts).facts.forge is Forge.FINE


# the forge


@pytest.mark.parametrize("trouble", list(Trouble))
def test_a_forge_that_cannot_be_asked(trouble: Trouble) -> None:
    made = world(ready(), error=ForgeError(trouble, "no such luck", until=NOW + 700))
    look = made.look()
    passes = trouble in (Trouble.AWAY, Trouble.LIMIT, Trouble.LOGIN)
    assert look.facts.forge is (Forge.AWAY if passes else Forge.REFUSED)
    assert "no such luck" in look.why
    assert not passes or look.until == NOW + 700
    assert (look.problem is made.error) is (trouble is Trouble.LOGIN)


def test_where_nothing_is_said_it_is_tried_again_in_a_minute() -> None:
    assert world(ready(), error=ForgeError(Trouble.AWAY, "x")).look().until == NOW + 60


def test_an_effect_without_an_answer_is_given_time_to_be_seen() -> None:
    made = world(ready())
    made.run.delivery.begun["merge:h1"] = {"do": "merge", "key": "h1", "at": NOW - 4}
    look = made.look()
    assert (look.facts.forge, look.until) == (Forge.AWAY, NOW + 6)
    made.now_at = NOW + 6
    assert made.facts().forge is Forge.FINE


def test_an_effect_that_gets_no_answer_is_tried_at_longer_intervals_and_then_asked_about() -> None:
    made = world(ready())
    record = made.run.delivery
    record.begun["merge:h1"] = {"do": "merge", "key": "h1", "at": NOW}
    record.troubles["merge:h1"] = {"times": 3, "why": "502"}
    assert made.look().until == NOW + 40
    record.troubles["merge:h1"] = {"times": 9, "why": "502"}
    assert made.look().until == NOW + 640
    record.troubles["merge:h1"] = {"times": 10, "why": "502"}
    made.now_at = NOW + 640
    look = made.look()
    assert (look.facts.forge, look.why) == (Forge.REFUSED, "502")


def test_a_push_that_the_forge_has_not_seen_is_waited_for_and_nothing_of_the_old_head_counts() -> None:
    made = world(ready(), remote={BRANCH: "h2", BASE: "b1"}, local={BRANCH: "h2", BASE: "b1"})
    made.before["h2"] = {"h1", "b1"}
    made.pushed("h2", NOW - 5)
    look = made.look()
    assert (look.facts.forge, look.until) == (Forge.AWAY, NOW + 2)
    made.now_at = NOW + 600
    assert (made.facts().forge, made.facts().ci) == (Forge.FINE, Ci.PENDING)
    assert made.facts().merge is Merge.UNAPPROVED
    made.plan = Plan(checks=False, merge="auto", review="none")
    assert rule(made) != "merge"


def test_what_was_refused_is_a_persons_as_long_as_it_is_wanted() -> None:
    made = world()
    made.run.delivery.failed["open-pull:feature/epic-1"] = "not allowed to"
    look = made.look()
    assert (look.facts.forge, look.why) == (Forge.REFUSED, "not allowed to")
    made.pulls.append(ready())
    assert made.facts().forge is Forge.FINE
    made.run.delivery.failed["retarget:main"] = "no"
    assert made.facts().forge is Forge.REFUSED


# the branch


def test_a_head_of_ours_that_is_not_there_yet_is_to_be_pushed() -> None:
    made = World(remote={BASE: "b1"})
    assert made.facts().line is Line.AHEAD
    made = world(ready())
    made.run.delivery.head, made.before["h2"] = "h2", {"h1", "b1"}
    assert made.facts().line is Line.AHEAD


def test_one_that_is_there_is_even() -> None:
    assert world(ready()).facts().line is Line.EVEN


@pytest.mark.parametrize("where", ["remote", "local"])
def test_what_somebody_else_put_there_is_foreign_until_told(where: str) -> None:
    made = world(ready(head="x9"))
    getattr(made, where)[BRANCH] = "x9"
    if where == "remote":
        made.run.delivery.pushed_at = 0.0
    else:
        made.pulls = [ready()]
    assert made.facts().line is Line.FOREIGN
    key = f"{made.remote[BRANCH]}:{made.local[BRANCH]}"
    answered(made.run, "foreign", key, "take-over")
    assert made.facts().line is Line.ALLOWED
    getattr(made, where)[BRANCH] = "x10"  # more of it is another question
    made.before["x10"] = {"x9"}
    assert made.facts().line is Line.FOREIGN


def test_an_older_head_of_ours_is_not_ours_to_push_over() -> None:
    made = world(ready(head="h0"))
    made.run.delivery.known.add("h0")
    made.remote[BRANCH] = "h0"
    made.run.delivery.pushed_at = 0.0
    assert made.facts().line is Line.FOREIGN


@pytest.mark.parametrize("where", ["remote", "local"])
@pytest.mark.parametrize(
    ("holds", "line"),
    [({"h1", "b2"}, Line.ALLOWED), ({"h1"}, Line.FOREIGN), ({"b2"}, Line.FOREIGN), (set(), Line.FOREIGN)],
)
def test_who_was_told_to_resolve_a_conflict_may_push_that_once(where: str, holds: set[str], line: Line) -> None:
    made = world(ready(head="x9" if where == "remote" else "h1"), now_at=NOW)
    getattr(made, where)[BRANCH] = "x9"
    made.before["x9"], made.run.delivery.pushed_at = holds, 0.0
    answered(made.run, "base-conflict", "h1:b2", "look")
    assert made.facts().line is line
    made.run.delivery.heard = 1  # taken in
    assert made.facts().line is Line.FOREIGN


def test_beside_a_resolved_conflict_nothing_else_comes_in() -> None:
    made = world(ready(head="x9"), local={BRANCH: "x8", BASE: "b1"})
    made.remote[BRANCH], made.run.delivery.pushed_at = "x9", 0.0
    made.before |= {"x9": {"h1", "b2"}, "x8": {"h1"}}
    answered(made.run, "base-conflict", "h1:b2", "look")
    assert made.facts().line is Line.FOREIGN


def test_a_conflict_is_asked_about_with_the_base_that_it_is_with() -> None:
    made = world(ready(), remote={BRANCH: "h1", BASE: "b2"}, taken=TakenIn("", conflicts=("src/it.py",)))
    assert question_key("base-conflict", made.look(), made.run) == "h1:b2"


def test_a_branch_here_that_is_behind_what_we_recorded_is_ours() -> None:
    made = world(ready(), local={BRANCH: "h0", BASE: "b1"})
    made.before["h1"].add("h0")
    assert made.facts().line is Line.EVEN
    made.local[BRANCH] = ""
    assert made.facts().line is Line.EVEN


# the pull request


@pytest.mark.parametrize(
    ("found", "fact"),
    [
        ([], PullFact.NONE),
        ([pull()], PullFact.OPEN),
        ([pull(is_foreign=True)], PullFact.NONE),  # of a fork, with a branch of that name
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
    answered(made.run, "closed", "7", "look")
    assert made.facts().pull is PullFact.CLOSED
    answered(made.run, "closed", "7", "reopen")
    assert made.facts().pull is PullFact.WANTED
    did(made.run, "reopen", asked_mark(made.run, "closed"))
    assert made.facts().pull is PullFact.CLOSED  # closed once more
    answered(made.run, "silence", "h1", "wait-more")
    assert made.facts().pull is PullFact.CLOSED


def test_a_merge_counts_once_the_base_holds_it() -> None:
    made = world(ready())
    made.pulls = [ready(state=PullState.MERGED, merged_as="m1", merged_at=NOW - 1)]
    look = made.look()
    assert (look.facts.forge, look.until) == (Forge.AWAY, NOW + 2)
    made.now_at = NOW + 100  # it does not come: others are seen to meanwhile
    look = made.look()
    assert (look.until, look.why) == (NOW + 700, "main does not hold what was merged into main")
    made.remote[BASE] = "m1"
    assert (made.facts().pull, made.facts().proof, made.facts().cleared) == (PullFact.MERGED, Proof.NONE, False)
    made.run.delivery.proof = "differs"
    assert made.facts().proof is Proof.DIFFERS
    made.run.delivery.proof = "accepted"
    did(made.run, "clear-branch")
    assert (made.facts().proof, made.facts().cleared) == (Proof.SAME, True)


def test_labels_and_aim() -> None:
    made = world(ready(labels=()))
    assert made.facts().labelled is False
    did(made.run, "label")  # asked for once, whatever came of it
    assert made.facts().labelled is True
    assert world(ready(labels=("EPIC", "more"))).facts().labelled is True


# our own checks


@pytest.mark.parametrize(
    ("found", "gate"),
    [
        (None, Gate.DUE),
        (Check("code of h1", False), Gate.CODE),
        (Check("code of h1", False, environment=True), Gate.ENVIRONMENT),
    ],
)
def test_what_our_own_checks_say_of_this_code(found: Check | None, gate: Gate) -> None:
    made = world(ready())
    made.run.checks.clear()
    if found is not None:
        made.run.checks[found.code] = found
    assert made.facts().gate is gate


def test_where_the_work_tree_stands() -> None:
    made = world(ready(), stands_not="main is checked out")
    assert (made.facts().here, made.look().why) == (False, "main is checked out")


def test_rounds_of_mending_are_bounded_and_may_be_allowed_again() -> None:
    made = world(ready(), plan=Plan(rounds=2))
    record = made.run.delivery
    record.rounds = [PullRound("epic-1.pr-1", "points", [], [], "")]
    assert made.facts().rounds is True
    record.rounds.append(PullRound("epic-1.pr-2", "points", [], [], ""))
    assert made.facts().rounds is False
    record.counted_from = 2
    assert made.facts().rounds is True
    record.rounds.append(PullRound("epic-1.pr-3", "points", [], [], ""))
    made.run.stories["epic-1.pr-3"] = StoryRecord("epic-1.pr-3", skipped=True)
    assert made.facts().rounds is False


# the base


def test_a_base_that_moved() -> None:
    made = world(ready(), remote={BRANCH: "h1", BASE: "b2"})
    assert made.facts().base is Base.MOVED
    made.run.delivery.bases = MAX_BASES
    assert made.facts().base is Base.RESTLESS
    made.taken = TakenIn("", conflicts=("src/it.py",))
    assert made.facts().base is Base.CONFLICT
    assert "src/it.py" in made.look().why
    made.before["h1"].add("b2")
    assert made.facts().base is Base.IN


# the forge's checks


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ("passed", Ci.GREEN),
        ("passed skipped neutral", Ci.GREEN),
        ("passed pending", Ci.PENDING),
        ("passed failed", Ci.RED),
        ("cancelled", Ci.RED),
        ("passed unknown", Ci.STOPPED),
        ("passed action-required", Ci.STOPPED),
        ("skipped", Ci.NONE),
        ("neutral skipped", Ci.NONE),
        ("", Ci.NONE),
    ],
)
def test_the_forges_checks(states: str, word: Ci) -> None:
    checks = tuple(check(CheckState(state)) for state in states.split())
    made = world(ready(checks=checks), plan=Plan(check_patience=10_000.0))
    assert made.facts().ci is word


def test_checks_have_some_time_to_appear() -> None:
    made = world(ready(checks=()))
    made.pushed("h1", NOW - 119)
    assert (made.facts().ci, made.look().until) == (Ci.PENDING, NOW + 1)
    made.now_at = NOW + 1
    assert made.facts().ci is Ci.NONE


def test_without_any_checks_only_where_that_is_allowed() -> None:
    made = world(ready(checks=()))
    assert made.facts().ci is Ci.NONE
    answered(made.run, "no-checks", question_key("no-checks", made.look(), made.run), "look")
    assert made.facts().ci is Ci.NONE
    answered(made.run, "no-checks", question_key("no-checks", made.look(), made.run), "without-checks")
    assert made.facts().ci is Ci.GREEN
    made.remote[BRANCH] = made.local[BRANCH] = "h2"
    made.before["h2"], made.pulls = {"h1", "b1"}, [ready(checks=(), head="h2")]
    made.pushed("h2", content=False)
    assert made.facts().ci is Ci.GREEN, "the base alone"
    made.pushed("h2", content=True)
    assert made.facts().ci is Ci.NONE, "that was said of something else"
    assert world(ready(checks=()), plan=Plan(checks=False)).facts().ci is Ci.GREEN


def test_checks_without_an_end_are_late_after_all_patience() -> None:
    made = world(ready(checks=(check(CheckState.PENDING),)))
    made.pushed("h1", NOW - 1799)
    assert (made.facts().ci, made.look().until) == (Ci.PENDING, NOW + 1)
    made.now_at = NOW + 1
    assert made.facts().ci is Ci.LATE
    answered(made.run, "ci-late", "h1", "wait-more", at=NOW)
    assert made.facts().ci is Ci.PENDING
    made.now_at = NOW + 1800
    assert made.facts().ci is Ci.LATE


def test_what_we_did_not_push_ourselves_has_the_same_time() -> None:
    made = World([ready(checks=(check(CheckState.PENDING),))])
    made.run.delivery.pull, made.run.delivery.began = 7, NOW - 60
    assert made.facts().ci is Ci.PENDING
    made.now_at = NOW + 1740
    assert made.facts().ci is Ci.LATE


def test_what_failed_is_run_once_more_as_it_is() -> None:
    failed = check(CheckState.FAILED, job=5, run=1)
    made = world(ready(checks=(failed,)))
    assert made.facts().ci is Ci.FLAKY
    did(made.run, "rerun", "h1", NOW, jobs=[5])
    assert (made.facts().ci, made.look().until) == (Ci.PENDING, NOW + RERUN_SHOWS), "it is not seen yet"
    made.now_at = NOW + RERUN_SHOWS
    assert made.facts().ci is Ci.RED
    made.now_at = NOW
    made.pulls = [ready(checks=(failed._replace(job=6),))]
    assert made.facts().ci is Ci.RED, "once more"
    did(made.run, "rerun", "h1", NOW, jobs=[6], refused="not allowed")
    assert made.facts().ci is Ci.RED
    made.pulls = [ready(checks=(check(CheckState.PENDING),))]
    assert made.facts().ci is Ci.PENDING  # its time begins anew
    assert world(ready(checks=(failed,)), plan=Plan(reruns=False)).facts().ci is Ci.RED
    assert world(ready(checks=(check(CheckState.FAILED),))).facts().ci is Ci.RED  # nothing to start again


def test_what_failed_is_not_run_again_before_its_run_is_over() -> None:
    """GitHub starts nothing of a run that is under way."""
    failed, other = check(CheckState.FAILED, job=5, run=1), RemoteCheck("b", CheckState.PENDING, job=6, run=1)
    made = world(ready(checks=(failed, other)), now_at=NOW)
    made.pushed(at=NOW - 100)
    assert made.facts().ci is Ci.PENDING
    made.pulls = [ready(checks=(failed, other._replace(run=2)))]
    assert made.facts().ci is Ci.FLAKY, "of another run"
    both = (failed, other._replace(state=CheckState.FAILED))
    made.pulls = [ready(checks=both)]
    did(made.run, "rerun", "h1", NOW, jobs=[5, 6])
    made.pulls = [ready(checks=(failed._replace(job=7, state=CheckState.PENDING), both[1]))]
    assert made.facts().ci is Ci.PENDING, "one of them is seen before the other"
    made.pulls = [ready(checks=(failed, other))]
    made.now_at = NOW + 1800.0
    assert made.facts().ci is Ci.LATE, "but not for ever"


# reviews


def test_a_review_is_asked_for_waited_for_and_missed() -> None:
    made = world(ready(reviews=()), now_at=NOW)
    assert made.facts().review is Review.DUE
    did(made.run, "request-review", "h1", NOW - 10)
    look = made.look()
    assert (look.facts.review, look.until) == (Review.WAITED, NOW + 1790)
    made.now_at = NOW + 1790
    assert made.facts().review is Review.SILENT
    answered(made.run, "silence", "h1", "wait-more", at=NOW + 1790)
    assert made.facts().review is Review.WAITED
    answered(made.run, "silence", "h1", "without-review", at=NOW + 1800)
    assert made.facts().review is Review.ENOUGH


def test_a_review_is_asked_for_anew_once_it_was_closed_in_between() -> None:
    """Whoever was at it may have dropped it."""
    made = world(ready(reviews=()), now_at=NOW)
    did(made.run, "request-review", "h1", NOW - 10)
    did(made.run, "reopen", "1", NOW - 5)
    assert made.facts().review is Review.DUE
    did(made.run, "request-review", "h1+1", NOW - 4)
    assert made.facts().review is Review.WAITED
    made.run.delivery.begun["reopen:2"] = {"do": "reopen", "key": "2", "at": BEGAN}  # its answer is lost
    assert made.facts().review is Review.DUE


@pytest.mark.parametrize(
    ("found", "fact"),
    [
        (REVIEWED, Review.ENOUGH),
        (review(BOT, ReviewState.APPROVED), Review.ENOUGH),
        (review(BOT, ReviewState.COMMENTED, commit="h0"), Review.DUE),  # of what it held before
        (review(BOT, ReviewState.DISMISSED), Review.DUE),
        (review(Actor(BOT.login, association="OWNER"), ReviewState.COMMENTED), Review.DUE),
        (review(OWNER, ReviewState.APPROVED), Review.DUE),
    ],
)
def test_whose_review_of_what_is_enough(found: Any, fact: Review) -> None:
    assert world(ready(reviews=(found,))).facts().review is fact


@pytest.mark.parametrize("whose", ["human", "none"])
def test_no_review_of_copilots_where_none_is_asked_for(whose: str) -> None:
    assert world(ready(reviews=()), plan=Plan(review=whose)).facts().review is Review.ENOUGH


def test_where_it_cannot_be_asked_for_somebodys_approval_is_what_counts() -> None:
    made = world(ready(reviews=()))
    did(made.run, "no-review")
    assert made.facts().review is Review.ENOUGH
    assert made.facts().merge is Merge.UNAPPROVED
    made.plan = Plan(merge="auto")
    assert made.facts().review is Review.SILENT


def test_a_base_taken_in_voids_neither_review_nor_approval() -> None:
    made = world(ready(head="h2"), remote={BRANCH: "h2", BASE: "b2"}, local={BRANCH: "h2", BASE: "b1"})
    made.before["h2"] = {"h1", "b1", "b2"}
    made.pushed("h2", NOW - 500, content=False)
    assert (made.facts().review, made.facts().merge) == (Review.ENOUGH, Merge.FREE)
    made.pushed("h2", NOW - 500, content=True)
    assert (made.facts().review, made.facts().merge) == (Review.DUE, Merge.UNAPPROVED)


# threads


def test_the_most_urgent_thread_counts() -> None:
    made = world(ready(threads=(thread(comment(STRANGER)), thread(comment(OWNER), id="U"))))
    assert made.facts().threads is Threads.OPEN
    assert [point.due for point in made.look().delivery.points] == [Threads.STRANGE, Threads.OPEN]  # type: ignore[union-attr]
    assert rule(world(ready(threads=(thread(comment(STRANGER)),)))) == "threads-strange"


@pytest.mark.parametrize(("commit", "fact"), [("h1", Threads.REPLY), ("h9", Threads.OPEN), ("", Threads.OPEN)])
def test_fixed_is_what_a_commit_on_the_head_fixed(commit: str, fact: Threads) -> None:
    made = world(ready(threads=(thread(comment(OWNER)),)))
    said(made.run, "T", FIXED, commit=commit)
    assert made.facts().threads is fact


@pytest.mark.parametrize(
    ("named", "fact"),
    [("h1", Threads.REPLY), *((other, Threads.OPEN) for other in ("h0", "b1", "b2", "h9"))],
)
def test_a_commit_that_is_named_counts_only_if_it_came_after_the_head_that_the_point_is_about(
    named: str, fact: Threads
) -> None:
    """`b1` was there before, `b2` came with the base."""
    made = world(ready(threads=(thread(comment(OWNER), commit="h0"),)))
    made.before = {"h1": {"h0", "b1", "b2"}, "h0": {"b1"}, "b2": {"b1"}, "h9": {"h0"}}
    said(made.run, "T", FIXED, commit="", named=named)
    assert made.facts().threads is fact
    made.pulls = [ready(threads=(thread(comment(OWNER), commit=""),))]
    assert made.facts().threads is Threads.OPEN, "nobody knows what it was written on"


def test_what_did_not_satisfy_a_reviewer_does_not_settle_the_next_thing_they_say() -> None:
    more = comment(OWNER, "Still wrong.", 9.0)
    made = world(ready(threads=(thread(comment(OWNER), commit="h0"),)))
    made.before = {"h1": {"h0", "b1"}, "h2": {"h1", "h0", "b1"}}
    said(made.run, "T", FIXED, commit="h1")
    assert made.facts().threads is Threads.REPLY
    made.pulls = [ready(threads=(thread(comment(OWNER), more, commit="h0"),))]
    look = made.look()
    assert look.delivery is not None
    assert [one["since"] for one in told_points(look.delivery.points, made.run)] == ["h1"]
    said(made.run, "T", FIXED, comment(OWNER), more, commit="", named="h1", since="h1")
    assert made.facts().threads is Threads.OPEN


# the merge


@pytest.mark.parametrize(
    ("merge", "reviews", "fact"),
    [
        ("when-approved", (APPROVED,), Merge.FREE),
        ("when-approved", (), Merge.UNAPPROVED),
        ("when-approved", (review(STRANGER, ReviewState.APPROVED),), Merge.UNAPPROVED),
        ("when-approved", (review(OWNER, ReviewState.APPROVED, commit="h0"),), Merge.UNAPPROVED),
        ("when-approved", (APPROVED, review(OWNER, ReviewState.DISMISSED, at=3.0)), Merge.UNAPPROVED),
        ("when-approved", (APPROVED, review(OWNER, ReviewState.CHANGES, at=3.0)), Merge.UNAPPROVED),
        ("when-approved", (APPROVED, review(OWNER, ReviewState.COMMENTED, at=3.0)), Merge.FREE),
        ("when-approved", (review(Actor(ROBOT, is_bot=True), ReviewState.APPROVED),), Merge.FREE),
        ("when-approved", (review(Actor(ROBOT), ReviewState.APPROVED),), Merge.UNAPPROVED),
        ("when-approved", (review(BOT, ReviewState.APPROVED),), Merge.UNAPPROVED),
        ("manual", (APPROVED,), Merge.MANUAL),
        ("auto", (), Merge.FREE),
        ("auto", (review(OWNER, ReviewState.CHANGES, commit="h0"),), Merge.UNAPPROVED),
    ],
)
def test_when_it_may_be_merged(merge: str, reviews: tuple[Any, ...], fact: Merge) -> None:
    assert world(ready(reviews=reviews), plan=Plan(merge=merge)).facts().merge is fact


def test_changes_that_somebody_in_the_settings_asks_for_are_asked_for() -> None:
    """GitHub does not count them: whoever runs this does."""
    carla = Actor("carla", association="CONTRIBUTOR")
    wish = review(carla, ReviewState.CHANGES, "This leaks money.", at=1.0)
    plan = Plan(merge="auto", trusted=("carla",), labels=("epic",))
    made = world(ready(reviews=(REVIEWED, wish)), plan=plan)
    assert rule(made) == "points"
    made.run.delivery.answers[wish.id] = {"answer": DISAGREES, "why": "It does not.", "story": "epic-1.pr-1"}
    assert rule(made) == "reply-due"
    look = made.look()
    assert look.delivery is not None
    key = reply_key(look.delivery.points[0])
    did(made.run, "reply", key, NOW)
    assert rule(made) == "disputed"
    assert "This leaks money." in pull_question("disputed", made.look(), made.run).context
    answered(made.run, "disputed", key, "close-thread")
    assert rule(made) == "unapproved", "it still stands there"
    look = made.look()
    assert waits_for("unapproved", look.delivery and look.delivery.seen).startswith("carla to take back")
    made.pulls = [ready(reviews=(REVIEWED, wish, review(carla, ReviewState.DISMISSED, at=2.0)))]
    assert rule(made) == "merge"
    for trusted, fact in (((), Merge.FREE), (("lint",), Merge.FREE), (("lint[bot]",), Merge.UNAPPROVED)):
        bot = review(Actor("lint", is_bot=True), ReviewState.CHANGES, at=1.0)
        assert world(ready(reviews=(REVIEWED, bot)), plan=plan._replace(trusted=trusted)).facts().merge is fact


@pytest.mark.parametrize("merge", ["when-approved", "auto"])
def test_where_a_persons_review_is_wanted_only_a_persons_approval_will_do(merge: str) -> None:
    plan, robot = Plan(merge=merge, review="human"), review(Actor(ROBOT, is_bot=True), ReviewState.APPROVED)
    assert world(ready(reviews=()), plan=plan).facts().merge is Merge.UNAPPROVED
    assert world(ready(reviews=(robot,)), plan=plan).facts().merge is Merge.UNAPPROVED
    assert world(ready(reviews=(robot, APPROVED)), plan=plan).facts().merge is Merge.FREE


def test_the_robots_approval_of_its_own_rules_is_none() -> None:
    robot = review(Actor(ROBOT, is_bot=True), ReviewState.APPROVED)
    made = world(ready(reviews=(robot,)), files=(".github/workflows/auto-approve.yml",))
    assert made.facts().merge is Merge.UNAPPROVED


def test_what_is_too_large_for_a_robot_waits_for_a_persons_approval() -> None:
    """It cannot be told whether it changes what judges it."""
    robot = review(Actor(ROBOT, is_bot=True), ReviewState.APPROVED)
    made = world(ready(reviews=(REVIEWED, robot)), files=tuple(f"{number}.py" for number in range(MOST_FILES)))
    assert rule(made) == "unapproved"
    look = made.look()
    assert "a person's approval" in waits_for("unapproved", look.delivery and look.delivery.seen)
    made.pulls = [ready(reviews=(REVIEWED, robot, APPROVED))]
    assert rule(made) == "merge"
    small = world(ready(reviews=(REVIEWED,))).look()
    assert waits_for("unapproved", small.delivery and small.delivery.seen) == "an approval"


def test_a_robot_that_would_approve_is_started_once_and_only_where_there_is_one() -> None:
    """GitHub may hold back the run that Copilot's review starts."""
    there, later = (WORKFLOW_PATH,), NOW + 3600.0
    waits = ready(reviews=(REVIEWED,))
    assert rule(world(waits, now_at=later)) == "unapproved"
    assert rule(world(waits, in_base=there, now_at=later)) == "robot-due"
    assert rule(world(waits, in_base=there, now_at=later, plan=Plan(merge="manual"))) == "by-hand"
    assert rule(world(ready(reviews=()), in_base=there, now_at=later)) != "robot-due", "nobody has reviewed it"
    started = world(waits, in_base=there, now_at=later)
    did(started.run, "start-robot", "h1")
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
    answered(answered_once.run, "approval-late", "h1", "wait-more", at=late - 60.0)
    assert rule(answered_once) == "unapproved"


def test_what_is_green_counts_once_checks_had_time_to_appear_and_it_has_stayed_so() -> None:
    """A job that needs another one is listed only when that has ended."""
    soon = world(ready(), now_at=1119.0)
    assert rule(soon) == "checks-run"
    assert soon.look().until == 1120.0
    fresh = world(ready(), is_settled=False)
    assert rule(fresh) == "checks-fresh"
    apply(fresh.run, "green", {"key": "h1:1"}, NOW)
    assert rule(fresh) == "checks-run"
    assert fresh.look().until == NOW + 10.0
    fresh.now_at = NOW + 10.0
    assert rule(fresh) == "merge"
    fresh.pulls[0] = ready(checks=(GREEN, RemoteCheck("more", CheckState.PASSED)))
    assert rule(fresh) == "checks-fresh", "another has come since"


def test_drafts_and_queues_are_left_to_whom_they_belong() -> None:
    assert world(ready(is_draft=True), plan=Plan(merge="auto")).facts().merge is Merge.MANUAL
    assert world(ready(is_queued=True)).facts().merge is Merge.QUEUED


def test_a_merge_queue_that_never_comes_to_it_is_asked_about_in_the_end() -> None:
    made = world(ready(is_queued=True), now_at=NOW + 86400.0)
    did(made.run, "enqueue", "h1", NOW + 10.0)
    assert rule(made) == "in-the-queue"
    assert made.look().until == NOW + 86410.0
    made.now_at = NOW + 86410.0
    assert rule(made) == "approval-late"
    assert "merge queue" in pull_question("approval-late", made.look(), made.run).context
    answered(made.run, "approval-late", "h1", "wait-more", at=made.now_at)
    assert rule(made) == "in-the-queue"


def test_what_the_forge_does_not_call_free_is_waited_for_and_then_asked_about() -> None:
    """A required check that never reported: an administrator's login would merge over it."""
    made = world(ready(merge_state="BLOCKED"), now_at=BEGAN + 119.0)
    made.run.delivery.green_at = BEGAN
    made.plan = PLAN._replace(grace=120.0)
    assert made.facts().merge is Merge.BLOCKED
    made.now_at = BEGAN + 120.0
    assert rule(made) == "merge-refused"
    answered(made.run, "merge-refused", "h1:b1", "try-merge", at=made.now_at)
    assert rule(made) == "blocked", "still over no rule"
    assert made.look().until == BEGAN + 240.0
    look = made.look()
    assert "GitHub calls it BLOCKED" in waits_for("blocked", look.delivery and look.delivery.seen)
    made.now_at = BEGAN + 240.0
    assert rule(made) == "merge-refused"
    assert question_key("merge-refused", made.look(), made.run) == "h1:b1"
    made.pulls = [ready()]
    assert rule(made) == "merge"


def test_what_is_not_known_yet_is_looked_at_again_soon() -> None:
    made = world(ready(merge_state="UNKNOWN"), is_settled=False)
    apply(made.run, "green", {"key": "h1:1"}, NOW - 20.0)
    assert rule(made) == "blocked"
    assert made.look().until == NOW + LAG


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"reviews": (REVIEWED,)}, Merge.UNAPPROVED),
        ({"decision": "REVIEW_REQUIRED"}, Merge.UNAPPROVED),
        ({"is_draft": True}, Merge.MANUAL),
        ({"is_queued": True}, Merge.QUEUED),
        ({"needs_queue": True}, Merge.FREE),
    ],
)
def test_what_is_blocked_for_another_reason_waits_for_that(more: dict[str, Any], fact: Merge) -> None:
    assert world(ready(merge_state="BLOCKED", **more)).facts().merge is fact
    assert world(ready(merge_state="BLOCKED"), plan=Plan(merge="manual")).facts().merge is Merge.MANUAL


def test_a_merge_that_was_refused_is_tried_again_once_for_each_answer() -> None:
    made = world(ready())
    did(made.run, "merge-refused", "h1:b1", mark="0")
    assert made.facts().merge is Merge.REFUSED
    answered(made.run, "merge-refused", "h1:b1", "try-merge")
    assert made.facts().merge is Merge.FREE
    did(made.run, "merge-refused", "h1:b1", mark="1")
    assert made.facts().merge is Merge.REFUSED
    made.before["h1"].add("b2")
    made.remote[BASE] = "b2"  # with another base it is another merge
    assert made.facts().merge is Merge.FREE


# an epic on top of another


def test_an_epic_on_one_that_is_not_merged_waits_for_it() -> None:
    first = pull(number=6, head_ref="feature/epic-0", head="e0", labels=())
    made = world(ready(base_ref="feature/epic-0"), first, plan=Plan(onto="feature/epic-0"))
    made.remote["feature/epic-0"] = "e0"
    assert (made.facts().aim, made.facts().merge) == (True, Merge.MANUAL)
    assert rule(made) == "by-hand"
    made.taken = TakenIn("", ("a.py",))
    assert made.facts().base is Base.IN, "met once the epic before it is merged"
    look = made.look()
    assert waits_for("by-hand", look.delivery and look.delivery.seen) == (
        "the pull request of feature/epic-0, which it stands on"
    )


def test_once_that_is_merged_it_goes_to_the_base() -> None:
    first = pull(number=6, head_ref="feature/epic-0", head="e0", state=PullState.MERGED, merged_as="b2")
    made = world(ready(base_ref="feature/epic-0"), first, plan=Plan(onto="feature/epic-0"))
    made.remote[BASE] = "b2"
    assert (made.facts().aim, made.facts().base) == (False, Base.MOVED)
    look = made.look()
    assert look.delivery is not None
    assert look.delivery.seen.since == "fork of h1 and e0"


# without a forge


def test_local_delivery_needs_no_forge() -> None:
    made = World(plan=Plan(kind="local"), error=ForgeError(Trouble.LOGIN, "none"))
    assert rule(made) == "merge"
    made.plan = Plan(kind="local", merge="manual")
    assert rule(made) == "by-hand"
    did(made.run, "merge", "h1", sha="m1")
    made.local[BASE], made.before["m1"] = "m1", {"b1"}
    assert made.facts().pull is PullFact.MERGED


# words


def test_every_wait_for_a_pull_request_says_for_what() -> None:
    assert WAITS_FOR.keys() == {one.name for one in TO_MERGED if one.action is Action.WAIT_FOR_PULL}


def test_a_draft_waits_for_a_person() -> None:
    look = world(ready(is_draft=True)).look()
    assert waits_for("by-hand", look.delivery and look.delivery.seen) == "a person to take it out of draft"
    assert waits_for("of a newer version", None) == "of a newer version"
