"""The rules of approving: each condition holds the approval back by itself, and nothing unproven passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.github.approval import (
    COPILOT,
    MOST_FILES,
    ROBOT,
    CheckFact,
    Rules,
    Situation,
    approvals,
    ci,
    is_reviewed,
    judge,
    plain,
    standing,
    with_missing,
)
from tests.github.situations import HEAD, NOW, OLD, READY, RULES, STATES, approval, review, rules, situations


def checks(*states: str) -> tuple[CheckFact, ...]:
    return tuple(CheckFact(f"check {number}", state) for number, state in enumerate(states))


def word(**changes: object) -> str:
    return judge(READY._replace(**changes), RULES).word  # type: ignore[arg-type]


def test_with_all_four_conditions_it_is_approved() -> None:
    assert judge(READY, RULES).word == "approve"


@pytest.mark.parametrize(
    "changes",
    [
        {"pushed": NOW - 599},
        {"arrived": NOW - 119},  # a base taken in just now: checks have not had their two minutes
        {"pushed": 0.0},
        {"arrived": 0.0},
        {"reviews": ()},
        {"reviews": (review(commit=OLD),)},
        {"reviews": (review(commit=""),)},
        {"reviews": (review("DISMISSED"),)},
        {"reviews": (review("PENDING"),)},
        {"reviews": (review(bot=False),)},  # somebody whose account is called like Copilot
        {"reviews": (review(login="mallory"),)},
        {"reviews": (review(), review("CHANGES_REQUESTED", "ann", bot=False, commit=OLD))},
        {"reviews": (review("CHANGES_REQUESTED"),)},
        {"unresolved": 1},
        {"checks": ()},
        {"checks": checks("skipped", "neutral")},
        *(
            {"checks": checks("passed", state)}
            for state in STATES
            if state not in ("passed", "skipped", "neutral")
        ),
        {"checks": (CheckFact("test", "passed", is_own=True),)},
        {"checks": with_missing(checks("passed"), ["deploy preview"])},
    ],
)
def test_each_condition_holds_it_back(changes: dict[str, object]) -> None:
    assert word(**changes) == "wait"


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "CLOSED"},
        {"state": "MERGED"},
        {"is_draft": True},
        {"is_foreign": True},
        {"head_ref": "main"},
        {"files": ("src/a.py", ".github/workflows/ci.yml")},
        {"files": (".github/workflows/deep/x.yml",)},
        {"files": (".GitHub/Workflows/ci.yml",)},
        {"files": (".github/actions/setup/action.yml",)},
        {"files": (".github/scripts/auto-approve-gate.py",)},
        {"files": ("bmad-autopilot.toml",)},
        {"files": ("docs/CODEOWNERS",)},
        {"files": tuple(f"src/{number}.py" for number in range(MOST_FILES))},
    ],
)
def test_it_is_refused_for_good(changes: dict[str, object]) -> None:
    assert word(**changes) == "refuse"


@pytest.mark.parametrize("path", ["src/.github/workflows/x.yml", "docs/workflows/a.yml", "github/workflows/a.yml"])
def test_files_that_only_look_alike_are_no_reason(path: str) -> None:
    assert word(files=(path,)) == "approve"


def test_skipped_and_neutral_are_fine_beside_one_that_passed() -> None:
    assert word(checks=checks("skipped", "passed", "neutral")) == "approve"


def test_its_own_check_is_not_waited_for() -> None:
    assert word(checks=(*checks("passed"), CheckFact("auto-approve", "pending", is_own=True))) == "approve"


def test_no_checks_at_all_may_be_allowed() -> None:
    assert judge(READY._replace(checks=()), Rules(require_checks=False)).word == "approve"


def test_when_only_time_is_missing_it_says_until_when() -> None:
    assert judge(READY._replace(pushed=NOW - 10), RULES).again_at == NOW + 590
    assert judge(READY._replace(arrived=NOW - 20), RULES).again_at == NOW + 100
    assert judge(READY._replace(pushed=NOW - 10, checks=checks("pending")), RULES).again_at == 0


@pytest.mark.parametrize(
    ("changes", "needs_people"),
    [
        ({"unresolved": 1}, True),
        ({"reviews": ()}, True),
        ({"checks": checks("failed")}, True),
        ({"checks": ()}, True),
        ({"pushed": NOW}, False),
        ({"checks": checks("pending")}, False),
        ({"checks": checks("unknown")}, False),
    ],
)
def test_what_time_brings_is_told_from_what_people_must_do(changes: dict[str, object], needs_people: bool) -> None:
    ruling = judge(READY._replace(**changes), RULES)  # type: ignore[arg-type]
    assert (ruling.word, ruling.needs_people) == ("wait", needs_people)


# the robot's own approvals


@pytest.mark.parametrize(
    "changes",
    [
        {"unresolved": 2},
        {"checks": checks("passed", "failed")},
        {"files": (".github/workflows/ci.yml",)},
        {"reviews": (review(), approval(), review("CHANGES_REQUESTED", "ann", bot=False))},
        {"reviews": (review(), approval(OLD))},
        {"reviews": (approval(),)},  # Copilot's review is gone
    ],
)
def test_an_approval_is_taken_back_where_a_condition_broke(changes: dict[str, object]) -> None:
    ruling = judge(READY._replace(**{"reviews": (review(), approval()), **changes}), RULES)  # type: ignore[arg-type]
    assert (ruling.word, ruling.dismissals) == ("dismiss", (approval().number,))


def test_a_stale_approval_goes_before_the_new_ten_minutes_are_over() -> None:
    assert word(pushed=NOW - 5, reviews=(review(), approval(OLD))) == "dismiss"


def test_one_that_stands_is_seen() -> None:
    ruling = judge(READY._replace(reviews=(review(), approval())), RULES)
    assert (ruling.word, ruling.is_standing) == ("approve", True)


def test_an_approval_survives_the_base_taken_in() -> None:
    situation = READY._replace(
        content=(HEAD, OLD), arrived=NOW - 5, checks=(), reviews=(review(commit=OLD), approval(OLD))
    )
    ruling = judge(situation, RULES)
    assert (ruling.word, ruling.is_standing, ruling.dismissals) == ("wait", True, ())


@pytest.mark.parametrize("changes", [{"state": "CLOSED"}, {"is_foreign": True}, {"head_ref": "dependabot/x"}])
def test_approvals_on_what_is_not_ours_are_left_alone(changes: dict[str, object]) -> None:
    ruling = judge(READY._replace(unresolved=1, reviews=(approval(OLD),), **changes), RULES)  # type: ignore[arg-type]
    assert (ruling.word, ruling.dismissals) == ("refuse", ())


def test_nobody_elses_approval_is_ever_taken_back() -> None:
    ann = review("APPROVED", "ann", bot=False, commit=OLD)
    namesake = review("APPROVED", ROBOT, bot=False, commit=OLD)
    assert word(unresolved=1, reviews=(review(), ann, namesake)) == "wait"


# ci


def test_no_checks_are_none_only_after_the_grace() -> None:
    assert ci((), NOW - 119, NOW, 120) == "pending"
    assert ci((), NOW - 120, NOW, 120) == "none"
    assert ci((), 0.0, NOW, 120) == "pending"


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("passed", "pending", "failed"), "red"),
        (("cancelled", "passed"), "red"),
        (("action-required", "passed"), "action"),
        (("unknown", "passed"), "unknown"),
        (("never-heard-of", "passed"), "unknown"),
        (("passed", "pending"), "pending"),
        (("passed", "skipped"), "green"),
    ],
)
def test_the_worst_check_decides(states: tuple[str, ...], expected: str) -> None:
    assert ci(checks(*states), NOW - 500, NOW, 120) == expected
    assert ci(checks(*reversed(states)), NOW - 500, NOW, 120) == expected


@given(st.lists(st.sampled_from(STATES), max_size=5))
def test_green_means_one_passed_and_none_did_anything_else(states: list[str]) -> None:
    is_green = ci(checks(*states), NOW - 500, NOW, 120) == "green"
    assert is_green == ("passed" in states and {*states} <= {"passed", "skipped", "neutral"})


# reviews


def test_the_last_opinion_of_each_author_counts() -> None:
    ann = [
        review(state, "ann", bot=False, at=NOW + number)
        for number, state in enumerate(["CHANGES_REQUESTED", "APPROVED", "COMMENTED"])
    ]
    assert [one.state for one in standing(ann)] == ["APPROVED"]
    assert standing([*ann, review("DISMISSED", "ann", bot=False, at=NOW + 9)]) == []


def test_approvals_count_for_this_content_and_from_those_who_belong_here() -> None:
    ann = review("APPROVED", "ann", bot=False)
    stranger = review("APPROVED", "mallory", bot=False)._replace(association="CONTRIBUTOR")
    other_bot = review("APPROVED", "dependabot")
    assert approvals([ann, stranger, other_bot, approval()], [HEAD]) == [ann, approval()]
    assert approvals([ann._replace(commit=OLD)], [HEAD]) == []
    assert approvals([ann._replace(commit=OLD)], [HEAD, OLD])


def test_a_robot_that_the_pull_request_may_have_brought_itself_does_not_count() -> None:
    ann = review("APPROVED", "ann", bot=False)
    assert approvals([ann, approval()], [HEAD], [".github/workflows/approve-me.yml"]) == [ann]


def test_a_person_can_be_the_reviewer() -> None:
    assert is_reviewed([review("COMMENTED", "ann", bot=False)], "ann", [HEAD])
    assert not is_reviewed([review(bot=False)], COPILOT, [HEAD])


# properties


@given(situations, rules)
def test_nothing_is_approved_that_is_not_proven(situation: Situation, rules: Rules) -> None:
    ruling = judge(situation, rules)
    assert (ruling.word == "dismiss") == bool(ruling.dismissals)
    assert bool(ruling.reasons) == (ruling.word != "approve")
    if ruling.word != "approve":
        return
    assert situation.state == "OPEN"
    assert {situation.is_draft, situation.is_foreign, situation.unresolved > 0} == {False}
    assert situation.now >= situation.pushed + rules.min_age
    assert not any(path.casefold().startswith(".github/workflows/") for path in situation.files)
    others = [check.state for check in situation.checks if not check.is_own]
    assert {*others} <= {"passed", "skipped", "neutral"}
    assert "passed" in others or not rules.require_checks


@given(situations, rules)
def test_after_a_dismissal_there_is_nothing_more_to_dismiss(situation: Situation, rules: Rules) -> None:
    ruling = judge(situation, rules)
    after = situation._replace(
        reviews=tuple(
            one._replace(state="DISMISSED") if one.number in ruling.dismissals else one
            for one in situation.reviews
        )
    )
    if ruling.word == "dismiss":
        assert judge(after, rules).word != "dismiss"


@given(st.text())
def test_others_words_are_one_plain_line(text: str) -> None:
    shown = plain(text)
    assert len(shown) <= 60
    assert shown.isprintable()
    assert not {*"@`<>#:[]"} & {*shown}
