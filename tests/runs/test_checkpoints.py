"""Checkpoints are found by any beginning of their digest that only one has; artefacts stay in their run."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import ConflictError, FileError, UsageError
from bmad_autopilot.runs.checkpoints import (
    FORK_MARKER,
    MAX_ARTEFACT,
    InterruptedFork,
    all_checkpoints,
    find_checkpoint,
    find_interrupted_fork,
    forget_half,
    list_checkpoints,
    refuse_interrupted_fork,
    remove_temporary_artefacts,
    write_artefact,
    write_fork_marker,
)
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run
from bmad_autopilot.runs.state_file import StepArtefact, checkpoint_digest
from tests.support.schemas import parse_validated

BEGAN = 1_800_000_000.0


def run_of(runs: Path, session: str = "main") -> Path:
    return Path(make_run(str(runs), session, "lean", BEGAN))


def recorded(run: Path, step: int, at: float = BEGAN, *, digest: str = "", **more: Any) -> str:
    digest = digest or checkpoint_digest(run.name, step, more.get("variables", {}))
    journal = Journal(str(run), lambda value: value, lambda: at)
    data = {"id": digest[:6], "digest": digest, "step": step, "name": "dev", "story": "1-2-login", **more}
    journal.append("accepted", number=step, checkpoint=data)
    journal.close()
    return digest


def test_all_that_is_recorded_is_read_back(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    Journal(str(run), lambda value: value).append("run", target="epic-1")
    digest = recorded(
        run,
        3,
        BEGAN + 60,
        variables={"store": "redis", "n": 3},
        artefacts=[{"step": 3, "name": "plan", "path": "artefacts/step-03-output.md"}],
        rows={"1-2-login": "review"},
        head="a" * 40,
        branch="feature/auth",
        tree="b" * 40,
        ref=f"refs/autopilot/checkpoints/{run.name}/3",
    )
    (found,) = list_checkpoints(str(run))
    assert (found.id, found.digest, found.step, found.name, found.story) == (
        digest[:6],
        digest,
        3,
        "dev",
        "1-2-login",
    )
    assert (found.variables, found.rows) == ({"store": "redis", "n": 3}, {"1-2-login": "review"})
    assert found.artefacts == (StepArtefact(3, "plan", "artefacts/step-03-output.md"),)
    assert (found.head, found.branch, found.tree) == ("a" * 40, "feature/auth", "b" * 40)
    assert (found.run, found.folder, found.session, found.at, found.entry) == (
        run.name,
        str(run),
        "main",
        BEGAN + 60,
        2,
    )


def test_the_newest_first_over_all_runs_but_the_archive(tmp_path: Path) -> None:
    one, two = run_of(tmp_path), run_of(tmp_path, "feature-auth")
    old = recorded(one, 1, BEGAN)
    new = recorded(two, 1, BEGAN + 20, variables={"a": 1})
    middle = recorded(one, 2, BEGAN + 10)
    gone = run_of(tmp_path, "elsewhere")
    recorded(gone, 1, BEGAN + 30, variables={"b": 1})
    (tmp_path / "archive").mkdir()
    (tmp_path / "elsewhere").rename(tmp_path / "archive" / "elsewhere")
    assert [found.digest for found in all_checkpoints(str(tmp_path))] == [new, middle, old]


def test_a_step_completed_twice_in_the_same_state_is_one_checkpoint(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    recorded(run, 1, BEGAN, head="a" * 40)
    recorded(run, 1, BEGAN + 5, head="b" * 40)
    assert [(one.head, one.at) for one in list_checkpoints(str(run))] == [("b" * 40, BEGAN + 5)]


def test_a_prefix_that_only_one_has(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    one = recorded(run, 1, digest="a3f9b2" + "0" * 58)
    two = recorded(run, 2, digest="a3f9b2" + "0" * 57 + "1")
    other = recorded(run, 3, digest="b" * 64)
    runs = str(tmp_path)
    assert find_checkpoint(runs, "b").digest == other
    assert find_checkpoint(runs, " B ").digest == other
    assert find_checkpoint(runs, two).digest == two
    with pytest.raises(UsageError, match="2 checkpoints begin with a3f9b2") as raised:
        find_checkpoint(runs, "a3f9b2")
    assert one in str(raised.value)  # in as many digits as tell them apart
    assert two in str(raised.value)


@pytest.mark.parametrize("wanted", ["", "c", "zz", "../..", "b" * 65, "a3\n", "-1"])
def test_an_unknown_one_names_those_there_are(tmp_path: Path, wanted: str) -> None:
    recorded(run_of(tmp_path), 3, digest="b" * 64)
    with pytest.raises(UsageError, match="there is no checkpoint") as raised:
        find_checkpoint(str(tmp_path), wanted)
    assert "bbbbbb (lean-" in str(raised.value)


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none is recorded in this project yet"):
        find_checkpoint(str(tmp_path), "a3f9b2")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6), lambda inner: st.lists(inner, max_size=2)
)


@given(st.dictionaries(st.sampled_from(["digest", "step", "variables", "artefacts", "rows", "head", "tree"]), ODD))
def test_odd_fields_end_nothing(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    run = run_of(tmp_path_factory.mktemp("runs"))
    line = {"n": 1, "at": BEGAN, "kind": "accepted", "data": {"checkpoint": {"digest": "c" * 64} | data}}
    (run / "journal.jsonl").write_text(json.dumps(line) + "\n")
    for one in list_checkpoints(str(run)):
        assert one.digest == "c" * 64
        assert all(isinstance(status, str) for status in one.rows.values())


def test_a_journal_that_cannot_be_read_holds_none(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    (run / "journal.jsonl").mkdir()
    assert list_checkpoints(str(run)) == []


def test_an_artefact_is_written_whole_in_its_run(tmp_path: Path) -> None:
    path = write_artefact(str(tmp_path), 1, "# Plan\n")
    assert path == "artefacts/step-01-output.md"
    assert (tmp_path / path).read_text() == "# Plan\n"
    write_artefact(str(tmp_path), 1, "# Another\n")
    assert (tmp_path / path).read_text() == "# Another\n"


def test_one_too_long_is_cut_with_a_mark(tmp_path: Path) -> None:
    path = write_artefact(str(tmp_path), 12, "é" * MAX_ARTEFACT)
    text = (tmp_path / path).read_text()
    assert len(text.encode()) < MAX_ARTEFACT + 100
    assert text.endswith(f"… [cut: {MAX_ARTEFACT:,} of {2 * MAX_ARTEFACT:,} bytes are kept]\n")


@pytest.mark.parametrize("linked", ["artefacts", "artefacts/step-01-output.md"])
def test_a_link_out_of_the_run_is_refused(tmp_path: Path, linked: str) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside"
    outside.mkdir()
    (run / linked).parent.mkdir(parents=True, exist_ok=True)
    (run / linked).symlink_to(outside if linked == "artefacts" else outside / "x.md")
    with pytest.raises(FileError, match="is a link"):
        write_artefact(str(run), 1, "text")
    assert list(outside.iterdir()) == []


def test_what_a_kill_left_half_written_is_swept_away_and_nothing_else(tmp_path: Path) -> None:
    remove_temporary_artefacts(str(tmp_path))  # there is no such folder yet
    path = tmp_path / write_artefact(str(tmp_path), 1, "whole\n")
    (path.parent / ".step-02-output.md.17.abc.bmad-tmp").write_text("ha")
    remove_temporary_artefacts(str(tmp_path))
    assert [one.name for one in path.parent.iterdir()] == ["step-01-output.md"]


# The note of a fork that was cut short.

HALF = InterruptedFork("ab" * 32, "main", "epic-1-20260101-120000", "main-ababab", "refs/autopilot/saved/x/before")


def test_it_is_kept_in_its_documented_form_until_it_is_forgotten(tmp_path: Path) -> None:
    git, runs = str(tmp_path / ".git"), str(tmp_path / "runs")
    refuse_interrupted_fork(str(tmp_path), runs)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    refuse_interrupted_fork(str(tmp_path), runs)
    write_fork_marker(git, HALF)
    parse_validated("half-fork", (tmp_path / ".git" / FORK_MARKER).read_text())
    assert find_interrupted_fork(git, runs) == HALF
    with pytest.raises(ConflictError, match="was cut short in this work tree"):
        refuse_interrupted_fork(str(tmp_path), runs)
    forget_half(git)
    forget_half(git)
    assert find_interrupted_fork(git, runs) is None


def test_a_fork_that_is_whole_is_no_half_one(tmp_path: Path) -> None:
    write_fork_marker(str(tmp_path), HALF)
    folder = Path(HALF.folder(str(tmp_path)))
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text("")
    assert find_interrupted_fork(str(tmp_path), str(tmp_path)) is None


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", "", "a/b"])
def test_names_that_lead_elsewhere_are_none(tmp_path: Path, name: str) -> None:
    write_fork_marker(str(tmp_path), HALF._replace(run=name))
    assert find_interrupted_fork(str(tmp_path), str(tmp_path)) is None
    (tmp_path / FORK_MARKER).write_text("{")
    assert find_interrupted_fork(str(tmp_path), str(tmp_path)) is None
