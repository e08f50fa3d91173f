"""The gate script's loop on a small GitHub: what it does there, and that it ends."""

from collections.abc import Callable
from typing import Any

import pytest

from bmad_autopilot.github import gate_reader, gate_runner
from bmad_autopilot.github.approval import COPILOT, GATE_WORKFLOW, Rules
from bmad_autopilot.github.gate_reader import GateTrouble, Place, look
from bmad_autopilot.github.gate_runner import Pace, main, watch
from tests.support.gate_github import BASE, HEAD, OLD, REPOSITORY, GateGitHub, Refused, check_run

NOW = 1_700_000_000.0
PLACE = Place(REPOSITORY, 7, run=42)
PACE = Pace()
RULES = Rules()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GateGitHub:
    made = GateGitHub(NOW)
    made.review(COPILOT, "COMMENTED")

    def call(path: str, *, method: str = "GET", body: object = None) -> Any:
        try:
            return made.call(path, method=method, body=body)
        except Refused as refused:
            raise GateTrouble(f"HTTP {refused.status}: {refused}") from refused

    monkeypatch.setattr(gate_reader, "call", call)
    monkeypatch.setattr(gate_runner, "call", call)
    return made


def run(world: GateGitHub, *, at: dict[int, Callable[[], object]] | None = None, pace: Pace = PACE) -> bool:
    """Watch, with a clock that only sleeping moves; `at`: what happens during the n-th sleep."""
    slept = 0

    def sleep(seconds: float) -> None:
        nonlocal slept
        assert seconds > 0
        world.now += seconds
        slept += 1
        (at or {}).get(slept, lambda: None)()

    return watch(PLACE, RULES, pace, clock=lambda: world.now, sleep=sleep)


def test_a_ready_one_is_approved_once_for_the_head_that_was_judged(world: GateGitHub) -> None:
    assert run(world)
    assert world.effect_names() == ["approve"]
    assert world.effects[0][1]["commit_id"] == HEAD
    assert "@" not in world.effects[0][1]["body"]
    assert "<!-- bmad-autopilot:auto-approve -->" in world.effects[0][1]["body"]
    assert run(world)
    assert world.effect_names() == ["approve"]


def test_it_waits_for_the_ten_minutes_and_then_approves(world: GateGitHub) -> None:
    world.pushes = [(HEAD, NOW - 60)]
    assert run(world)
    assert world.effect_names() == ["approve"]
    assert NOW + 540 <= world.now <= NOW + 640


def test_it_polls_for_checks_that_are_under_way(world: GateGitHub) -> None:
    world.checks = [check_run("test", "IN_PROGRESS")]

    def pass_now() -> None:
        world.checks = [check_run("test", "SUCCESS")]

    assert run(world, at={4: pass_now})
    assert world.effect_names() == ["approve"]
    assert world.now >= NOW + 120


def test_open_threads_take_an_earlier_approval_back_and_end_the_run(world: GateGitHub) -> None:
    world.review("github-actions", "APPROVED")
    world.threads = [True, False]
    assert run(world)
    assert world.effect_names() == ["dismiss"]
    assert world.effects[0][1]["message"] == "Taken back: 1 review threads are open."


def test_what_changes_workflows_is_refused_under_its_old_name_too(world: GateGitHub) -> None:
    world.files = [{"filename": "docs/ci.txt", "previous_filename": ".github/workflows/ci.yml"}]
    assert run(world)
    assert world.effects == []


def test_a_push_right_after_the_approval_takes_it_back(world: GateGitHub) -> None:
    def push() -> None:
        world.head, world.commits = OLD, [(HEAD, [BASE]), (OLD, [HEAD])]
        world.pushes = [(OLD, world.now), (HEAD, NOW - 3600)]

    assert run(world, at={1: push})
    assert world.effect_names() == ["approve", "dismiss"]


def test_an_approval_that_the_setting_forbids_is_an_error_at_once(world: GateGitHub) -> None:
    world.may_approve = False
    with pytest.raises(GateTrouble, match="not permitted"):
        run(world)


def test_a_github_that_stays_away_is_given_up_after_five_looks(
    world: GateGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> Any:
        raise GateTrouble("HTTP 502")

    monkeypatch.setattr(gate_reader, "call", away)
    with pytest.raises(GateTrouble):
        run(world)
    assert world.now == NOW + 4 * 30


def test_a_run_is_bounded_and_hands_on(world: GateGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    world.checks = [check_run("test", "QUEUED", started=0)]
    assert not run(world)
    assert world.now <= NOW + 1800
    environment(monkeypatch, PR_NUMBER="7", ATTEMPT="2", DEFAULT_BRANCH="trunk")
    assert main(RULES, Pace(poll=0.001, most_looks=2)) == 0
    assert world.effects == [("dispatch", {"ref": "trunk", "inputs": {"pr_number": "7", "attempt": "3"}})]


def test_the_last_run_hands_on_to_nobody(world: GateGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    world.checks = [check_run("test", "QUEUED", started=0)]
    environment(monkeypatch, PR_NUMBER="7", ATTEMPT="5")
    assert main(RULES, Pace(poll=0.001, most_looks=2)) == 0
    assert world.effects == []


@pytest.mark.parametrize("number", ["7; rm -rf /", "-1", "7\n8", "٧", "$(id)", "9" * 20])
def test_a_number_that_is_none_is_refused(
    world: GateGitHub, monkeypatch: pytest.MonkeyPatch, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    environment(monkeypatch, PR_NUMBER=number)
    assert main(RULES, PACE) == 2
    assert number not in capsys.readouterr().out


def environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name in ("PR_NUMBER", "ATTEMPT", "GITHUB_RUN_ID", "DEFAULT_BRANCH"):
        monkeypatch.setenv(name, values.get(name, ""))
    monkeypatch.setenv("GITHUB_REPOSITORY", REPOSITORY)


# looking


def test_all_pages_are_read(world: GateGitHub) -> None:
    world.threads = [True] * 249 + [False]
    world.checks = [check_run(f"test {number}", "SUCCESS") for number in range(150)] + [check_run("x", "FAILURE")]
    world.files = [{"filename": f"src/{number}.py"} for number in range(201)]
    seen = look(PLACE, NOW, {})
    assert (seen.unresolved, len(seen.checks), len(seen.files)) == (1, 151, 201)
    assert sum(check.state == "failed" for check in seen.checks) == 1


def test_a_head_that_moves_between_two_pages_is_looked_at_another_time(
    world: GateGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.threads = [True] * 101
    answer = gate_reader.call

    def push_meanwhile(path: str, **more: Any) -> Any:
        found = answer(path, **more)
        world.head, world.commits = OLD, [(OLD, [BASE])]
        return found

    monkeypatch.setattr(gate_reader, "call", push_meanwhile)
    with pytest.raises(GateTrouble, match="moved"):
        look(PLACE, NOW, {})


def test_its_own_checks_are_known_by_workflow_and_by_run(world: GateGitHub) -> None:
    world.checks += [
        check_run("auto-approve", "CANCELLED", workflow=GATE_WORKFLOW),
        check_run("renamed", "IN_PROGRESS", workflow="Renamed", run=42),
        check_run("auto-approve", "FAILURE", workflow="Somebody's"),
        check_run("scan", "FAILURE", workflow=GATE_WORKFLOW),
    ]
    world.checks[-1]["checkSuite"]["app"]["slug"] = "another-app"
    assert [check.is_own for check in look(PLACE, NOW, {}).checks] == [False, True, True, False, False]


def test_of_two_runs_of_one_check_the_newer_counts(world: GateGitHub) -> None:
    world.checks = [
        check_run("test", "SUCCESS", started=50),
        check_run("test", "CANCELLED", started=40),
        check_run("test", "FAILURE", event="push", started=10),
        check_run("lint", "SUCCESS", started=10),
        check_run("lint", "QUEUED", started=0),
    ]
    assert [(c.name, c.state) for c in look(PLACE, NOW, {}).checks] == [
        ("test", "passed"),
        ("test", "failed"),
        ("lint", "pending"),
    ]


def test_states_without_a_name_here_are_unknown(world: GateGitHub) -> None:
    status = {"__typename": "StatusContext", "context": "ci/old", "state": "EXPECTED", "isRequired": True}
    world.checks = [check_run("a", "STALE"), check_run("b", "SOMETHING_NEW"), status]
    assert [check.state for check in look(PLACE, NOW, {}).checks] == ["unknown", "unknown", "pending"]


def test_a_check_that_the_base_demands_and_nobody_has_begun_is_pending(world: GateGitHub) -> None:
    world.required = ["deploy"]
    assert [check.state for check in look(PLACE, NOW, {}).checks] == ["passed", "pending"]


def test_without_a_list_of_pushes_time_counts_from_the_first_look(world: GateGitHub) -> None:
    world.pushes = None
    seen: dict[str, float] = {}
    assert look(PLACE, NOW, seen).pushed == NOW
    assert look(PLACE, NOW + 100, seen).pushed == NOW


def test_a_clean_merge_of_the_base_is_no_content(world: GateGitHub) -> None:
    merge_base_in(world, [file("@@ -9,3 +9,4 @@ def f\n a\n+b\n c")])
    seen = look(PLACE, NOW, {})
    assert seen.content == (OLD, HEAD)
    assert (seen.pushed, seen.arrived) == (NOW - 3600, NOW - 30)


@pytest.mark.parametrize("after", [[], [{"filename": "x"}], "more"])
def test_a_merge_that_brings_anything_else_is_content(world: GateGitHub, after: Any) -> None:
    same = file("@@ -9,3 +9,4 @@ def f\n a\n+b\n c")
    merge_base_in(world, [same, file("@@ -1 +1,2 @@\n a\n+evil", "src/b.py")] if after == "more" else after)
    seen = look(PLACE, NOW, {})
    assert seen.content == (OLD,)
    assert seen.pushed == NOW - 30


def test_of_more_commits_than_github_lists_every_push_is_content(world: GateGitHub) -> None:
    merge_base_in(world, [file("@@ -9,3 +9,4 @@ def f\n a\n+b\n c")])
    world.unlisted = 1  # the merged one may be that
    assert look(PLACE, NOW, {}).content == (OLD,)


def file(patch: str, name: str = "src/a.py") -> dict[str, Any]:
    return {"filename": name, "status": "modified", "sha": "1" * 40, "patch": patch}


def merge_base_in(world: GateGitHub, after: list[dict[str, Any]]) -> None:
    """OLD is now the head: HEAD with the base's tip taken in."""
    tip = "d" * 40
    world.head, world.commits = OLD, [(HEAD, [BASE]), (OLD, [HEAD, tip])]
    world.pushes = [(OLD, NOW - 30), (HEAD, NOW - 3600)]
    world.comparisons = {
        f"{tip}...{HEAD}": [file("@@ -1,3 +1,4 @@\n a\n+b\n c")],
        f"{tip}...{OLD}": after,
    }
