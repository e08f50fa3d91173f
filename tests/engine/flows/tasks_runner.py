"""Implement a project's tasks in a process that kills itself: `python -m tests.engine.flows.tasks_runner PROJECT
[PART LINE]`. LINE counts executed lines of functions in files whose path contains PART; imports do not count."""

import os
import signal
import sys
from types import FrameType
from typing import Any

from bmad_autopilot.engine.flows.tasks import implement_tasks
from bmad_autopilot.project.project import open_project


class Bomb:
    def __init__(self, part: str, line: int) -> None:
        self.part = part
        self.left = line

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if self.part not in frame.f_code.co_filename or frame.f_code.co_name == "<module>":
            return None
        if event == "line":
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def main(folder: str) -> int:
    return implement_tasks(open_project(folder), "features", on_event=lambda kind, data, at: None).exit_code


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.settrace(Bomb(sys.argv[2], int(sys.argv[3])))
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main(sys.argv[1]))
