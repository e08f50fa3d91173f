"""Standing answers as data, one file per skill. A `HaltRule` maps a HALT in a skill's text to its answer."""

import re
from typing import NamedTuple

from ...core.stop_causes import BlockReason

# BMAD versions, as far as skills differ between them.

Version = tuple[int, ...]

NEWEST: Version = (1 << 30,)
_NUMBERS = re.compile(r"[^\d\n]{0,20}(\d{1,6}(?:\.\d{1,6}){0,3})")


def parse_version(text: str) -> Version:
    """`6.0.0-alpha.12` → (6, 0, 0). Anything that is not a version counts as the newest."""
    match = _NUMBERS.match(text)
    return tuple(int(part) for part in match[1].split(".")) if match else NEWEST


class SkillAnswer(NamedTuple):
    """What an agent does where the skill would stop and ask. With a reason, only the user can decide, and the
    agent asks instead."""

    id: str
    text: str
    reason: BlockReason | None = None
    since: Version = ()
    before: Version | None = None

    def applies_to(self, version: Version) -> bool:
        return self.since <= version and (self.before is None or version < self.before)


class HaltRule(NamedTuple):
    """A pattern over `Halt.words`, and the answer for it. The first match counts."""

    pattern: str
    answer: str  # the id of a SkillAnswer; empty: not a halt
    why: str = ""  # why it is not a halt


class SkillAnswers(NamedTuple):
    answers: tuple[SkillAnswer, ...]
    halt_rules: tuple[HaltRule, ...]


def not_a_halt(why: str, *patterns: str) -> tuple[HaltRule, ...]:
    return tuple(HaltRule(pattern, "", why) for pattern in patterns)


def halt_rules(answer: str, *patterns: str) -> tuple[HaltRule, ...]:
    return tuple(HaltRule(pattern, answer) for pattern in patterns)
