"""What goes to the archive is let go of in git too."""

import time

from bmad_autopilot.engine.run_refs import clean_runs
from bmad_autopilot.project.root import find_root
from bmad_autopilot.runs.layout import make_run, runs_folder
from bmad_autopilot.runs.state_file import RunState, RunStatus, write_state
from tests.support.bmad_project import ProjectMaker


def test_held_trees_go_checkpoints_stay(project: ProjectMaker) -> None:
    sample = project()
    root = find_root(str(sample.root))
    then = time.time() - 8 * 86_400
    run = make_run(runs_folder(root.path), "main", "lean", then)
    name = run.rpartition("/")[2]
    write_state(run, RunState(name, last_checkpoint=then, status=RunStatus.COMPLETED))
    for ref in (f"held/{name}/x", f"checkpoints/{name}/1", "held/other/x"):
        sample.git("update-ref", f"refs/autopilot/{ref}", "HEAD")
    assert [old.run for old in clean_runs(root, time.time())] == [name]
    left = sample.git("for-each-ref", "--format=%(refname)", "refs/autopilot/").split()
    assert left == [f"refs/autopilot/checkpoints/{name}/1", "refs/autopilot/held/other/x"]
    assert clean_runs(root, time.time()) == []
