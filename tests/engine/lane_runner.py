"""A whole epic, run by a process that is to be killed: `python -m tests.engine.lane_runner PROJECT [LINE]`; with
LINE
it kills itself before that line of ours is run."""

import os
import sys

from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.runner import start_run
from bmad_autopilot.project.project import open_project
from tests.engine.orchestrator import Bomb


def main(folder: str) -> int:
    project = open_project(folder)
    return start_run(project, LaneScope.EPIC, "1", on_event=lambda kind, data, at: None).exit_code


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.settrace(Bomb(int(sys.argv[2])))
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main(sys.argv[1]))
