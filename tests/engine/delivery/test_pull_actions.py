"""The effects of a delivery: written down before and after, whatever the forge answers."""

from typing import Any, cast

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.errors import AutopilotError, Location
from bmad_autopilot.core.facts import ForgeFact
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.core.journal_fold import apply_entry
from bmad_autopilot.core.run_record import RunRecord
from bmad_autopilot.core.transitions import DELIVERY_RULES, Rule, RuleAction
from bmad_autopilot.engine.delivery.observe import MAX_TROUBLES, PATIENCE
from bmad_autopilot.engine.delivery.pull_actions import note_existing_pull, perform_delivery
from bmad_autopilot.engine.delivery.threads import comment_mark
from bmad_autopilot.engine.observation import Loop
from bmad_autopilot.engine.ports import WorktreeSnapshot
from bmad_autopilot.git.git import LockedError, MovedError
from bmad_autopilot.github.forge import CheckState, NewPull, Pull, RemoteCheck, ReviewState
from tests.engine.delivery.crash_injection import lane
from tests.engine.delivery.worlds import World
from tests.support.ports import ports_of
from tests.support.pull_builders import BASE, BOT, BRANCH, OWNER, add_thread_answer, comment, pull, review, thread

KEY = f"T:{comment_mark(comment(OWNER).id, comment(OWNER).body)}:e.pr-1"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


class Stage(World):
    """The same world, in which things are done: what was asked for, in order."""

    answer: ForgeError | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked: list[tuple[Any, ...]] = []
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.awaited_question = ""
        self.lane = lane()

    @property
    def ports(self) -> Any:
        return ports_of(self)

    def note(self, kind: str, /, **data: Any) -> None:
        self.notes.append((kind, data))
        apply_entry(self.run, kind, data, self.now_at)

    def perform(self, action: RuleAction, rule: str = "") -> str | None:
        """`rule`: the row of the table whose parameters are used."""
        found = (one for one in DELIVERY_RULES if one.name == rule and one.action is action)
        return perform_delivery(cast(Loop, self), self.look(), next(found, Rule("", {}, action)))

    def _did(self, *what: Any) -> Any:
        self.asked.append(what)
        if self.answer is not None:
            raise self.answer

    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        self._did("merge", number, head, subject)
        return "m1"

    def open_pull(self, order: NewPull) -> int:
        self._did("open-pull", order.head_ref)
        return 7

    def pull_text(self, run: RunRecord) -> tuple[str, str]:
        return "Epic 1", ""

    def reply(self, thread: str, body: str) -> None:
        self._did("reply", thread)

    def request_review(self, found: Pull, reviewer: str) -> None:
        self._did("request-review", reviewer)

    def log_tail(self, check: RemoteCheck) -> str:
        self._did("log", check.name)
        return f"token={TOKEN}\nAssertionError: boom"

    def trailers(self, older: str, newer: str) -> list[tuple[str, str]]:
        return []

    def snapshot(self, story: str) -> WorktreeSnapshot:
        return WorktreeSnapshot("h1", BRANCH, "t1", "c1")

    def clear_state(self, story: str) -> None:
        self.asked.append(("clear-state", story))


def stage(found: Pull, answer: ForgeError | None = None) -> Stage:
    made = Stage([found])
    made.pushed()
    made.run.delivery.pull = found.number
    made.answer = answer
    return made


GREEN = RemoteCheck("test", CheckState.PASSED)
READY = pull(checks=(GREEN,), reviews=(review(BOT, ReviewState.COMMENTED), review(OWNER, ReviewState.APPROVED)))


def test_an_effect_is_written_down_before_it_is_done_and_after() -> None:
    made = stage(READY)
    made.perform(RuleAction.MERGE)
    assert made.asked == [("merge", 7, "h1", "Epic 1: Sign in (#7)")]
    assert [kind for kind, _ in made.notes] == ["effect", "did"]
    assert made.run.delivery.completed_effects["merge:h1"]["sha"] == "m1"


def test_a_login_that_is_gone_ends_the_command_and_leaves_it_pending() -> None:
    made = stage(READY)
    made.error = ForgeError(ForgeErrorKind.LOGIN, "not logged in", hint="gh auth login")
    with pytest.raises(ForgeError, match="not logged in"):
        made.perform(RuleAction.WAIT_FOR_FORGE)
    assert [kind for kind, _ in made.notes] == ["pending"]
    assert "gh auth login" in str(made.run.delivery.current_wait)


def test_without_a_login_an_effect_is_left_to_the_next_command() -> None:
    """What can be read without one cannot always be written."""
    made = stage(READY, ForgeError(ForgeErrorKind.LOGIN, "not logged in"))
    with pytest.raises(ForgeError, match="not logged in"):
        made.perform(RuleAction.MERGE)
    assert [kind for kind, _ in made.notes] == ["effect", "trouble", "pending"]
    assert (list(made.run.delivery.started_effects), made.run.delivery.refused_effects) == (["merge:h1"], {})


@pytest.mark.parametrize(
    "trouble", [ForgeErrorKind.UNAVAILABLE, ForgeErrorKind.LIMIT, ForgeErrorKind.UNRECOGNIZED]
)
def test_a_lost_answer_leaves_it_begun(trouble: ForgeErrorKind) -> None:
    made = stage(READY, ForgeError(trouble, "no answer"))
    made.perform(RuleAction.MERGE)
    record = made.run.delivery
    assert (
        list(record.started_effects),
        record.completed_effects.keys() & {"merge:h1"},
        record.refused_effects,
    ) == (["merge:h1"], set(), {})


def test_a_refused_merge_is_a_question_of_its_own() -> None:
    made = stage(READY, ForgeError(ForgeErrorKind.REFUSED, "a rule of the branch"))
    made.perform(RuleAction.MERGE)
    record = made.run.delivery
    assert (record.started_effects, record.refused_effects) == ({}, {})
    assert record.completed_effects["merge-refused:h1:b1"]["why"] == "a rule of the branch"
    assert made.facts().merge.value == "refused"


@pytest.mark.parametrize(
    "error",
    [
        ForgeError(
            ForgeErrorKind.REFUSED, "Base branch was modified. Review and try the merge again.", status=405
        ),
        ForgeError(
            ForgeErrorKind.REFUSED, "Head branch was modified. Review and try the merge again.", status=409
        ),
        ForgeError(ForgeErrorKind.REFUSED, "expected head sha didn't match current head ref.", status=422),
        MovedError("has moved while we were about to move it"),
        LockedError("another git process has held this lock for 5 s"),
    ],
    ids=["base", "head", "sha", "ref", "lock"],
)
def test_a_merge_that_comes_too_late_is_decided_anew_a_few_times(error: AutopilotError) -> None:
    """Nothing was done, and nobody is asked: the next look may see the base that has moved. A race that is lost
    each time is a question all the same."""
    made = stage(READY, cast(ForgeError, error))
    for tries in range(1, MAX_TROUBLES + 1):
        assert decide(made.facts()).action is RuleAction.MERGE
        made.perform(RuleAction.MERGE)
        record = made.run.delivery
        assert (
            record.started_effects,
            record.refused_effects,
            record.completed_effects.keys() & {"merge-refused:h1:b1"},
        ) == ({}, {}, set())
        assert len(made.asked) == tries
        if tries == 1:
            continue  # tried again at once
        assert decide(made.facts()).name == "forge-away"
        made.now_at += 60.0
    assert decide(made.facts()).name == "forge-refused"
    assert error.message in made.look().worktree_problem

    made.run.delivery.head = "h2"  # the base was taken in, or somebody's commit
    made.pushed("h2")
    assert made.facts().forge is not ForgeFact.REFUSED


def test_a_race_that_is_won_in_the_end_is_forgotten() -> None:
    made = stage(READY, ForgeError(ForgeErrorKind.REFUSED, "Base branch was modified.", status=405))
    made.perform(RuleAction.MERGE)
    made.answer = None
    made.perform(RuleAction.MERGE)
    assert made.run.delivery.completed_effects["merge:h1"]["sha"] == "m1"
    assert made.run.delivery.failed_effects == {}


def test_nothing_is_merged_into_a_base_that_moved_before_it_was_our_turn() -> None:
    """Another lane was merged between the look and the turn."""
    made = stage(READY)
    look = made.look()
    made.remote[BASE] = "b2"
    perform_delivery(cast(Loop, made), look, Rule("", {}, RuleAction.MERGE))
    assert made.asked == []


def test_any_other_refusal_is_kept_with_its_reason() -> None:
    made = stage(pull(threads=(thread(comment(OWNER)),)), ForgeError(ForgeErrorKind.DENIED, "not allowed to"))
    add_thread_answer(made.run, "T", "fixed")
    made.perform(RuleAction.REPLY)
    assert made.run.delivery.refused_effects == {f"reply:{KEY}": "not allowed to"}


def test_many_threads_are_answered_after_one_look() -> None:
    """More than the same row may be taken in a row: it is no going round in circles."""
    made = stage(pull(threads=tuple(thread(comment(OWNER), id=f"T{number}") for number in range(60))))
    for number in range(60):
        add_thread_answer(made.run, f"T{number}", "fixed")
    for _ in range(3):
        made.perform(RuleAction.REPLY)
    assert made.asked == [("reply", f"T{number}") for number in range(60)]


def test_after_one_that_fails_it_is_looked_again() -> None:
    found = pull(threads=(thread(comment(OWNER), id="T1"), thread(comment(OWNER), id="T2")))
    made = stage(found, ForgeError(ForgeErrorKind.UNAVAILABLE, "no answer"))
    add_thread_answer(made.run, "T1", "fixed")
    add_thread_answer(made.run, "T2", "fixed")
    made.perform(RuleAction.REPLY)
    assert made.asked == [("reply", "T1")]


def test_a_pull_request_whose_opening_nobody_heard_of_goes_by_its_number() -> None:
    made = stage(READY)
    made.run.delivery.pull = 0
    made.note("effect", do="open-pull", key=BRANCH)
    made.now_at += 60.0
    found = made.seen().snapshot
    for _ in range(2):
        note_existing_pull(cast(Loop, made), found)
    assert [data for kind, data in made.notes if kind == "did"] == [
        {"do": "open-pull", "key": BRANCH, "number": 7, "found": True}
    ]
    assert (made.run.delivery.pull, made.run.delivery.started_effects) == (7, {})


def test_which_base_it_was_opened_for_is_written_down() -> None:
    made = stage(READY)
    made.perform(RuleAction.OPEN_PULL)
    assert made.run.delivery.completed_effects[f"open-pull:{BRANCH}"]["base"] == BASE


def test_a_thread_that_is_gone_needs_nothing_any_more() -> None:
    made = stage(pull(threads=(thread(comment(OWNER)),)), ForgeError(ForgeErrorKind.MISSING, "gone"))
    add_thread_answer(made.run, "T", "fixed")
    made.perform(RuleAction.REPLY)
    assert made.run.delivery.is_done("reply", KEY)


@pytest.mark.parametrize(
    ("trouble", "known"),
    [(ForgeErrorKind.DENIED, True), (ForgeErrorKind.REFUSED, True), (ForgeErrorKind.UNAVAILABLE, False)],
)
def test_a_review_that_cannot_be_asked_for_is_not_asked_for_again(trouble: ForgeErrorKind, known: bool) -> None:
    made = stage(pull(), ForgeError(trouble, "no Copilot here"))
    made.perform(RuleAction.REQUEST_REVIEW)
    assert made.run.delivery.is_done("no-review") is known
    assert made.run.delivery.is_done("request-review", "h1") is known


def opened(made: Stage, rule: str) -> dict[str, Any]:
    made.perform(RuleAction.START_FIX_ROUND, rule)
    (data,) = (data for kind, data in made.notes if kind == "pull-round")
    return data


@pytest.mark.parametrize("state", [CheckState.FAILED, CheckState.CANCELLED])
def test_a_round_for_red_checks_has_the_ends_of_their_logs_without_secrets(state: CheckState) -> None:
    data = opened(stage(pull(checks=(GREEN, RemoteCheck("lint", state, job=3)))), "red")
    assert data["story"] == "epic-1.pr-1"
    assert (data["why"], data["points"]) == ("red", [])
    (log,) = data["logs"]
    assert log["title"] == "The check lint:"
    assert "AssertionError: boom" in log["text"]
    assert TOKEN not in log["text"]


def test_a_log_that_cannot_be_read_is_told_as_that() -> None:
    made = stage(
        pull(checks=(RemoteCheck("lint", CheckState.FAILED),)), ForgeError(ForgeErrorKind.MISSING, "gone")
    )
    assert "could be read" in opened(made, "red")["logs"][0]["text"]


def test_a_round_for_points_tells_each_and_numbers_go_on() -> None:
    made = stage(pull(checks=(GREEN,), threads=(thread(comment(OWNER)),)))
    data = opened(made, "points")
    assert (data["why"], data["logs"], [one["thread"] for one in data["points"]]) == ("points", [], ["T"])
    made.notes.clear()
    assert opened(made, "points")["story"] == "epic-1.pr-2"


def test_what_waits_says_so_after_each_look() -> None:
    """Its records say that it is gone on with each time, and have to say again that it waits."""
    made = stage(pull(fingerprint="f1"))
    for _ in range(2):
        assert made.perform(RuleAction.WAIT_FOR_PULL, "unapproved") == "pending"
    assert [(data["why"], data["fingerprint"]) for _, data in made.notes] == [("an approval", "f1")] * 2


def test_a_lock_that_a_look_meets_is_waited_for_and_then_asked_about() -> None:
    made = Locked([READY])
    made.pushed()
    made.run.delivery.pull = READY.number
    began = made.now_at
    while decide(made.facts()).name == "forge-away":
        assert made.perform(RuleAction.WAIT_FOR_FORGE) == "pending"
        made.now_at += 60.0
        assert made.now_at <= began + PATIENCE + 60.0, "it waits for ever"
    assert made.now_at >= began + PATIENCE
    assert decide(made.facts()).name == "forge-refused"
    assert "rm /repository/.git/refs/remotes/origin/main.lock" in made.look().worktree_problem


class Locked(Stage):
    def remote_heads(self, *branches: str) -> dict[str, str]:
        lock = "/repository/.git/refs/remotes/origin/main.lock"
        raise LockedError(
            "another git process has held this lock for 5 s", location=Location(lock), hint=f"rm {lock}"
        )
