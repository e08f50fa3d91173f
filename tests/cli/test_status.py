"""`bmad status`: one screen, the next action and its command, every risk, nothing cut without a mark."""

import json
import shlex
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from bmad_autopilot.views.terminal import display_width
from tests.support.bmad_project import ProjectMaker, SampleProject, run_bmad
from tests.support.cli_projects import empty_project, finished_project, large_project, mixed_project
from tests.support.isolated_path import IsolatedPath
from tests.support.schemas import parse_validated
from tests.support.terminals import COMMAND, assert_golden, run_in_terminal, run_piped, strip_colors

Make = Callable[[ProjectMaker], SampleProject]
MAKERS: dict[str, Make] = {
    "mixed": mixed_project,
    "finished": finished_project,
    "empty": empty_project,
    "large": large_project,
}


def assert_fits(text: str, columns: int) -> None:
    for line in strip_colors(text).splitlines():
        assert display_width(line) <= columns, line


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", MAKERS)
def test_transcripts(project: ProjectMaker, name: str, columns: int) -> None:
    sample = MAKERS[name](project)
    shown = run_in_terminal("status", cwd=sample.root, columns=columns)
    assert "\x1b[" in shown
    assert_fits(shown, columns)
    assert len(shown.splitlines()) <= 40
    assert_golden(f"status-{name}-{columns}", strip_colors(shown))
    assert run_in_terminal("status", cwd=sample.root, columns=columns, NO_COLOR="1") == strip_colors(shown)


def test_the_coloured_transcript(project: ProjectMaker) -> None:
    assert_golden("status-mixed-colour", run_in_terminal("status", cwd=mixed_project(project).root, columns=80))


@pytest.mark.parametrize("columns", [20, 40, 61, 79, 120])
@pytest.mark.parametrize("options", [[], ["--all"], ["--epic", "2"]])
def test_any_width(project: ProjectMaker, columns: int, options: list[str]) -> None:
    assert_fits(
        run_in_terminal("status", *options, cwd=mixed_project(project).root, columns=columns), max(columns, 40)
    )


def test_the_mixed_transcript_says_all_that_matters(project: ProjectMaker) -> None:
    shown = " ".join(run_piped("status", cwd=mixed_project(project).root, COLUMNS="200").stdout.split())
    for part in (
        "next dev 2-3-sharing",
        "claude '/bmad-dev-story 2-3'",
        "11 stories · 3 done · 1 review · 1 in-progress · 1 ready-for-dev · 3 backlog · 1 parked · 1 unknown",
        "2-2-search waits for code-review",
        "status nobody knows (deployed)",
        "1 unrecognised key: loose-notes",
        "1 story without an epic row: 4-1-orphan",
        "epic-3 is done, but 1 story of it is not",
        "epic-5 is in-progress but has no stories",
        "days ago",
        "2-2-search is review on the board, done in its story file (bmad board repair)",
        "1 action item from retrospectives still open",
        "blocked waits for the certificate",
    ):
        assert part in shown, part


def test_piped_output_is_plain(project: ProjectMaker) -> None:
    done = run_piped("status", cwd=mixed_project(project).root)
    assert "\x1b" not in done.stdout
    assert (done.stderr, done.returncode) == ("", 0)
    assert "\x1b[" in run_piped("--color", "always", "status", cwd=mixed_project(project).root).stdout
    assert "\x1b[" in run_piped("status", cwd=mixed_project(project).root, FORCE_COLOR="1").stdout


def test_a_terminal_without_unicode(project: ProjectMaker) -> None:
    done = run_piped("status", cwd=finished_project(project).root, PYTHONIOENCODING="ascii:replace", LC_ALL="C")
    assert done.returncode == 0
    assert "####" in done.stdout


def test_one_epic_with_its_title(project: ProjectMaker) -> None:
    shown = run_piped("status", "--epic", "2", cwd=mixed_project(project).root).stdout
    assert "Finding things" in shown  # from the epics file
    assert "2-10-archive" in shown
    assert "1-1-set-up" not in shown


@pytest.mark.parametrize("wanted", ["9", "epic-9", "zebra"])
def test_an_epic_that_is_not_there(project: ProjectMaker, wanted: str) -> None:
    done = run_piped("status", "--epic", wanted, cwd=mixed_project(project).root)
    assert done.returncode == 2
    assert f"no epic {wanted.removeprefix('epic-')} on the board" in done.stderr


@pytest.mark.parametrize("name", ["mixed", "finished", "empty"])
def test_json_keeps_its_schema(project: ProjectMaker, name: str) -> None:
    done = run_piped("status", "--json", cwd=MAKERS[name](project).root)
    document = json.loads(done.stdout)
    schema = json.loads(files("bmad_autopilot").joinpath("schemas/status.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    if name == "mixed":
        assert document["next"]["invocation"].startswith("/bmad-dev-story 2-3-sharing")
        assert document["next"]["command"] == "bmad run-story 2-3 --dry-run"
        assert [item["code"] for item in document["drift"]] == ["board-behind"]
        assert document["unrecognised"] == ["loose-notes"]
    else:
        assert document["next"] is None


def test_the_reader_who_goes_away_is_no_error(project: ProjectMaker) -> None:
    sample = large_project(project)
    with subprocess.Popen(
        [*COMMAND, "status", "--all"], cwd=sample.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == ""
        assert child.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"development_status:\n  1-1-a: b: c\n", "sprint-status.yaml:2:11: is not valid YAML"),
        (b"", "sprint-status.yaml:1:1: is not a board"),
        (b"development_status:\n  1-1-a: d\0ne\n", "sprint-status.yaml:2:11: holds a NUL byte"),
        (b"development_status:\n  1-1-\xff: done\n", "sprint-status.yaml:2:7: is not UTF-8"),
        (b"development_status:\n  ../../x: done\n", "sprint-status.yaml:2:3: has a key that cannot name"),
        (b"a: &a x\ndevelopment_status:\n  1-1-a: *a\n", "sprint-status.yaml:3:10: uses a YAML alias"),
    ],
)
@pytest.mark.parametrize(
    "verb", [["status"], ["next", "--dry-run"], ["board", "check"], ["board", "set", "1-1", "done"]]
)
def test_a_broken_board_is_said_and_left_alone(
    project: ProjectMaker, raw: bytes, says: str, verb: list[str]
) -> None:
    sample = project(board=raw, stories={})
    done = run_piped(*verb, cwd=sample.root)
    assert (done.returncode, done.stdout) == (4, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert sample.board.read_bytes() == raw


def test_a_board_that_is_a_directory_or_huge(project: ProjectMaker) -> None:
    sample = project(board=None, stories={})
    sample.board.mkdir(parents=True)
    assert "found:    a directory" in run_piped("status", cwd=sample.root).stderr
    sample.board.rmdir()
    with sample.board.open("wb") as handle:
        handle.truncate(50_000_000)
    done = run_piped("status", cwd=sample.root)
    assert (done.returncode, "too large" in done.stderr) == (4, True)


def test_no_board_and_two_boards(project: ProjectMaker) -> None:
    none = project("none", board=None, stories={})
    done = run_piped("status", cwd=none.root)
    assert (done.returncode, "bmm   BMAD's planning, from an idea to the board" in done.stdout) == (0, True)
    done = run_piped("run-epic", "1", "--dry-run", cwd=none.root)
    assert (done.returncode, "sprint-planning" in done.stderr) == (4, True)
    two = project("two", board=None, stories={})
    for folder in ("team-a", "team-b"):
        two.write(f"{folder}/sprint-status.yaml", "development_status:\n  1-1-a: done\n")
    done = run_piped("status", cwd=two.root)
    assert done.returncode == 4
    assert 'board = "team-a/sprint-status.yaml"' in done.stderr
    two.write("bmad-autopilot.toml", 'board = "team-b/sprint-status.yaml"\n')
    assert run_piped("status", cwd=two.root).returncode == 0


def test_text_from_the_board_cannot_drive_the_terminal(project: ProjectMaker) -> None:
    board = 'development_status:\n  1-1-a: "\\e[31mred\\e]0;title\\a"\n  1-2-b: blocked  # \x9b2J and \u202eback\n'
    sample = project(board=board, stories={})
    done = run_piped("status", "--all", cwd=sample.root)
    shown = done.stdout + done.stderr
    assert not set("\x1b\x07\x9b\u202e") & set(shown)


def test_outside_any_project(tmp_path: Path) -> None:
    done = run_piped("status", cwd=tmp_path)
    assert (done.returncode, "BMAD is not installed here" in done.stderr) == (4, True)
    done = run_piped("-C", "nowhere", "status", cwd=tmp_path)
    assert (done.returncode, "no such folder" in done.stderr) == (4, True)


def test_a_linked_worktree_shows_its_own_board_and_names_its_owner(project: ProjectMaker, tmp_path: Path) -> None:
    sample = mixed_project(project)
    sample.commit()
    lane = tmp_path / "lane"
    sample.git("worktree", "add", "--quiet", str(lane))
    board = lane / sample.era.implementation / "sprint-status.yaml"
    board.write_text(board.read_text().replace("2-2-search: review", "2-2-search: done"))
    document = json.loads(run_piped("status", "--json", cwd=lane / "_bmad").stdout)
    assert document["project"]["root"] == str(sample.root)
    assert document["project"]["checkout"] == str(lane)
    assert document["counts"]["review"] == 0


def test_one_epic_has_a_next_of_its_own(project: ProjectMaker) -> None:
    shown = run_piped("status", "--epic", "3", cwd=mixed_project(project).root).stdout
    assert "next  create-story 3-1-billing" in shown
    assert "bmad run-story 3-1 --dry-run" in shown


def test_everything_parked_is_not_everything_done(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-2-b: blocked  # no key yet\n"
    sample = project(board=board, stories={})
    shown = " ".join(run_piped("status", cwd=sample.root).stdout.split())
    assert "1-2-b blocked no key yet" in shown
    assert "nothing that can start by itself; of 2 stories, 1-2-b is blocked" in shown
    assert "bmad board set 1-2-b ready-for-dev" in shown
    assert run_piped("next", "--dry-run", cwd=sample.root).returncode == 3
    assert run_piped("run-story", "1-2", "--dry-run", cwd=sample.root).returncode == 3


def test_the_next_story_is_always_on_the_screen(project: ProjectMaker) -> None:
    """Among many epics and many open stories, the one that comes next is shown with its epic."""
    lines = ["development_status:"]
    for epic in range(1, 31):
        lines.append(f"  epic-{epic}: in-progress")
        lines += [f"  {epic}-{n}-story: ready-for-dev" for n in range(1, 31)]
    lines[lines.index("  29-28-story: ready-for-dev")] = "  29-28-story: in-progress"
    shown = run_piped("status", cwd=project(board="\n".join(lines) + "\n", stories={}).root).stdout
    assert "\n    29-28-story  in-progress\n" in shown
    assert "17 under way" in shown


def test_a_reader_that_is_full_is_no_internal_error(project: ProjectMaker) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "status"], cwd=mixed_project(project).root, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "bmad: error: No space left on device\n")


def test_without_an_installed_skill_there_is_the_doctor(project: ProjectMaker) -> None:
    sample = project(board="development_status:\n", stories={}, era="build")
    assert "claude /bmad-sprint-planning" in run_piped("status", cwd=sample.root).stdout


ESCAPES = set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize(
    "arguments",
    [["status"], ["next", "--dry-run"], ["board", "check"], ["board", "set", "1-1", "done", "--expect", "x"]],
)
def test_nothing_from_a_file_drives_the_terminal(project: ProjectMaker, arguments: list[str]) -> None:
    board = 'development_status:\n  epic-1: in-progress\n  1-1-a: "\\e]0;x\\a"\n  1-2-b: in-progress\n'
    sample = project(board=board, stories={}, era="v4")
    sample.write(".claude/commands/bmad/\x1b]0;PWN\x07/dev-story.md", "Do it.\n")
    for settings in ("", 'agent = "\\u001b]0;PWN\\u0007"\n'):
        sample.write("bmad-autopilot.toml", settings)
        done = run_piped(*arguments, cwd=sample.root)
        assert done.stdout + done.stderr
        assert not ESCAPES & set(done.stdout + done.stderr)


@pytest.mark.parametrize("redirect", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("arguments", ["status", "--version", "status --epic 99"])
def test_closed_streams(project: ProjectMaker, redirect: str, arguments: str) -> None:
    command = f"{shlex.join(COMMAND)} {arguments} {redirect}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=mixed_project(project).root, capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if "99" in arguments else 0)
    assert "Traceback" not in done.stderr


def test_a_terminal_that_lacks_the_arrow_changes_nothing_about_the_edit(project: ProjectMaker) -> None:
    done = run_piped("board", "set", "2-2", "done", cwd=mixed_project(project).root, PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stdout) == (0, "2-2-search: review ? done (sprint-status.yaml:14)\n")


def test_a_folder_that_is_gone(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    command = f"mkdir gone && cd gone && rmdir ../gone && {shlex.join(COMMAND)} status"
    done = subprocess.run(["sh", "-c", command], cwd=sample.root, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("verb", [["run-epic", "2-2-search", "--dry-run"], ["status", "--epic", "2-2-search"]])
def test_a_story_is_no_epic(project: ProjectMaker, verb: list[str]) -> None:
    done = run_piped(*verb, cwd=mixed_project(project).root)
    assert (done.returncode, "no epic 2-2-search on the board" in done.stderr) == (2, True)


def test_one_epic_speaks_for_itself(project: ProjectMaker) -> None:
    shown = run_piped("status", "--epic", "1", cwd=mixed_project(project).root).stdout
    assert "all 2 stories of epic-1 are done" in shown
    assert "loose-notes" not in shown


def test_thousands_of_parked_stories_have_their_reasons(project: ProjectMaker) -> None:
    lines = [f"  1-{n}-story: blocked  # reason {n}" for n in range(1, 6001)]
    sample = project(board="development_status:\n  epic-1: in-progress\n" + "\n".join(lines) + "\n", stories={})
    document = json.loads(run_piped("status", "--json", cwd=sample.root).stdout)
    assert [item["reason"] for item in document["parked"]] == [f"reason {n}" for n in range(1, 6001)]


TREE = "_bmad-output/initiative-shop/tickets.toml"
STARTING = (
    ("next",),
    ("next", "-y"),
    ("next", "--dry-run"),
    ("run-story", "1-2"),
    ("run-story", "1-2", "--dry-run"),
    ("run-epic", "1"),
    ("plan",),
    ("plan", "--json"),
    ("autopilot",),
    ("autopilot", "--dry-run"),
    ("autopilot", "--daemon"),
    ("autopilot", "--parallel", "2"),
    ("pr", "sync"),
    ("flow",),
    ("flow", "--json"),
    ("flow", "list"),
    ("flow", "run"),
    ("flow", "run", "bmm"),
    ("flow", "run", "greenfield", "--through"),
    ("init",),
    ("init", "--dry-run"),
    ("resume",),
    ("resume", "--adopt"),
    ("resume", "--checkpoint", "abc123"),
    ("restart", "1-2"),
    ("board", "repair"),
    ("board", "repair", "--apply"),
    ("board", "set", "1-2", "done"),
)
READING = (
    ("status",),
    ("status", "--json"),
    ("status", "--epic", "1"),
    ("status", "--all"),
    ("board", "check"),
    ("board", "check", "--json"),
)


def _with_agent(sample: SampleProject, machine: IsolatedPath) -> Path:
    """An agent that leaves a mark when it is started."""
    mark = sample.root.parent / "started"
    machine.add("claude", f'echo started >> "{mark}"')
    return mark


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("words", [*STARTING, *READING], ids=" ".join)
def test_beside_a_ticket_tree_every_verb_says_so_and_starts_nothing(
    project: ProjectMaker, machine: IsolatedPath, words: tuple[str, ...]
) -> None:
    sample = project()  # with everything that BMAD 6 leaves, its board too
    sample.write(TREE, "[[epic]]\nid = 1\nslug = 'epic-a'\n")
    sample.commit("Plan with BMAD 7")
    mark, before = _with_agent(sample, machine), _files(sample.root)
    ran = run_bmad(*words, cwd=sample.root)
    assert (ran.code, ran.out) == (4, "")
    assert f"{TREE}: the project is planned with BMAD 7: this version of bmad does not support" in ran.err
    assert "help:" in ran.err
    assert _files(sample.root) == before
    assert not mark.exists()


@pytest.mark.parametrize("words", STARTING, ids=" ".join)
def test_on_a_board_of_bmad_6_under_the_skills_of_bmad_7_nothing_is_started(
    project: ProjectMaker, machine: IsolatedPath, words: tuple[str, ...]
) -> None:
    sample = project()
    sample.write(".claude/skills/bmad-ticket/SKILL.md", "---\nname: bmad-ticket\n---\n")
    sample.commit("Install BMAD 7")
    mark, before = _with_agent(sample, machine), _files(sample.root)
    ran = run_bmad(*words, cwd=sample.root)
    assert (ran.code, ran.out) == (1, "")
    assert "the board is BMAD 6's, and BMAD 7's skills cannot read it" in ran.err
    assert "/bmad migrate method" in ran.err
    assert _files(sample.root) == before
    assert not mark.exists()


def test_a_board_of_bmad_6_under_the_skills_of_bmad_7_is_shown(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-a: review\n  1-2-b: backlog\n"
    sample = project(board=board, stories={"1-1-a": "done"})
    sample.write(".claude/skills/bmad-ticket/SKILL.md", "---\nname: bmad-ticket\n---\n")
    ran = run_bmad("status", cwd=sample.root)
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    assert "1-1-a is review on the board, done in its story file" in shown
    assert "the board is BMAD 6's, and BMAD 7's skills cannot read it" in shown
    assert "bmad next" not in shown
    assert "bmad board repair" not in shown
    found = parse_validated("status", run_bmad("status", "--json", cwd=sample.root).out)
    assert (found["next"], found["counts"]["review"]) == (None, 1)
    assert "board-of-bmad-6" in [risk["code"] for risk in found["risks"]]
    checked = run_bmad("board", "check", cwd=sample.root)
    assert (checked.code, "board-of-bmad-6" in checked.out) == (0, True)
    assert "bmad board repair" not in checked.out


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (".claude/skills/bmad-ticket/SKILL.md", "BMAD 7 is installed, and no ticket tree was found"),
        ("_bmad-output/migration-v6-v7/migration-v6-v7.md", "a migration from BMAD 6 to BMAD 7 is not finished"),
        ("_bmad-output/preview-ticketing/initiative-x/tickets.toml", "the project is planned with BMAD 7"),
    ],
)
@pytest.mark.parametrize(
    "words", [("status",), ("status", "--json"), ("flow", "run"), ("next", "-y"), ("autopilot",)]
)
def test_the_other_states_of_bmad_7_say_so_too(
    project: ProjectMaker, machine: IsolatedPath, words: tuple[str, ...], path: str, says: str
) -> None:
    sample = project(board=None, epics=None, stories={})
    sample.write(path, "")
    mark = _with_agent(sample, machine)
    ran = run_bmad(*words, cwd=sample.root)
    assert (ran.code, ran.out) == (4, "")
    assert says in ran.err
    assert not mark.exists()
