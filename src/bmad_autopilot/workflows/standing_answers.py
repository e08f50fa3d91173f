"""Which standing answers a skill of a version gets, and which of them meets a HALT found in its texts."""

import re
from typing import TYPE_CHECKING

from .answers import Answer, SkillAnswers, Stop
from .answers.build_auto import BUILD_AUTO
from .answers.code_review import CODE_REVIEW
from .answers.create_story import CREATE_STORY
from .answers.dev_story import DEV_STORY
from .answers.planning import PLANNING
from .answers.retrospective import RETROSPECTIVE
from .versions import version_of

if TYPE_CHECKING:
    from .halts import Halt  # its patterns are long to compile, and a prompt needs none of them

SKILLS: dict[str, SkillAnswers] = {
    "create-story": CREATE_STORY,
    "validate": CREATE_STORY,
    "dev-story": DEV_STORY,
    "code-review": CODE_REVIEW,
    "build-auto": BUILD_AUTO,
    "retrospective": RETROSPECTIVE,
}


def answers_for(skill: str, version: str) -> tuple[Answer, ...]:
    """What an agent is told in advance; nothing for a skill we do not drive."""
    known = SKILLS.get(skill)
    listed = known.answers if known else PLANNING.get(skill, ())
    return tuple(answer for answer in listed if answer.holds_in(version_of(version)))


def stop_of(halt: "Halt", skill: str, version: str) -> Stop | None:
    """The first entry that meets this HALT and whose answer is given in this version. None: it was never seen."""
    given = {"", *(answer.id for answer in answers_for(skill, version))}
    stops = SKILLS[skill].stops if skill in SKILLS else ()
    return next((stop for stop in stops if stop.answer in given and re.search(stop.pattern, halt.words)), None)
