"""An agent that says of a reviewer's point what is not so: nothing is resolved by it, and nothing merged."""

import sys
import textwrap
from pathlib import Path

from bmad_autopilot.github.forge import PullState
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot, scripted_reviews
from bmad_autopilot.sim.github.reviews import Remark
from bmad_autopilot.sim.sample import scripted_agent_command
from tests.support.autopilot_runs import AutopilotProject

LIAR = """
import glob, json, subprocess, sys

def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.split()

code = subprocess.run([*{honest!r}, *sys.argv[1:]]).returncode
for path in glob.glob("_bmad-output/implementation-artifacts/*.threads.json"):
    git("checkout", "--quiet", "--", ".")
    git("clean", "--quiet", "-fd", "src")
    named = {{"root": git("rev-list", "--max-parents=0", "HEAD")[0], "head": git("rev-parse", "HEAD")[0]}}
    with open(path) as file:
        said = json.load(file)
    for one in said["threads"].values():
        one.clear()
        one.update(answer="fixed", why="Handled.", commit=named[{named!r}])
    with open(path, "w") as file:
        json.dump(said, file)
sys.exit(code)
"""


def flown(folder: Path, named: str) -> AutopilotProject:
    folder.mkdir()
    program = folder / "liar.py"
    program.write_text(textwrap.dedent(LIAR.format(honest=list(scripted_agent_command("honest")), named=named)))
    pilot = AutopilotProject(folder / "p", agent=[sys.executable, str(program)], top='merge = "auto"\n')
    SimCI(pilot.model, [CIJob("test", duration=5.0)])
    remark = Remark("src/ledger/list_accounts.py", 1, "This drops the last account: off by one.")
    SimCopilot(pilot.model, scripted_reviews([remark]))
    assert pilot.run().end.exit_code == 3
    return pilot


def test_fixed_by_a_commit_that_the_reviewer_saw_resolves_and_merges_nothing(tmp_path: Path) -> None:
    for named in ("root", "head"):
        pilot = flown(tmp_path / named, named)
        (thread,) = pilot.model.pulls[1].threads
        assert (pilot.model.pulls[1].state, thread.is_resolved) == (PullState.OPEN, False), named
        assert pilot.effects("reply", "resolve", "merge") == []
        assert "since the point was made" in pilot.question().context
