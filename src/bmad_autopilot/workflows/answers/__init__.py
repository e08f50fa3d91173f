"""The standing answers as data: one file per skill. `Stop` says which answer a HALT of the skill's texts gets."""

from typing import NamedTuple

from ...core.block_reasons import BlockReason
from ..versions import Version


class Answer(NamedTuple):
    """What an agent is to do where the skill would stop and ask. With a reason it is a human's to decide, and the
    agent asks instead."""

    id: str
    text: str
    reason: BlockReason | None = None
    since: Version = ()
    before: Version | None = None

    def holds_in(self, version: Version) -> bool:
        return self.since <= version and (self.before is None or version < self.before)


class Stop(NamedTuple):
    """A pattern over `Halt.words`, and the answer it gets. The first that matches counts."""

    pattern: str
    answer: str  # an Answer's id; empty: not a stop
    why: str = ""  # it is not one


class SkillAnswers(NamedTuple):
    answers: tuple[Answer, ...]
    stops: tuple[Stop, ...]


def no_stop(why: str, *patterns: str) -> tuple[Stop, ...]:
    return tuple(Stop(pattern, "", why) for pattern in patterns)


def stops(answer: str, *patterns: str) -> tuple[Stop, ...]:
    return tuple(Stop(pattern, answer) for pattern in patterns)
