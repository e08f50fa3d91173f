"""One look at all that flows are found by: the folder, and BMAD's planning documents where one asks for them."""

from collections.abc import Sequence

from ...project.flow_scan import Scan
from ...project.open import Project
from ...workflows.flow_list import Flow, seen_in


def look_at(project: Project, flows: Sequence[Flow]) -> Scan:
    if not any(one.startswith("artefact ") for flow in flows for one in flow.conditions):
        return seen_in(project, flows)
    from ...board.planning import planning  # a walk of its own, which only BMAD's planning needs

    found = planning(project.folders, project.bmad)
    # What its status file calls skipped is nobody's to do any more.
    return seen_in(project, flows, (found.there | found.skipped) - {"board"})
