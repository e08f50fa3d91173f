"""bmad simulate, as it is typed."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.bmad_project import ProjectMaker
from tests.support.terminals import run_piped


def validated(output: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(output)
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/simulation.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def test_one_world_is_told_in_order(tmp_path: Path) -> None:
    done = run_piped("simulate", "--seed", "3", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    times = [line[:9] for line in lines[: lines.index("")]]
    assert times == sorted(times)
    assert "create-story of 1-1-list-accounts is called" in done.stdout
    assert "1 world, 12 stories:" in done.stdout
    assert lines[-1] == "every promise held"
    assert list(tmp_path.iterdir()) == []  # nothing is written


def test_verbose_shows_the_journal_too(tmp_path: Path) -> None:
    options = ("simulate", "--epics", "1", "--stories", "1", "--no-crashes")
    short = run_piped(*options, cwd=tmp_path).stdout
    long = run_piped(*options, "-v", cwd=tmp_path).stdout
    assert " note " not in short
    assert " note          accepted" in long


def test_many_worlds_are_summed_up(tmp_path: Path) -> None:
    done = run_piped("simulate", "--seeds", "3", "--epics", "1", "--stories", "2", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("3 worlds, 6 stories:")
    assert done.stdout.count("\n") == 4


def test_it_is_also_told_to_programs(tmp_path: Path) -> None:
    one = validated(run_piped("simulate", "--seed", "4", "--json", cwd=tmp_path).stdout)
    assert (one["first_seed"], one["seeds"], one["broken"]) == (4, 1, [])
    assert one["effects"][0]["told"]
    many = validated(run_piped("simulate", "--seeds", "2", "--epics", "1", "--json", cwd=tmp_path).stdout)
    assert "effects" not in many
    assert many["totals"]["stories"] == 8


def test_inside_a_project_its_own_policy_is_rehearsed(project: ProjectMaker) -> None:
    sample = project()
    sample.write("bmad-autopilot.toml", 'workflow = "full"\n')
    done = run_piped("simulate", "--epics", "1", "--stories", "1", "--no-crashes", cwd=sample.root)
    assert "validate of 1-1-list-accounts is called" in done.stdout
    other = run_piped("simulate", "--epics", "1", "--stories", "1", "--workflow", "build", cwd=sample.root)
    assert "build-auto of 1-1-list-accounts is called" in other.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--workflow", "nope"), "there is no workflow nope"),
        (("--seeds", "0"), "0 is not in the range"),
        (("--epics", "99"), "99 is not in the range"),
        (("--seed", "x"), "is not a valid integer"),
    ],
)
def test_bad_options_are_usage_errors(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    done = run_piped("simulate", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.real
def test_a_broken_promise_fails_with_the_command_to_see_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gates believe everything."""
    from click.testing import CliRunner

    from bmad_autopilot.cli import bmad

    monkeypatch.setattr("bmad_autopilot.gates.judge.judge_work", lambda look: ())
    done = CliRunner().invoke(bmad, ["-C", str(tmp_path), "simulate", "--seeds", "30"])
    assert done.exit_code == 1
    assert "breaks a promise" in done.output
    assert "no liar reaches done" in done.output
    assert "see it again: bmad simulate --seed" in done.output


def test_deliveries_are_rehearsed_to_merged_pull_requests(tmp_path: Path) -> None:
    done = run_piped("simulate", "--delivery", "--seeds", "3", "--json", cwd=tmp_path)
    totals = validated(done.stdout)["totals"]
    assert (done.returncode, totals["broken"]) == (0, 0)
    assert totals["pulls"] >= 3
    told = run_piped(
        "simulate", "--delivery", "--epics", "1", "--stories", "1", "--seed", "2", cwd=tmp_path
    ).stdout
    assert "pull request #1 is opened for feature/epic-1" in told
    assert "1 pull requests:" in told


@pytest.mark.parametrize("options", [("--workflow", "full"), ("--epics", "6")])
def test_what_a_delivery_cannot_play(tmp_path: Path, options: tuple[str, str]) -> None:
    done = run_piped("simulate", "--delivery", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert options[1] in done.stderr
