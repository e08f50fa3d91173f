"""One action on its way to an agent and back."""

from typing import NamedTuple

from ..project.open import Project
from ..workflows.pipelines import Step


class Task(NamedTuple):
    project: Project
    step: Step
    story: str  # its key
    name: str  # of the instance
    branch: str
    seconds: float  # time limit
    began: float  # when it was asked for

    @property
    def agent(self) -> str:
        return self.project.config.agent_of(self.step.role)
