"""bmad runs clean and bmad runs session: what goes to the archive, and what is deleted for good."""

import time

import pytest

from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.runs.state_file import RunStatus
from tests.cli.conversations import Conversation
from tests.cli.run_records import printed, refused, small_run, state_of, typed
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.schemas import parse_validated

RUNS = "_bmad-output/.runs"


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project()


def test_what_it_does_and_why(sample: SampleProject) -> None:
    old, failed = small_run(sample, "completed", days=9), small_run(sample, "failed", days=31, session="feature")
    kept = [small_run(sample, word, days=99) for word in ("running", "paused")]
    kept += [small_run(sample, "completed", days=6), small_run(sample, "failed", days=20)]
    told = printed(sample.root, "runs", "clean", "--dry-run")
    assert f"main/{old.name}  completed 9 days ago; kept for 7\n" in told
    assert "2 runs would be moved to the archive" in told
    assert old.exists()
    document = parse_validated("runs-clean", printed(sample.root, "runs", "clean", "--json"))
    assert [one["run"] for one in document["archived"]] == [failed.name, old.name]
    assert (sample.root / RUNS / "archive/feature" / failed.name / "journal.jsonl").is_file()
    assert all(run.exists() for run in kept)
    assert printed(sample.root, "runs", "clean").startswith("nothing to archive: completed ones stay 7 days")
    assert "2 older: bmad runs --all" in printed(sample.root, "runs")
    assert old.name in printed(sample.root, "runs", "--all")


def archived(sample: SampleProject) -> str:
    run = small_run(sample, "completed", days=9)
    printed(sample.root, "runs", "clean")
    for kind in ("checkpoints", "saved"):
        sample.git("update-ref", f"refs/autopilot/{kind}/{run.name}/1", "HEAD")
    return run.name


def refs(sample: SampleProject) -> list[str]:
    return sample.git("for-each-ref", "--format=%(refname)", "refs/autopilot/").split()


def test_deleting_for_good_needs_a_yes(sample: SampleProject) -> None:
    name = archived(sample)
    there = sample.root / RUNS / "archive/main" / name
    done = typed(sample.root, "runs", "clean", "--delete")
    assert isinstance(done.exception, UsageError)
    assert "1 archived run would be deleted" in printed(sample.root, "runs", "clean", "--delete", "--dry-run")
    assert there.exists()
    assert len(refs(sample)) == 2
    other = small_run(sample, "completed", days=1)
    assert "1 archived run deleted" in printed(sample.root, "runs", "clean", "--delete", "--yes")
    assert (there.exists(), refs(sample), other.exists()) == (False, [], True)
    assert "0 archived runs deleted" in printed(sample.root, "runs", "clean", "--delete")


@pytest.mark.parametrize("said", ["n", "y"])
def test_on_a_terminal_a_person_is_asked(sample: SampleProject, said: str) -> None:
    there = sample.root / RUNS / "archive/main" / archived(sample)
    talk = Conversation("runs", "clean", "--delete", cwd=sample.root)
    talk.wait_for("Delete 1 archived run for good? [y/N]: ")
    talk.type(f"{said}\n")
    assert talk.end() == 0
    assert there.exists() is (said == "n")


def test_sessions_with_their_runs(sample: SampleProject) -> None:
    small_run(sample, "completed", days=2, session="feature-auth")
    small_run(sample, "paused", days=1, session="feature-auth")
    small_run(sample, "running", days=3)
    lines = printed(sample.root, "runs", "session", "list").splitlines()
    assert lines[0].startswith("feature-auth  2 runs: 1 paused, 1 completed; last 24 h ago")
    document = parse_validated("sessions", printed(sample.root, "runs", "session", "list", "--json"))
    assert document["sessions"][1]["runs"] == {"cut short": 1}


def test_a_session_is_archived_when_it_is_over(sample: SampleProject) -> None:
    done = small_run(sample, "completed", session="feature-auth")
    open_ = small_run(sample, "paused", session="feature-auth")
    said = refused(sample.root, "runs", "session", "archive", "feature/auth")
    assert f"{open_.name} (paused)" in said
    assert f"bmad resume --run {open_.name}" in said
    state_of(open_, RunStatus.COMPLETED, time.time())
    assert "2 runs moved to the archive" in printed(sample.root, "runs", "session", "archive", "feature/auth")
    assert not done.exists()
    assert "no session has a run yet" in printed(sample.root, "runs", "session", "list")
