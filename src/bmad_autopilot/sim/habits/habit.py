"""A habit is the behaviour of one scripted agent; also the sources of the code that scripted agents write."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from typing import NamedTuple

from ..workspace import AgentJob, ScriptedEnding, Workspace

HabitFunction = Callable[[Workspace, AgentJob], ScriptedEnding]

CODE_STEPS = ("dev", "build-auto", "fix")  # the steps that write code
REVIEW_STEP = "code-review"


class HabitKind(StrEnum):
    HONEST = "honest"
    LIAR = "liar"  # its story must never become done
    UNTIDY = "untidy"  # honest with odd habits: its story must become done
    FAULTY = "faulty"  # has a fault that passes, or needs a person
    PULL_FIXER = "mender"  # fails or lies in a pull request's fix round


class Habit:
    """A named, callable habit function. (Not a NamedTuple: mypy does not accept one as a callable.)"""

    __slots__ = ("act", "description", "kind", "name")

    def __init__(self, name: str, kind: HabitKind, description: str, act: HabitFunction) -> None:
        self.name = name
        self.kind = kind
        self.description = description
        self.act = act

    def __call__(self, workspace: Workspace, job: AgentJob) -> ScriptedEnding:
        return self.act(workspace, job)


def make_habits(kind: HabitKind, *acts: HabitFunction) -> Mapping[str, Habit]:
    """Habits from functions: named after the function, described by the first line of its docstring."""
    habits = (
        Habit(act.__name__.replace("_", "-"), kind, (act.__doc__ or "").partition("\n")[0], act) for act in acts
    )
    return {habit.name: habit for habit in habits}


def at_steps(*steps: str, otherwise: HabitFunction) -> Callable[[HabitFunction], HabitFunction]:
    """Use the decorated function at these steps, and `otherwise` at all others."""

    def decorate(act: HabitFunction) -> HabitFunction:
        @wraps(act)
        def chosen(workspace: Workspace, job: AgentJob) -> ScriptedEnding:
            return act(workspace, job) if job.step in steps else otherwise(workspace, job)

        return chosen

    return decorate


# A story as a scripted agent reads it from its key, and the code that it asks for.

PACKAGE = "src/ledger"
TESTS = "tests"

_PARTS = re.compile(r"([^-]+-[^-]+)-?(.*)", re.DOTALL)
_NON_WORD = re.compile(r"\W+")


class StorySubject(NamedTuple):
    key: str

    @property
    def prefix(self) -> str:
        """`1-2` of `1-2-list-accounts`."""
        match = _PARTS.fullmatch(self.key)
        return match[1] if match else self.key

    @property
    def number(self) -> str:
        return self.prefix.replace("-", ".")

    @property
    def slug(self) -> str:
        match = _PARTS.fullmatch(self.key)
        return (match[2] if match else "") or self.key

    @property
    def title(self) -> str:
        return self.slug.replace("-", " ").capitalize()

    @property
    def name(self) -> str:
        """The name of its function, module and test."""
        name = _NON_WORD.sub("_", self.slug).strip("_").lower()
        return name if name[:1].isalpha() else f"story_{name}"

    @property
    def code(self) -> str:
        return f"{PACKAGE}/{self.name}.py"

    @property
    def test(self) -> str:
        return f"{TESTS}/test_{self.name}.py"


def module_source(story: StorySubject, points: int = 0, *, broken: bool = False) -> bytes:
    """The story's module. `points`: number of review remarks that it handles."""
    guards = "".join(
        f"    if len(amounts) > {_limit(point)}:\n        raise ValueError('more than {_limit(point)} amounts')\n"
        for point in range(points, 0, -1)
    )
    wrong = " + 1" if broken else ""
    return (
        f'"""Story {story.number}: {story.title}."""\n\n\n'
        f"def {story.name}(amounts: list[int]) -> int:\n"
        f'    """Their sum, in cents."""\n{guards}    return sum(amounts){wrong}\n'
    ).encode()


def count_points(code: bytes | None) -> int:
    return code.count(b"raise ValueError") if code else 0


def suite_source(story: StorySubject, points: int = 0) -> bytes:
    """The module's tests, with one more per review remark."""
    cases = "".join(
        f"\n    def test_at_most_{_limit(point)}(self) -> None:\n"
        f"        with self.assertRaises(ValueError):\n            {story.name}([1] * {_limit(point) + 1})\n"
        for point in range(1, points + 1)
    )
    return (
        f'"""Story {story.number}: {story.title}."""\n\nimport unittest\n\n'
        f"from ledger.{story.name} import {story.name}\n\n\n"
        f"class {story.name.title().replace('_', '')}Test(unittest.TestCase):\n"
        f"    def test_adds_up(self) -> None:\n        self.assertEqual({story.name}([100, 250]), 350)\n\n"
        f"    def test_nothing(self) -> None:\n        self.assertEqual({story.name}([]), 0)\n{cases}"
    ).encode()


def _limit(point: int) -> int:
    return 10_000 // point
