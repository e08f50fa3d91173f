"""bmad runs diff: two checkpoints beside each other."""

import time
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run, runs_folder
from tests.cli.run_records import checkpoint, printed, refused
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.journal_entries import STARTED_AT
from tests.support.schemas import parse_validated
from tests.support.terminals import assert_golden


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project()


def run_with(sample: SampleProject, *made: dict[str, Any], began: float = STARTED_AT) -> Path:
    folder = Path(make_run(runs_folder(str(sample.root)), "main", "lean", began))
    journal = Journal(str(folder), lambda value: value, lambda: began)
    journal.append("run", target="epic-1")
    for number, more in enumerate(made, 1):
        name = ("create-story", "dev", "code-review")[number - 1]
        journal.append("accepted", checkpoint=checkpoint(folder.name, number, name, **more))
    journal.close()
    return folder


def tree_of(sample: SampleProject, path: str, text: str) -> dict[str, str]:
    sample.write(path, text)
    sample.commit()
    return {
        name: sample.git("rev-parse", what).strip() for name, what in (("head", "HEAD"), ("tree", "HEAD^{tree}"))
    }


def page(step: int) -> dict[str, Any]:
    return {"step": step, "name": f"page {step}", "path": f"artefacts/step-0{step}-output.md"}


def test_everything_that_differs(sample: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    time.tzset()
    monkeypatch.setattr("time.time", lambda: STARTED_AT + 60)
    one = tree_of(sample, "src/login.py", "one\n")
    two = tree_of(sample, "src/lo gin\t2.py", "two\nthree\n")
    run = run_with(
        sample,
        {"variables": {"a": 1, "b": "gone"}, "rows": {"1-2-login": "backlog"}, "artefacts": [page(1)], **one},
        {"variables": {"a": [2], "c": "new"}, "rows": {"1-2-login": "review"}, "artefacts": [page(2)], **two},
    )
    document = parse_validated(
        "checkpoint-diff", printed(sample.root, "runs", "diff", "@1", f"{run.name}@dev", "--json")
    )
    assert [(one["name"], one["before"], one["after"]) for one in document["variables"]] == [
        ("a", 1, [2]),
        ("b", "gone", None),
        ("c", None, "new"),
    ]
    assert [one["name"] for one in document["artefacts"]] == ["artefacts/step-02-output.md"]  # the first is kept
    assert [(one["path"], one["kind"], one["added"]) for one in document["files"]] == [
        ("src/lo gin\t2.py", "added", 2)
    ]
    shown = printed(sample.root, "runs", "diff", "@1", "@2")
    for sha in (*one.values(), *two.values()):
        shown = shown.replace(sha[:12], "TREE").replace(sha[:7], "HEAD")
    assert_golden(
        "runs-diff", shown.replace(document["before"]["id"], "ID1").replace(document["after"]["id"], "ID2")
    )


def test_by_id_over_two_runs(sample: SampleProject) -> None:
    old = run_with(sample, {"artefacts": [page(1)]})
    new = run_with(sample, {"artefacts": [page(1)], "variables": {"x": "1"}}, began=STARTED_AT + 100)
    for run, text in ((old, "one"), (new, "other")):
        (run / "artefacts").mkdir()
        (run / "artefacts/step-01-output.md").write_text(text)
    ids = [
        checkpoint(run.name, 1, "", **more)["id"] for run, more in ((old, {}), (new, {"variables": {"x": "1"}}))
    ]
    shown = printed(sample.root, "runs", "diff", *ids)
    assert "~ artefacts/step-01-output.md: its content" in shown
    assert "files: no work tree was recorded" in shown


def test_the_same_twice(sample: SampleProject) -> None:
    run_with(sample, tree_of(sample, "a.txt", "a"))
    assert printed(sample.root, "runs", "diff", "@1", "@1").endswith("nothing differs\n")


def test_a_tree_that_git_has_no_more(sample: SampleProject) -> None:
    run_with(sample, {"tree": "1" * 40}, {"tree": "2" * 40})
    document = parse_validated("checkpoint-diff", printed(sample.root, "runs", "diff", "@1", "@2", "--json"))
    assert document["files"] is None
    assert "git has the work trees no more" in document["files_unknown"]


def test_a_path_that_climbs_out_is_not_opened(sample: SampleProject) -> None:
    climbing = {"step": 1, "name": "x", "path": "../../../../../secret"}
    run_with(sample, {"artefacts": [climbing]})
    run_with(sample, {"artefacts": [climbing], "variables": {"x": "1"}}, began=STARTED_AT + 100)
    (sample.root / "secret").write_text("secret")
    assert "secret: its content" not in printed(sample.root, "runs", "diff", "lean-20260101-1200@1", "@1")


def test_what_is_not_there(sample: SampleProject) -> None:
    run = run_with(sample, {})
    assert "there is no checkpoint 'zz'" in refused(sample.root, "runs", "diff", "zz", "@1")
    said = refused(sample.root, "runs", "diff", "@1", f"{run.name}@7")
    assert "has no checkpoint of step '7'" in said
    assert "1 create-story" in said
    assert "there is no run 'nowhere'" in refused(sample.root, "runs", "diff", "nowhere@1", "@1")


def test_steps_that_a_fork_took_over_are_its_own_past(sample: SampleProject) -> None:
    old = run_with(sample, {"artefacts": [page(1)]}, {"artefacts": [page(2)]})
    fork = Path(make_run(runs_folder(str(sample.root)), "main", "lean", STARTED_AT + 60))
    journal = Journal(str(fork), lambda value: value, lambda: STARTED_AT + 60)
    journal.append("run", target="epic-1", forked_from={"run": old.name, "step": 1, "entry": 2})
    journal.append("accepted", checkpoint=checkpoint(old.name, 1, "create-story", artefacts=[page(1)]))
    journal.append("forked", run=fork.name, step=1)
    journal.append("accepted", checkpoint=checkpoint(fork.name, 2, "dev", artefacts=[page(2)]))
    journal.close()
    assert "artefacts" not in printed(sample.root, "runs", "diff", f"{old.name}@2", f"{fork.name}@2")
    assert "+ artefacts/step-02" in printed(sample.root, "runs", "diff", f"{fork.name}@1", f"{fork.name}@2")
