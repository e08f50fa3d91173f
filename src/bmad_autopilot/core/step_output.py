"""The output a step must produce; the gates check for it."""

from enum import StrEnum


class StepOutput(StrEnum):
    STORY = "story"  # a story file ready for development
    CODE = "code"  # a change to the code
    REVISION = "revision"  # a second agent reviews the code; changes only where something was wrong
    VERDICT = "verdict"
    NOTHING = "nothing"
