"""What a step must leave, which is what it is judged by."""

from enum import StrEnum


class Owes(StrEnum):
    STORY = "story"  # a story file that somebody can work from
    CODE = "code"  # a change to the code
    REVISION = "revision"  # a look at the code by another; a change only where something was wrong
    VERDICT = "verdict"
    NOTHING = "nothing"
