"""A habit: how one scripted agent goes about its calls."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps

from ..desk import Desk, Ending, Job

Act = Callable[[Desk, Job], Ending]

WORK = ("dev", "build-auto", "fix")  # the steps that write code
REVIEW = "code-review"


class Kind(StrEnum):
    HONEST = "honest"
    LIAR = "liar"  # its story must never be done
    UNTIDY = "untidy"  # honest all the same: its story must get done
    FAULTY = "faulty"  # something goes wrong, and passes, or a person is asked
    MENDER = "mender"  # goes wrong, or lies, over what a pull request's reviewers want


class Habit:
    """Called like the function it is made of. (No NamedTuple: mypy does not take one for a callable.)"""

    __slots__ = ("act", "description", "kind", "name")

    def __init__(self, name: str, kind: Kind, description: str, act: Act) -> None:
        self.name = name
        self.kind = kind
        self.description = description
        self.act = act

    def __call__(self, desk: Desk, job: Job) -> Ending:
        return self.act(desk, job)


def collect(kind: Kind, *acts: Act) -> Mapping[str, Habit]:
    """Each function under its own name, described by the first line of its docstring."""
    made = (
        Habit(act.__name__.replace("_", "-"), kind, (act.__doc__ or "").partition("\n")[0], act) for act in acts
    )
    return {habit.name: habit for habit in made}


def at(*steps: str, otherwise: Act) -> Callable[[Act], Act]:
    """Behave like this at these steps, and like `otherwise` at all others."""

    def decorate(act: Act) -> Act:
        @wraps(act)
        def chosen(desk: Desk, job: Job) -> Ending:
            return act(desk, job) if job.step in steps else otherwise(desk, job)

        return chosen

    return decorate
