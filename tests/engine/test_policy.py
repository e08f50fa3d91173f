"""What judges a run: settings and detected checks together, whatever the settings file mentions."""

from pathlib import Path

import pytest

from bmad_autopilot.engine.policy import (
    MAX_SHOWN,
    check_commands,
    describe_differences,
    settings_digest,
    with_base_settings,
)
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.config_reader import config_from_bytes
from bmad_autopilot.project.project import open_project
from tests.support.bmad_project import ProjectMaker, SampleProject, git
from tests.support.lane_projects import LaneProject
from tests.support.terminals import run_piped

MAKEFILE = "lint:\n\t@echo linted\ntest:\n\t@echo tested\nbuild:\n\t@echo built\n"
DETECTED = ("make lint", "make test", "make build")
CONFIG = "bmad-autopilot.toml"

SETTINGS = {
    "an empty file": ("", DETECTED),
    "comments alone": ("# commands.test = []\n\n", DETECTED),
    "an unrelated key": ("stale_days = 9\n", DETECTED),
    "an unrelated table": ('[gates]\nallow = ["docs/*"]\n', DETECTED),
    "an empty table": ("[commands]\n", DETECTED),
    "an agent of one's own": ('agent = "x"\n[agents.x]\ncommand = ["true"]\n', DETECTED),
    "another command": ('[commands]\ninstall = "make deps"\n', DETECTED),
    "one of several": ('[commands]\ntest = ["sh t.sh"]\n', ("make lint", "sh t.sh", "make build")),
    "two of several": ('[commands]\ncheck = []\ntest = ["a", "b"]\n', ("a", "b", "make build")),
    "an explicit empty list": ("[commands]\ntest = []\n", ("make lint", "make build")),
    "all of them empty": ("[commands]\ncheck = []\ntest = []\nbuild = []\n", ()),
}


def checks(sample: SampleProject) -> tuple[str, ...]:
    return check_commands(with_base_settings(open_project(str(sample.root)), lambda kind, data, at: None))


def made(project: ProjectMaker, settings: str | None) -> SampleProject:
    sample = project()
    sample.write("Makefile", MAKEFILE)
    if settings is not None:
        sample.write(CONFIG, settings)
    sample.commit()
    return sample


def test_without_a_file_the_checks_are_detected(project: ProjectMaker) -> None:
    assert checks(made(project, None)) == DETECTED


@pytest.mark.parametrize(("settings", "expected"), SETTINGS.values(), ids=SETTINGS.keys())
def test_what_the_file_does_not_mention_is_detected(
    project: ProjectMaker, settings: str, expected: tuple[str, ...]
) -> None:
    sample = made(project, settings)
    assert checks(sample) == expected
    (sample.root / CONFIG).unlink()  # the base branch still has it
    assert checks(sample) == expected


@pytest.mark.parametrize(("settings", "expected"), SETTINGS.values(), ids=SETTINGS.keys())
def test_the_same_of_a_file_that_is_not_committed(
    project: ProjectMaker, settings: str, expected: tuple[str, ...]
) -> None:
    sample = made(project, None)
    sample.write(CONFIG, settings)
    assert checks(sample) == expected


def test_the_base_branch_counts_and_not_the_working_copy(project: ProjectMaker) -> None:
    sample = made(project, "stale_days = 9\n")
    git(sample.root, "switch", "--quiet", "--create", "other")
    sample.write(CONFIG, "[commands]\ncheck = []\ntest = []\nbuild = []\n")
    sample.commit()
    assert checks(sample) == DETECTED


def test_the_old_settings_file_changes_nothing_about_checks(project: ProjectMaker) -> None:
    sample = made(project, None)
    sample.write(".autopilot/config", "PARALLEL_MODE=2\n")
    assert checks(sample) == DETECTED


@pytest.mark.parametrize(
    "words", [("autopilot", "--dry-run"), ("autopilot", "--dry-run", "--parallel", "2"), ("doctor",)]
)
def test_what_is_told_of_them(project: ProjectMaker, words: tuple[str, ...]) -> None:
    sample = made(project, "stale_days = 9\n")
    assert "make lint, make test, make build" in run_piped(*words, cwd=sample.root).stdout
    (sample.root / "Makefile").unlink()
    shown = " ".join(run_piped(*words, cwd=sample.root).stdout.split())
    assert "no check commands" in shown
    assert "on the review alone" in shown
    assert "set `test` under [commands] in bmad-autopilot.toml" in shown


class Ran:
    """A run of the sample's first story with an honest agent, its own `[commands]` taken out of the settings."""

    def __init__(self, root: Path, makefile: str) -> None:
        self.sample = LaneProject(root)
        settings = root / CONFIG
        text = settings.read_text().partition("[commands]")[0]
        settings.write_text(f"stale_days = 9\n{text}")
        if makefile:
            self.sample.write("Makefile", makefile)
        self.sample.git("add", "--all")
        self.sample.git("commit", "--quiet", "--message", "Settings")
        self.ran = self.sample.run()

    @property
    def commands(self) -> set[str]:
        return {str(one[0]) for check in self.ran.entries("check") for one in check["ran"]}


def test_a_run_with_one_unrelated_line_runs_the_detected_checks(tmp_path: Path) -> None:
    run = Ran(tmp_path, MAKEFILE)
    assert run.ran.end.status == "completed"
    assert run.commands == set(DETECTED)


def test_a_detected_check_that_fails_keeps_the_story_from_being_done(tmp_path: Path) -> None:
    run = Ran(tmp_path, "test:\n\t@echo broken; exit 1\n")
    assert run.commands == {"make test"}
    assert run.sample.row("1-1") != "done"
    assert run.ran.questions


def test_a_run_without_checks_says_so_before_it_starts(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path)
    settings = tmp_path / CONFIG
    settings.write_text(settings.read_text().partition("[commands]")[0])
    sample.git("commit", "--quiet", "--all", "--message", "Settings")
    shown = " ".join(run_piped("run-story", "1-1", cwd=tmp_path).stdout.split())
    assert "no check commands were found: the work is committed and merged on the review alone" in shown


# What has changed in the settings, said so that the change can be seen.


def config(text: str) -> Config:
    return config_from_bytes(text.encode(), "bmad-autopilot.toml", lambda name: b"")


def agent(*words: str) -> Config:
    shown = ", ".join(f'"{word}"' for word in words)
    return config(f'agent = "own"\n[agents.own]\ncommand = [{shown}]\n')


def test_the_same_settings() -> None:
    assert describe_differences(agent("x"), agent("x")) == []


def test_a_setting_inside_others_is_named_alone() -> None:
    assert describe_differences(agent("x"), agent("x", "-v")) == ["agents.own.command: x → x, -v"]


def test_of_long_values_the_part_that_differs() -> None:
    long = "a" * 3 * MAX_SHOWN
    (line,) = describe_differences(agent(long, "3"), agent(long, "6"))
    before, after = line.removeprefix("agents.own.command: ").split(" → ")
    assert (before[0], before[-1]) == ("…", "3")
    assert (after[0], after[-1]) == ("…", "6")
    assert len(before) <= MAX_SHOWN + 2


def test_what_is_new() -> None:
    (line, more) = describe_differences(config(""), agent("x"))
    assert line == "agent: claude → own"
    assert more.startswith("agents.own: nothing → ")


def test_commands_that_are_set_or_no_longer_set() -> None:
    unset, none, own = (config(f"[commands]\n{line}\n") for line in ("", "test = []", 'test = ["make test"]'))
    assert describe_differences(unset, none) == ["commands.test: as detected → nothing"]
    assert describe_differences(own, unset) == ["commands.test: make test → as detected"]
    assert len({settings_digest(one) for one in (unset, none, own)}) == 3
    assert settings_digest(unset) == settings_digest(Config())


def test_the_workflow_is_kept() -> None:
    assert describe_differences(config(""), config('workflow = "full"\n')) == [
        "workflow: auto → full (this run keeps its workflow)"
    ]
