"""What scripted agents do, by name: written once, for a work tree in memory and for a real one."""

from collections.abc import Mapping

from .faulty import FAULTY
from .habit import Habit, Kind, collect
from .honest import honest
from .liars import LIARS
from .menders import MENDERS
from .untidy import UNTIDY

__all__ = ["HABITS", "Habit", "Kind"]

HABITS: Mapping[str, Habit] = {**collect(Kind.HONEST, honest), **FAULTY, **LIARS, **UNTIDY, **MENDERS}
