"""bmad pr gate: what the auto-approve workflow would say, seen as it sees things and judged by its rules."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from bmad_autopilot.cli import bmad, pr
from bmad_autopilot.github import gate_reader
from bmad_autopilot.github.approval import COPILOT, Rules, judge
from bmad_autopilot.github.auto_approve import build_situation
from bmad_autopilot.github.forge import (
    CheckState,
    ForgeActor,
    Pull,
    PullReview,
    PullState,
    RemoteCheck,
    Repository,
    ReviewState,
)
from tests.support.gate_github import BASE, HEAD, OLD, GateGitHub

TIP = "d" * 40
FILE = {"filename": "src/a.py", "status": "modified", "sha": "1" * 40, "patch": "@@ -1 +1,2 @@\n a\n+b"}
CONFIG = SimpleNamespace(require_review="copilot", require_checks=True)


class Hub:
    """The same pull request by the forge's door: HEAD was reviewed, and OLD is HEAD with the base taken in."""

    def __init__(self, now: float) -> None:
        author, copilot = ForgeActor("dev", association="OWNER"), ForgeActor(COPILOT, is_bot=True)
        place = (7, "P", "", PullState.OPEN, "Epic 1", "feature/epic-1", OLD, "main", TIP, author, now - 9e3)
        self.found = Pull(
            *place,
            now - 900,
            reviews=(PullReview("R", copilot, ReviewState.COMMENTED, HEAD, now - 3000),),
            checks=(RemoteCheck("test", CheckState.PASSED),),
        )

    def pull(self, number: int) -> Pull:
        return self.found

    def repository(self) -> Repository:
        return Repository("acme", "widgets", "R_1", "main", True)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GateGitHub:
    """The base was taken in cleanly after Copilot's review."""
    made = GateGitHub(time.time())
    made.review(COPILOT, "COMMENTED", commit=HEAD)
    made.head, made.commits = OLD, [(HEAD, [BASE]), (OLD, [HEAD, TIP])]
    made.pushes = [(OLD, made.now - 900), (HEAD, made.now - 3600)]
    made.comparisons = {f"{TIP}...{HEAD}": [FILE], f"{TIP}...{OLD}": [FILE]}
    monkeypatch.setattr(gate_reader, "call", made.call)
    monkeypatch.setenv("GH_HOST", "")
    monkeypatch.setattr(pr, "_forge", lambda ctx: (SimpleNamespace(config=CONFIG), Hub(made.now)))
    return made


def gate(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(bmad, ["pr", "gate", "7", *words])
    return done.exit_code, done.output


def ruling() -> Any:
    return json.loads(gate("--json")[1])["ruling"]


def test_after_a_clean_base_it_says_what_the_queue_says(world: GateGitHub) -> None:
    assert gate()[0] == 0
    assert ruling() == "approve"
    queue = build_situation(
        Hub(world.now).found, world.now, ["src/a.py"], content=(OLD, HEAD), pushed=world.now - 3600
    )
    assert judge(queue, Rules()).word == "approve"
    world.comparisons[f"{TIP}...{OLD}"] = [{**FILE, "patch": "@@ -1 +1,2 @@\n a\n+c"}]
    assert (gate()[0], ruling()) == (3, "wait"), "it brought something else along"


def test_a_required_check_that_is_not_there_is_waited_for(world: GateGitHub) -> None:
    world.required = ["deploy"]
    code, said = gate()
    assert (code, "deploy" in said) == (3, True)


def test_settings_of_here_change_nothing_in_the_workflows_rules_and_that_is_said(
    world: GateGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.reviews.clear()
    own = SimpleNamespace(require_review="none", require_checks=False)
    monkeypatch.setattr(pr, "_forge", lambda ctx: (SimpleNamespace(config=own), Hub(world.now)))
    code, said = gate()
    assert code == 3
    assert "has not reviewed what it holds now" in said
    assert 'require_review = "none" counts here, and not for the workflow' in said
    assert "require_checks = false counts here, and not for the workflow" in said
