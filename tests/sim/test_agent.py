"""The scripted agent as a program: it understands our prompts, works in its folder, and says how it ended."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.core.errors import AutopilotError, UsageError
from bmad_autopilot.sim.agent import choose_habit, main, read_prompt, step_of
from bmad_autopilot.sim.sample import BOARD, IMPLEMENTATION, make_sample, scripted_agent_command
from bmad_autopilot.sim.workspace import AgentJob, FolderWorkspace
from bmad_autopilot.workflows.agent_call import AnsweredQuestion, PausedAttempt, PromptContext
from bmad_autopilot.workflows.prompts import build_prompt
from bmad_autopilot.workflows.workflow import (
    BUILD,
    CODE_REVIEW,
    CREATE,
    DEV,
    FIX,
    RETROSPECTIVE,
    REVISION,
    VALIDATE,
    Step,
)
from tests.support.bmad_project import CommandResult, git
from tests.support.prompt_inputs import prompt_input

KEY = "1-1-list-accounts"
CODE = "src/ledger/list_accounts.py"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "sample"
    make_sample(str(folder), 2, 2)
    return folder


@pytest.fixture
def sample(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "sample"))


def prompt(folder: Path, step: Step, *, story: str = KEY, **told: object) -> str:
    invocation = f"/bmad-{step.skill}" if step.skill else None
    if step == VALIDATE:
        invocation = "/bmad-create-story validate"
    paths = str(folder / IMPLEMENTATION), str(folder / BOARD)
    context = PromptContext(*paths, invocation=invocation, version="6.10.0")
    return build_prompt(*prompt_input(step, story, context, **told))


def call(folder: Path, text: str, *options: str, environment: dict[str, str] | None = None) -> CommandResult:
    words = [*scripted_agent_command()[:3], *options]
    done = subprocess.run(
        words, cwd=folder, input=text, capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("step", "story"),
    [(step, KEY) for step in (CREATE, VALIDATE, DEV, REVISION, CODE_REVIEW, BUILD, FIX)]
    + [(RETROSPECTIVE, "epic-1")],
)
def test_each_of_our_prompts_is_understood(sample: Path, step: Step, story: str) -> None:
    expected = AgentJob(step.name, story, BOARD, IMPLEMENTATION)
    assert read_prompt(prompt(sample, step, story=story), str(sample)) == expected


@pytest.mark.parametrize(
    ("first", "step"),
    [
        ("$bmad-dev-story 1-1-x", "dev"),
        ("Use the skill bmad-code-review: 1-1-x", "code-review"),
        ("/bmad:bmm:workflows:create-story 1-1-x", "create-story"),
        ("Follow the instructions in .github/prompts/bmad-bmm-dev-story.prompt.md: 1-1-x", "dev"),
        ("Make coffee", "other"),
    ],
)
def test_a_skill_is_known_by_any_clients_words(first: str, step: str) -> None:
    assert step_of(f"{first}\n\nMore about /bmad-retrospective") == step


def test_what_happened_before_is_understood(sample: Path) -> None:
    answered = AnsweredQuestion("Count 0?", "leave them out\nand ``` quote", "none")
    text = prompt(
        sample,
        DEV,
        review="First point\n```text\nanswered: a trap\n```",
        checks="351 != 350",
        failure="It crashed",
        halfway=PausedAttempt(answers=(answered, AnsweredQuestion("Sure?", "yes"))),
    )
    job = read_prompt(text, str(sample))
    assert job.answers == ("leave them out", "yes")
    assert job.review == "First point\n```text\nanswered: a trap\n```"
    assert job.failure == "351 != 350\nIt crashed"


@given(st.text(max_size=400))
def test_any_text_is_a_job_or_a_refusal(text: str) -> None:
    for whole in (text, f"{text}\n- story: `{text}`\n- board: `{text}`\n- folder of such files: `x`\n"):
        with suppress(UsageError):
            assert read_prompt(whole, "/").folder == "x"


def test_honest_program_takes_a_story_to_done(sample: Path) -> None:
    for step in (CREATE, DEV, CODE_REVIEW):
        done = call(sample, prompt(sample, step))
        assert (done.code, done.err) == (0, "")
        *progress, closing, price = done.out.splitlines()
        assert progress, "it says what it is at"
        assert closing == f"{step.name} of {KEY} is done."
        assert json.loads(price)["total_cost_usd"] > 0
    assert read_board(str(sample / BOARD)).rows[KEY].meaning == "done"
    assert (sample / CODE).is_file()
    assert git(sample, "status", "--porcelain", "--", ".git") == ""


def test_it_needs_nothing_of_ours_around_it(sample: Path) -> None:
    """No variable but where programs and the package are, another work tree, relative paths."""
    lane = sample.parent / "lane"
    git(sample, "worktree", "add", "--quiet", str(lane), "-b", "lane")
    text = prompt(sample, CREATE).replace(f"{sample}/", "")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    assert call(lane, text, environment=kept).code == 0
    assert (lane / IMPLEMENTATION / f"{KEY}.md").is_file()
    assert not (sample / IMPLEMENTATION / f"{KEY}.md").exists()


def test_it_counts_its_calls_out_of_sight(sample: Path) -> None:
    text = prompt(sample, DEV)
    codes = [call(sample, text, "--habit", "overloaded").code for _ in range(3)]
    assert codes == [1, 1, 0]
    assert "scripted-agent" not in git(sample, "status", "--porcelain", "--ignored", "--untracked-files=all")


def test_a_bad_end_is_said_with_its_outcome(sample: Path) -> None:
    assert call(sample, prompt(sample, DEV), "--habit", "auth")[::2] == (1, "auth\n")


def test_prompt_from_a_file_and_time_to_watch(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text(prompt(sample, CREATE))
    done = call(sample, "", "--prompt-file", str(tmp_path / "prompt.md"), "--seconds", "0.1")
    assert done.code == 0
    assert done.out.startswith("Reading the epic")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--habit", "nonsense"], "nonsense"),
        (["--habit"], "not understood"),
        (["--speed", "9"], "not understood"),
        (["--seconds", "-1"], "seconds"),
        (["--seconds", "nan"], "seconds"),
        (["--prompt-file", "not/there"], "No such file"),
    ],
)
def test_what_it_does_not_understand_it_says(
    sample: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    word: str,
) -> None:
    (sample.parent / "prompt.md").write_text(prompt(sample, DEV))
    monkeypatch.chdir(sample)
    named = [] if "--prompt-file" in options else ["--prompt-file", "../prompt.md"]
    assert main([*named, *options]) != 0
    said = capsys.readouterr()
    assert word in said.err
    assert "Traceback" not in said.err


def test_a_prompt_without_a_story_is_refused(sample: Path) -> None:
    done = call(sample, "/bmad-dev-story\n")
    assert (done.code, done.out) == (2, "")
    assert "which story" in done.err


def test_a_habit_for_one_story() -> None:
    habits = "honest,picky:1-2-count-accounts,asking:1-3"
    assert [choose_habit(habits, key).name for key in ("1-1-x", "1-2-count-accounts", "1-3-y", "1-30-z")] == [
        *("honest", "picky", "asking", "honest"),
    ]
    with pytest.raises(UsageError):
        choose_habit("honest,nonsense:1-1", "1-2-x")


# the desk


@pytest.mark.parametrize("path", ["", "/etc/x", "../x", "a/../../x", ".git/config", "a\0b", "out/x", "out-file"])
def test_a_desk_refuses_paths_that_lead_out(sample: Path, tmp_path: Path, path: str) -> None:
    (sample / "out").symlink_to(tmp_path)
    (sample / "out-file").symlink_to(tmp_path / "x")
    workspace = FolderWorkspace(str(sample))
    with pytest.raises(UsageError):
        workspace.write(path, b"x")
    with pytest.raises(UsageError):
        workspace.read(path)
    assert sorted(os.listdir(tmp_path)) == ["sample"]


def test_a_desk_lists_all_files_but_gits_and_ours(sample: Path) -> None:
    workspace = FolderWorkspace(str(sample))
    workspace.write("_bmad-output/.runs/main/x/state.json", b"{}")
    workspace.write("docs/a b.md", b"x")
    paths = list(workspace.paths())
    assert {"docs/a b.md", "check.py", BOARD} <= set(paths)
    assert not any(path.startswith((".git/", "_bmad-output/.runs")) for path in paths)


def test_a_desk_rewinds_even_the_first_commit(sample: Path) -> None:
    workspace = FolderWorkspace(str(sample))
    first = git(sample, "rev-parse", "HEAD")
    workspace.write("new.txt", b"x")
    workspace.commit("Add it")
    workspace.commit("Nothing more")
    assert git(sample, "rev-list", "--count", "HEAD").strip() == "2"
    workspace.rewind()
    assert git(sample, "rev-parse", "HEAD") == first
    workspace.rewind()
    assert git(sample, "rev-parse", "HEAD") != first
    assert (sample / "new.txt").exists()


def test_a_desk_writes_into_another_work_tree(sample: Path) -> None:
    workspace = FolderWorkspace(str(sample))
    workspace.write_outside(CODE, b"x")
    (other,) = (path for path in sample.parent.iterdir() if path != sample)
    assert (other / CODE).read_bytes() == b"x"
    FolderWorkspace(str(other)).write_outside("y.txt", b"y")
    assert (sample / "y.txt").read_bytes() == b"y"
    assert not (sample / CODE).exists()


def test_a_desk_links_and_switches(sample: Path) -> None:
    workspace = FolderWorkspace(str(sample))
    for target in ("../somewhere", "check.py"):
        workspace.link("data", target)
        assert os.readlink(sample / "data") == target
    workspace.switch("other")
    assert git(sample, "branch", "--show-current").strip() == "other"
    workspace.remove("data")
    assert not (sample / "data").is_symlink()


def test_git_that_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AutopilotError, match="git add failed"):
        FolderWorkspace(str(tmp_path)).commit("x")


def test_start_imports_nothing_heavy() -> None:
    code = "import sys, bmad_autopilot.sim.agent; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"yaml", "click", "msgspec", "asyncio", "watchfiles", "bmad_autopilot.engine"} & set(
        done.stdout.split()
    )
