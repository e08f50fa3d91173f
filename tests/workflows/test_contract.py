"""What every agent is told: short, true to the state files' form, and safe as a path."""

import json
import re
from typing import Any

import pytest

from bmad_autopilot.core.block_reasons import BlockReason
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.project.custom import MAX_ANSWERS
from bmad_autopilot.workflows.contract import MAX_LINES, agent_state, contract, review_file
from bmad_autopilot.workflows.pipelines import BUILD, CODE_REVIEW, CREATE, DEV, FIX, RETROSPECTIVE, STEPS, Step
from bmad_autopilot.workflows.standing_answers import SKILLS
from bmad_autopilot.workflows.step_context import Files, StepContext

FOLDER = "_bmad-output/implementation-artifacts"
FILES = Files(FOLDER, f"{FOLDER}/sprint-status.yaml", f"{FOLDER}/1-2-sign-in.md", "0123abcd")
OWN = Step("mine", "qa", prompt="Look at {story}.", owes=Owes.VERDICT)
ALL_STEPS = [*STEPS.values(), FIX, RETROSPECTIVE, OWN]
each_step = pytest.mark.parametrize("step", ALL_STEPS, ids=[step.name for step in ALL_STEPS])


def told(step: Step = DEV, **parts: Any) -> str:
    context = StepContext(step, "1-2-sign-in", FILES, "/bmad-x", "6.12.0")
    return contract(context._replace(**parts))


def example_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r"^\{\n.*?^\}", text, re.MULTILINE | re.DOTALL)
    state: dict[str, Any] = json.loads(found)
    return state


@each_step
@pytest.mark.parametrize("version", ["6.0.4", "6.2.0", "6.10.0", "6.12.0"])
def test_it_is_short(step: Step, version: str) -> None:
    text = told(step, version=version, language="French")
    assert len(text.splitlines()) <= MAX_LINES
    assert len(text) < 6000


def test_all_skills_are_among_the_steps() -> None:
    assert {step.skill for step in ALL_STEPS if step.skill} == set(SKILLS)


@each_step
def test_how_to_ask_is_shown_in_the_documented_form(step: Step) -> None:
    text = told(step)
    state = example_of(text)
    assert list(state) == [
        "storyKey",
        "phase",
        "lastCompletedStep",
        "blockedAt",
        "blockReason",
        "questions",
        "artifactsProduced",
    ]
    assert state["storyKey"] == "1-2-sign-in"
    assert state["phase"] == ("dev" if step.name in ("build-auto", "fix") else step.name)
    (question,) = state["questions"]
    assert list(question) == ["id", "question", "context", "answer"]
    assert question["answer"] is None
    assert f"{FOLDER}/1-2-sign-in.agent-state.json" in text
    assert "remove that file" in text


def test_the_reasons_an_agent_may_give() -> None:
    text = told()
    assert [reason for reason in BlockReason if f"- {reason}:" in text] == [
        reason for reason in BlockReason if reason is not BlockReason.SUBAGENT_FAILED
    ]


def test_only_the_reviewer_gives_a_verdict() -> None:
    text = told(CODE_REVIEW)
    assert f"{FOLDER}/1-2-sign-in.review.json" in text
    (verdict,) = re.findall(r"^\{\"reviewResult.*\}$", text, re.MULTILINE)
    assert set(json.loads(verdict)) == {"reviewResult", "summary"}
    assert "Set the story's status" in text
    for step in ALL_STEPS:
        assert ("reviewResult" in told(step)) == (step in (CODE_REVIEW, OWN))
    assert "Set the story's status" not in told(OWN)  # we do it: it has no skill that would


def test_files_are_named() -> None:
    text = told()
    for place in (FILES.board, FILES.story, FILES.implementation, FILES.baseline):
        assert f"`{place}`" in text
    unwritten = told(CREATE, files=FILES._replace(story=None, baseline=None))
    assert f"for you to write: `{FOLDER}/1-2-sign-in.md`" in unwritten
    assert "baseline commit;" not in unwritten


def test_a_build_writes_a_spec_and_no_story_file() -> None:
    text = told(BUILD, files=FILES._replace(story=None))
    assert f"- spec, for you to write: `{FOLDER}/spec-1-2-sign-in.md`" in text
    assert "- story file" not in text
    begun = told(BUILD, spec="out/spec-1-2-other.md")
    assert "- spec: `out/spec-1-2-other.md`" in begun
    assert f"- story file: `{FILES.story}`" in begun
    assert "- spec" not in told(BUILD, spec_folder="specs/spec-login")


def test_a_retrospective_is_about_an_epic() -> None:
    text = told(RETROSPECTIVE, story="epic-1", files=FILES._replace(story=None))
    assert "- epic: `epic-1`" in text
    assert "story file" not in text.split("Standing answers")[0]


def test_limits() -> None:
    text = told()
    for word in ("Do not push", "no pull request", "branch", "On the board", "Leave files alone", "never wait"):
        assert word in text
    assert "Commit only where the\n  skill does." in text


def test_a_step_without_a_skill_leaves_commits_and_the_board_to_us() -> None:
    text = told(FIX)
    assert "Do not commit." in text
    assert "Leave the board and the story's status alone." in text
    assert "the skill says" not in text


def test_the_users_answers_come_first_bounded_and_on_one_line() -> None:
    text = told(extra=("Use `pnpm`,\nnever npm\u200b.", *(f"Rule {n}." for n in range(40))))
    rules = text.split("Standing answers")[1].splitlines()[1:]
    assert rules[0] == "1. Use 'pnpm', never npm."
    assert sum("Rule " in rule for rule in rules) == MAX_ANSWERS - 1


def test_questions_are_in_the_projects_language() -> None:
    assert ", in Français, and" in told(language="Français")


@pytest.mark.parametrize(
    "key", ["", "../1-1-x", "a/b", ".hidden", "a\nb", "a\\b", 'a"b', "a`b", "x" * 300, "a\u202eb"]
)
def test_a_key_that_is_no_plain_name_makes_no_path(key: str) -> None:
    for make in (agent_state, review_file):
        with pytest.raises(UsageError):
            make(FOLDER, key)
    with pytest.raises(UsageError):
        told(story=key)


@pytest.mark.parametrize("key", ["1-2-sign-in", "5-1-validate.py-cli-入口", "1-0·1-x", "epic-2.5", "1-1-now!"])
def test_real_keys_are_taken(key: str) -> None:
    assert agent_state(FOLDER, key) == f"{FOLDER}/{key}.agent-state.json"
