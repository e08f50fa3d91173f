"""Every HALT and ASK of BMAD's real skills has a standing answer, is a human's, or is said to be none."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from bmad_autopilot.project.skills import find_skills
from bmad_autopilot.workflows.standing_answers.lookup import SKILL_ANSWERS, answers_for
from scripts.halts import normalise
from scripts.list_halts import ListedHalt, list_halts, skill_texts
from tests.real.conftest import BmadMethod

pytestmark = pytest.mark.real

CLASSIC = {"create-story", "validate", "dev-story", "code-review", "retrospective"}
BUILD = {"build-auto", "code-review", "retrospective"}

# Each of these changed the texts.
INSTALLS = {
    "6.0.4": CLASSIC,
    "6.1.0": CLASSIC,
    "6.2.0": CLASSIC,
    "6.3.0": CLASSIC,
    "6.8.0": CLASSIC,
    "6.10.0": CLASSIC,
    "6.11.0": CLASSIC | BUILD,
    "6.12.0": BUILD,
    "6.12.0 --shims": CLASSIC | BUILD,
}

Install = Callable[[str], Path]


@pytest.fixture(scope="session")
def install(bmad_method: BmadMethod) -> Install:
    @cache
    def installed(name: str) -> Path:
        version, *options = name.split()
        return bmad_method(version, "--tools", "claude-code", "--output-folder", "_bmad-output", *options)

    return installed


@pytest.fixture(scope="session")
def listed(install: Install) -> Callable[[str], list[ListedHalt]]:
    return cache(lambda name: list_halts(str(install(name))))


@pytest.mark.parametrize("name", INSTALLS)
def test_every_stop_is_mapped(name: str, listed: Callable[[str], list[ListedHalt]]) -> None:
    items = listed(name)
    assert {item.skill for item in items} == INSTALLS[name]
    unmapped = [f"{i.skill}: {i.halt.file}:{i.halt.line}\n  {i.halt.words}" for i in items if i.stop is None]
    assert not unmapped, "\n".join(unmapped)
    assert len(items) > 200


@pytest.mark.parametrize("name", INSTALLS)
def test_every_answer_given_is_needed(name: str, listed: Callable[[str], list[ListedHalt]]) -> None:
    for skill in INSTALLS[name]:
        needed = {item.stop.answer for item in listed(name) if item.skill == skill and item.stop}
        assert {answer.id for answer in answers_for(skill, name.split()[0])} <= needed, skill


@pytest.mark.parametrize("name", INSTALLS)
def test_no_plain_stop_escapes_the_finder(
    name: str, install: Install, listed: Callable[[str], list[ListedHalt]]
) -> None:
    """Looked for a second time, in the plainest way: the words in capitals, and the tag."""
    project = str(install(name))
    installed = find_skills(project, "claude", None)
    for skill in INSTALLS[name]:
        sentences = " | ".join(normalise(item.halt.sentence) for item in listed(name) if item.skill == skill)
        for file, text in skill_texts(project, installed, skill).items():
            for match in re.finditer(r"(?:\b(?:HALT|WAIT|ASK|STOP|CHECKPOINT)\b|<ask\b)[^.!?\n]{0,40}", text):
                assert normalise(match[0]) in sentences, f"{file}: {match[0]}"


def test_no_entry_is_dead(listed: Callable[[str], list[ListedHalt]]) -> None:
    met = {item.stop for name in INSTALLS for item in listed(name)}
    dead = {stop.pattern for data in SKILL_ANSWERS.values() for stop in data.halt_rules if stop not in met}
    assert dead == set()


@pytest.mark.parametrize("name", ["6.0.4", "6.2.0", "6.12.0 --shims"])
def test_the_answers_are_in_our_own_words(name: str, install: Install) -> None:
    project = str(install(name))
    installed = find_skills(project, "claude", None)
    for skill in INSTALLS[name]:
        theirs = " ".join(map(normalise, skill_texts(project, installed, skill).values()))
        for answer in answers_for(skill, name.split()[0]):
            words = normalise(answer.text).split()
            runs = (" ".join(words[at : at + 6]) for at in range(len(words) - 5))
            assert not [run for run in runs if f" {run} " in theirs], answer.id
