"""The habits of scripted agents, by name. The same habits run in memory and on a real work tree."""

from collections.abc import Mapping

from .faulty import FAULTY
from .habit import Habit, HabitKind, make_habits
from .honest import honest
from .liars import LIARS
from .pull_fixers import PULL_FIXERS
from .untidy import UNTIDY

__all__ = ["HABITS", "Habit", "HabitKind"]

HABITS: Mapping[str, Habit] = {**make_habits(HabitKind.HONEST, honest), **FAULTY, **LIARS, **UNTIDY, **PULL_FIXERS}
