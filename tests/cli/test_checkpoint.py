"""bmad checkpoint save, update, close: as an agent types them."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.runs.checkpoint_protocol import load_protocol_resume
from tests.cli.run_records import printed, refused, small_run, typed
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.schemas import parse_validated

SAVE = ("checkpoint", "save", "--workflow", "create-prd")


@pytest.fixture
def sample(project: ProjectMaker, monkeypatch: pytest.MonkeyPatch) -> SampleProject:
    made = project()
    monkeypatch.chdir(made.root)
    return made


def test_a_workflow_from_its_first_step_to_its_end(sample: SampleProject) -> None:
    sample.write("vars.json", '{"n": 3, "who": "x"}')
    sample.write("docs/brief.md", "# Brief\n")
    saved = parse_validated(
        "checkpoint",
        printed(
            sample.root,
            *(*SAVE, "--step", "1", "--total", "2", "--path", "_bmad/create-prd.md", "--json"),
            *("--vars-file", "vars.json", "--var", "who=me=you", "--name", "discover"),
        ),
    )
    folder = Path(str(saved["folder"]))
    done = printed(
        sample.root, "checkpoint", "update", "--step", "1", "--artefact", "docs/brief.md", "--note", "well"
    )
    assert "step 2/2, running" in done
    found = load_protocol_resume(str(folder))
    assert found is not None
    assert (found.variables, found.step, found.path) == ({"n": 3, "who": "me=you"}, 2, "_bmad/create-prd.md")
    assert Path(found.artefacts[0][1]).read_text() == "# Brief\n"
    assert "(recorded before)" in printed(
        sample.root, "checkpoint", "update", "--step", "1", "--artefact", "docs/brief.md", "--note", "well"
    )
    assert "all 2 steps completed" in printed(sample.root, "checkpoint", "update", "--step", "2")
    closed = parse_validated(
        "checkpoint", printed(sample.root, "checkpoint", "close", "--summary", "ok", "--json")
    )
    assert closed["status"] == "completed"
    assert "discover" in printed(sample.root, "runs", "show")


def test_resume_tells_the_next_agent_all_of_it(sample: SampleProject) -> None:
    printed(sample.root, *SAVE, "--step", "1", "--var", "who=me")
    printed(sample.root, "checkpoint", "update", "--step", "1", "--note", "well")
    found = parse_validated("protocol-resume", printed(sample.root, "resume", "--json"))
    assert (found["step"], found["variables"], found["notes"]) == (2, {"who": "me"}, ["well"])
    listed = parse_validated("checkpoints", printed(sample.root, "resume", "--list", "--json"))["checkpoints"]
    assert [(one["step"], one["name"]) for one in listed] == [(1, "")]


def test_git_and_the_board_are_recorded(sample: SampleProject) -> None:
    head = sample.git("rev-parse", "HEAD").strip()
    sample.write("new.txt", "not committed\n")
    run = parse_validated("checkpoint", printed(sample.root, *SAVE, "--step", "1", "--json"))["run"]
    sample.write("new.txt", "changed\n")
    printed(sample.root, "checkpoint", "update", "--step", "1", "--var", "a=b")
    assert sample.git("show", f"refs/autopilot/checkpoints/{run}/1:new.txt") == "changed\n"
    assert sample.git("status", "--porcelain").strip() == "?? new.txt"
    ids = [line.split()[1].rstrip(":") for line in printed(sample.root, *SAVE, "--step", "1").splitlines()[1:]]
    document = parse_validated("checkpoint-diff", printed(sample.root, "runs", "diff", ids[0], "@1", "--json"))
    assert document["before"]["head"] == document["after"]["head"] == head
    assert "1-2-sign-in" in (sample.root / "_bmad-output/.runs/main" / str(run) / "journal.jsonl").read_text()


def test_without_git_or_a_board_it_is_kept_all_the_same(project: ProjectMaker) -> None:
    sample = project(with_git=False, board="\0", epics=None, stories={})
    sample.write("bmad-autopilot.toml", "= broken")
    assert "checkpoint" in printed(sample.root, *SAVE, "--step", "1")
    assert "step 2" in printed(sample.root, "checkpoint", "update", "--step", "1")


@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "link.md", "\0", ""])
def test_an_artefact_outside_the_project_is_refused(sample: SampleProject, path: str) -> None:
    (sample.root.parent / "secret.md").write_text("secret")
    os.symlink("../secret.md", sample.root / "link.md")
    printed(sample.root, *SAVE, "--step", "1")
    assert "is outside the project" in refused(
        sample.root, "checkpoint", "update", "--step", "1", "--artefact", path
    )


def test_what_cannot_be_kept_is_said(sample: SampleProject) -> None:
    sample.write("list.json", "[1]")
    sample.write("bytes.bin", b"\xff\xfe\x00")
    update = ("checkpoint", "update", "--step", "1")
    assert "begin one: bmad checkpoint save" in refused(sample.root, *update)
    small_run(sample, "running")
    assert "is looked after by bmad itself" in refused(sample.root, *update, "--run", "lean")
    printed(sample.root, *SAVE, "--step", "1")
    assert "is no variable" in refused(sample.root, *update, "--var", "novalue")
    assert "is no variable" in refused(sample.root, *update, "--var", "=x")
    assert "name is too long" in refused(sample.root, *update, "--var", f"{'n' * 500}=x")
    assert "is no JSON object" in refused(sample.root, *update, "--vars-file", "list.json")
    assert "no such file" in refused(sample.root, *update, "--vars-file", "nowhere.json")
    assert "is not UTF-8" in refused(sample.root, *update, "--artefact", "bytes.bin")
    assert "cannot be read" in refused(sample.root, *update, "--artefact", "_bmad")
    assert typed(sample.root, *SAVE, "--step", "0").exit_code == 2


def test_secrets_of_the_environment_are_not_kept(sample: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "s3cr3t-value-of-a-token-0123456789")
    sample.write("out.md", "the token is s3cr3t-value-of-a-token-0123456789\n")
    printed(sample.root, *SAVE, "--step", "1", "--var", "t=s3cr3t-value-of-a-token-0123456789")
    printed(sample.root, "checkpoint", "update", "--step", "1", "--artefact", "out.md")
    written = [path.read_text() for path in (sample.root / "_bmad-output/.runs").rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert not any("s3cr3t" in text for text in written)


def test_going_back_to_a_checkpoint_begins_another_run_of_it(sample: SampleProject) -> None:
    sample.write("docs/brief.md", "# Brief\n")
    sample.commit()
    printed(sample.root, *SAVE, "--step", "1", "--total", "3", "--var", "a=1")
    update = ("checkpoint", "update", "--json", "--step")
    first = parse_validated("checkpoint", printed(sample.root, *update, "1", "--artefact", "docs/brief.md"))
    printed(sample.root, *update, "2", "--var", "a=2")
    printed(sample.root, "checkpoint", "close")
    old = Path(str(first["folder"]))
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    sample.write("docs/brief.md", "# Later\n")

    said = printed(sample.root, "resume", "--checkpoint", str(first["checkpoint_id"]))
    assert f"begins at a checkpoint of {old.name}, on branch main-{first['checkpoint_id']}\n" in said
    document = parse_validated("protocol-resume", printed(sample.root, "resume", "--json"))
    assert document["run"] != old.name
    assert (document["step"], document["completed"], document["variables"]) == (2, [1], {"a": "1"})
    assert (sample.root / "docs/brief.md").read_text() == "# Brief\n"
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before
    assert document["run"] in printed(sample.root, *update, "2")
