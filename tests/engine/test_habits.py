"""Liars and untidy honest agents, run through the whole loop as real processes on real git."""

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError, FileError
from bmad_autopilot.sim.habits import HABITS
from bmad_autopilot.sim.habits.habit import HabitKind
from tests.support.lane_projects import LaneProject

LIARS = sorted(name for name, habit in HABITS.items() if habit.kind is HabitKind.LIAR)
UNTIDY = sorted(name for name, habit in HABITS.items() if habit.kind is HabitKind.UNTIDY)
EVERY = 5  # of them are run for real each time; all of them in `make soak`


def _mostly_soak(names: list[str]) -> list[object]:
    marks = (pytest.mark.real, pytest.mark.soak)
    return [pytest.param(name, marks=marks[index % EVERY != 0]) for index, name in enumerate(names)]


def test_there_are_enough_of_them() -> None:
    assert len(LIARS) >= 25
    assert len(UNTIDY) >= 25


@pytest.mark.parametrize("habit", _mostly_soak(LIARS))
def test_a_liar_is_never_done(tmp_path: Path, habit: str) -> None:
    sample = LaneProject(tmp_path / "p", f"honest,{habit}:1-1", stories=2)
    ran = sample.run()
    assert ran.end.status == "waiting"
    assert sample.row("1-1") != "done"
    assert not any(subject.startswith("Story 1-1") and ":" not in subject for subject in sample.story_commits())


@pytest.mark.parametrize("habit", _mostly_soak(UNTIDY))
def test_an_untidy_honest_agent_gets_its_story_done(tmp_path: Path, habit: str) -> None:
    sample = LaneProject(tmp_path / "p", f"honest,{habit}:1-1", stories=2)
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("completed", [])
    assert sample.row("1-1") == "done"


# Files that the engine reads, copies or writes, replaced during a call by a link, a device, a pipe or a folder.

IMPLEMENTATION = "_bmad-output/implementation-artifacts"
MOST_BYTES = 64 * 1024 * 1024  # no file of a test grows beyond this, whatever fails

SABOTEUR = """
import os, shutil, subprocess, sys
from bmad_autopilot.sim.agent import read_prompt
prompt = sys.stdin.buffer.read()
job = read_prompt(prompt.decode(), os.getcwd())
ran = subprocess.run([sys.executable, "-m", "bmad_autopilot.sim.agent", "--habit", "honest"], input=prompt)
outside, key, folder, board = {outside!r}, job.story, job.folder, job.board
story, review, state = (f"{{folder}}/{{key}}.{{end}}" for end in ("md", "review.json", "agent-state.json"))
def clear(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
def link(path, target):
    clear(path)
    os.symlink(target, path)
def pipe(path):
    clear(path)
    os.mkfifo(path)
def folder_at(path):
    clear(path)
    os.mkdir(path)
def moved(path, target):
    if not os.path.islink(path):
        shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
        link(path, target)
if job.step == {step!r} and key.startswith("1-1"):
    {act}
sys.exit(ran.returncode)
"""

# name: the step after which it happens, and what happens
REPLACED = {
    "board, a link to a text of the user's": ("dev", "link(board, f'{outside}/notes.txt')"),
    "board, a link to another project's board": ("dev", "link(board, f'{outside}/board.yaml')"),
    "board, a relative link out of the project": (
        "dev",
        "link(board, os.path.relpath(f'{outside}/board.yaml', folder))",
    ),
    "board, a link to a device": ("dev", "link(board, '/dev/zero')"),
    "board, a link to itself": ("dev", "link(board, os.path.basename(board))"),
    "board, a link to nothing": ("dev", "link(board, f'{outside}/nothing.yaml')"),
    "board, a link inside the project": (
        "dev",
        "os.path.islink(board) or (shutil.copy(board, 'other.yaml'), link(board, '../../other.yaml'))",
    ),
    "board, a pipe": ("dev", "pipe(board)"),
    "board, a folder": ("dev", "folder_at(board)"),
    "board, a link, after the review": ("code-review", "link(board, f'{outside}/board.yaml')"),
    "board, a link, after the story was written": ("create-story", "link(board, f'{outside}/board.yaml')"),
    "story, a link to a text of the user's": (
        "dev",
        "os.path.islink(story) or (shutil.copy(story, f'{outside}/story.md'), link(story, f'{outside}/story.md'))",
    ),
    "story, a link to a device": ("dev", "link(story, '/dev/zero')"),
    "story, a link as it is created": (
        "create-story",
        "shutil.copy(story, f'{outside}/story.md'); link(story, f'{outside}/story.md')",
    ),
    "story, a pipe": ("dev", "pipe(story)"),
    "story, a pipe as it is created": ("create-story", "pipe(story)"),
    "story, a folder": ("dev", "folder_at(story)"),
    "verdict, a folder": ("code-review", "folder_at(review)"),
    "verdict, a pipe": ("code-review", "pipe(review)"),
    "verdict, a link to a device": ("code-review", "link(review, '/dev/zero')"),
    "verdict, a link to an approval": ("code-review", "link(review, f'{outside}/approved.json')"),
    "questions, a link to a device": ("dev", "link(state, '/dev/zero')"),
    "questions, a link to a file": ("dev", "link(state, f'{outside}/state.json')"),
    "questions, a pipe": ("dev", "pipe(state)"),
    "deferred work, a link": ("dev", "link(f'{folder}/deferred-work.md', f'{outside}/notes.txt')"),
    "deferred work, a link to a device": ("dev", "link(f'{folder}/deferred-work.md', '/dev/zero')"),
    "deferred work, a pipe": ("dev", "pipe(f'{folder}/deferred-work.md')"),
    "folder of the board, a link": ("dev", "moved(folder, f'{outside}/artifacts')"),
    "folder of the board, a link inside": ("dev", "moved(folder, os.path.abspath('elsewhere'))"),
}


@pytest.fixture
def bounded() -> Iterator[None]:
    """Neither a large file nor a wait without end can come of a test that fails."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError("the run hangs")

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, before[1]))
    handler = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("name", REPLACED)
def test_a_file_that_is_replaced_during_a_call_is_refused(tmp_path: Path, name: str) -> None:
    step, act = REPLACED[name]
    outside = tmp_path / "user"
    outside.mkdir()
    users = {
        "notes.txt": "mine\n",
        "board.yaml": "development_status:\n  epic-1: in-progress\n  1-1-list-accounts: review\n",
        "approved.json": json.dumps({"reviewResult": "approved", "summary": "Mine."}),
        "state.json": json.dumps({"questions": []}),
    }
    for file, text in users.items():
        (outside / file).write_text(text)
    script = tmp_path / "agent.py"
    script.write_text(SABOTEUR.format(outside=str(outside), step=step, act=act))
    sample = LaneProject(tmp_path / "p", stories=2, agent_command=(sys.executable, str(script)))
    ran = sample.run()
    assert ran.end.status == "waiting"
    assert sample.row("1-1") != "done"
    assert any("file-replaced" in ended.get("objections", ()) for ended in ran.entries("ended"))
    assert {file: (outside / file).read_text() for file in users} == users
    for line in sample.git("ls-tree", "-r", "HEAD").splitlines():
        assert not line.startswith("120000"), line


@pytest.mark.usefixtures("bounded")
def test_an_output_folder_that_is_replaced_ends_the_run(tmp_path: Path) -> None:
    """The run's own records lie in it: nothing is put back, and nothing is written through the link."""
    outside, script = tmp_path / "user", tmp_path / "agent.py"
    outside.mkdir()
    act = "moved('_bmad-output', f'{outside}/output')"
    script.write_text(SABOTEUR.format(outside=str(outside), step="dev", act=act))
    sample = LaneProject(tmp_path / "p", stories=2, agent_command=(sys.executable, str(script)))
    with pytest.raises(AutopilotError):
        sample.run()
    board = outside / "output/implementation-artifacts/sprint-status.yaml"
    before = board.read_bytes()
    with pytest.raises(FileError, match="symbolic link"):
        sample.run()
    assert board.read_bytes() == before


def _link_board(root: Path) -> None:
    (root / "shared").mkdir()
    (root / IMPLEMENTATION / "sprint-status.yaml").rename(root / "shared/board.yaml")
    (root / IMPLEMENTATION / "sprint-status.yaml").symlink_to("../../shared/board.yaml")


def _link_folder(root: Path) -> None:
    (root / IMPLEMENTATION).rename(root / "work")
    (root / IMPLEMENTATION).symlink_to("../work")


@pytest.mark.parametrize("layout", [_link_board, _link_folder])
def test_links_of_the_user_inside_the_project_work(tmp_path: Path, layout: Callable[[Path], None]) -> None:
    sample = LaneProject(tmp_path / "p")
    layout(sample.root)
    sample.git("add", "--all")
    sample.git("commit", "--quiet", "--message", "Link it")
    ran = sample.run()
    assert (ran.end.status, ran.questions) == ("completed", [])
    links = [line for line in sample.git("ls-tree", "-r", "HEAD").splitlines() if line.startswith("120000")]
    assert len(links) == 1


def test_a_board_outside_the_project_is_refused_before_a_run(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    board, mine = sample.root / IMPLEMENTATION / "sprint-status.yaml", tmp_path / "mine.yaml"
    board.rename(mine)
    board.symlink_to(mine)
    sample.git("commit", "--quiet", "--all", "--message", "Link it")
    before = mine.read_bytes()
    with pytest.raises(FileError, match="leads out of the project"):
        sample.run()
    assert mine.read_bytes() == before


RUN = "import glob; run = glob.glob('_bmad-output/.runs/*/1-*')[0]; "
# Records of ours, and other files that an agent can write: the run may end, and says which file it is.
RECORDS = {
    "status page": RUN + "link(run + '/workflow-status.md', f'{outside}/notes.txt')",
    "our copy of the index": RUN
    + "[link(d + '/index', f'{outside}/notes.txt') for d in glob.glob(run + '/steps/*/*')]",
    "the next attempt": RUN
    + "os.makedirs(run + '/steps/03-code-review', exist_ok=True); "
    + "link(run + '/steps/03-code-review/attempt-1', outside)",
    "checks": RUN + "link(run + '/checks', outside)",
    "what was before": RUN + "[link(d, '/dev/zero') for d in glob.glob(run + '/steps/*/*/*.before')]; "
    "link(board, '/dev/zero')",
    "a hard link to the journal": RUN
    + "os.unlink(run + '/journal.jsonl'); os.link(f'{outside}/notes.txt', run + '/journal.jsonl')",
    "events": RUN + "[link(d, '/dev/zero') for d in glob.glob(run + '/steps/02*/*/events.jsonl')]",
    "git's index": "link('.git/index', '/dev/zero')",
    "an epics file": "pipe('_bmad-output/planning-artifacts/epics.md')",
    "the metadata": "link('.claude-metadata.json', f'{outside}/notes.txt')",
}


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("name", RECORDS)
def test_nothing_of_the_users_is_written_through_records_of_ours(tmp_path: Path, name: str) -> None:
    outside, script = tmp_path / "user", tmp_path / "agent.py"
    outside.mkdir()
    (outside / "notes.txt").write_text("mine\n")
    script.write_text(SABOTEUR.format(outside=str(outside), step="dev", act=RECORDS[name]))
    sample = LaneProject(tmp_path / "p", stories=2, agent_command=(sys.executable, str(script)))
    with suppress(AutopilotError):
        sample.run()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"notes.txt": "mine\n"}
