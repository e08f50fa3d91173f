"""The unit of work a lane drives. Apart from engine/lane.py, so that quick commands do not import the engine."""

from enum import StrEnum


class LaneScope(StrEnum):
    EPIC = "epic"
    STORY = "story"
    STEP = "step"  # a single step of one story
    WORKFLOW = "workflow"  # a file of steps, without a board
    FLOW = "flow"  # a workflow whose completed steps are detected in the project's folder
