"""Takes a flow to its end as a process of its own, so that it can be killed: every decision is made in advance."""

import sys

from bmad_autopilot.engine.flows.runner import FlowOptions, start_flow
from bmad_autopilot.project.project import open_project
from bmad_autopilot.workflows.flows import get_flow, load_flows

CHOICES = {"gate": "proceed", "optional": "run", "boundary": "continue"}


def main() -> int:
    project = open_project(sys.argv[1])
    flow = get_flow(load_flows(project.config), sys.argv[2])
    end = start_flow(project, flow, FlowOptions(unattended=CHOICES), on_event=lambda kind, data, at: None)
    print(end.status, flush=True)
    return end.exit_code


if __name__ == "__main__":
    sys.exit(main())
