"""Finds the standing answers for a skill in a BMAD version."""

from . import SkillAnswer, SkillAnswers, parse_version
from .build_auto import BUILD_AUTO
from .code_review import CODE_REVIEW
from .create_story import CREATE_STORY
from .dev_story import DEV_STORY
from .planning import PLANNING
from .retrospective import RETROSPECTIVE

SKILL_ANSWERS: dict[str, SkillAnswers] = {
    "create-story": CREATE_STORY,
    "validate": CREATE_STORY,
    "dev-story": DEV_STORY,
    "code-review": CODE_REVIEW,
    "build-auto": BUILD_AUTO,
    "retrospective": RETROSPECTIVE,
}


def answers_for(skill: str, version: str) -> tuple[SkillAnswer, ...]:
    """The answers that go into the prompt; none for an unknown skill."""
    known = SKILL_ANSWERS.get(skill)
    listed = known.answers if known else PLANNING.get(skill, ())
    return tuple(answer for answer in listed if answer.applies_to(parse_version(version)))
