"""How much work an epic is: the steps that its stories have before them, and what such calls took here. `bmad
plan` tells it, and which epic is begun first goes by it."""

from typing import NamedTuple

from ...board.overview import EpicView
from ...core.estimates import Figures, figures, guessed
from ...project.bmad import Era
from ...project.open import Project
from ...runs.layout import find_runs, runs_folder
from ...workflows.own import workflow_for
from ...workflows.pipelines import Workflow, steps_left


class Sizes(NamedTuple):
    figures: Figures
    workflow: Workflow

    def steps(self, epic: EpicView) -> list[list[str]]:
        """Of each of its stories, by name; none where it is over."""
        return [[step.name for step in steps_left(self.workflow, meaning)] for meaning in epic.meanings]

    def of_step(self, step: str) -> float:
        """Seconds."""
        return self.figures.seconds_of(step).middle

    def of_epic(self, epic: EpicView) -> float:
        return sum(self.of_step(step) for steps in self.steps(epic) for step in steps)


def sizes_of(project: Project) -> Sizes:
    workflow = workflow_for(project.config, only_build=project.bmad.era is Era.BUILD)
    runs = runs_folder(project.root.path)
    if not find_runs(runs):
        return Sizes(guessed(), workflow)
    from ..past_calls import past_calls

    return Sizes(figures(past_calls(runs)), workflow)
