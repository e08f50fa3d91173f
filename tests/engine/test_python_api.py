"""One action to an agent and back, as a program that uses the package would do it."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from bmad_autopilot import (
    WORKFLOW_MAPPING,
    Action,
    dispatch_code_review,
    dispatch_to_instance,
    get_next_action,
    load_sprint_status,
    load_story_status,
)
from bmad_autopilot.agents.adapter import UsageLimit
from bmad_autopilot.agents.attempt import read_call_spec
from bmad_autopilot.agents.monitor import cancel_attempt
from bmad_autopilot.agents.rate_limits import limits_file, limits_folder, record_refusal
from bmad_autopilot.core.errors import AutopilotError, ConflictError, UsageError
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.engine.projects import project_with_agent
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import SampleProject, story_text

DEV = Action("dev-story", "1-3-sign-out", WORKFLOW_MAPPING["dev-story"], {"story_id": "1-3-sign-out"})

SET_STATUS = """
def set_status(word):
    path = '_bmad-output/implementation-artifacts/sprint-status.yaml'
    lines = open(path).read().splitlines()
    done = [f'  {sys.argv[2]}: {word}' if line.strip().startswith(sys.argv[2] + ':') else line for line in lines]
    open(path + '.new', 'w').write('\\n'.join(done) + '\\n')
    os.rename(path + '.new', path)
"""


def specs(sample: SampleProject) -> list[str]:
    return [read_call_spec(place.folder).name for place in find_attempts(runs_folder(str(sample.root)))]


def test_a_dev_agent_is_told_its_skill_and_the_story_is_in_progress_first(tmp_path: Path) -> None:
    code = SET_STATUS + (
        "board = open('_bmad-output/implementation-artifacts/sprint-status.yaml').read()\n"
        "open('seen.json', 'w').write(json.dumps([sys.argv[1:], '1-3-sign-out: in-progress' in board]))\n"
        "tick()\n"
        "set_status('review')"
    )
    sample = project_with_agent(tmp_path / "project", code)
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.exit_code) == ("success", 0)
    (prompt, story, name, branch), was_in_progress = json.loads((sample.root / "seen.json").read_text())
    assert prompt.startswith("/bmad-dev-story 1-3-sign-out\n")
    assert (story, name, branch) == ("1-3-sign-out", "bmad-1-3", "main")
    assert was_in_progress
    assert load_story_status("1-3", str(sample.root)) == "review"


def test_records_of_runs_are_no_part_of_the_tree(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", "")
    dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    changed = sample.git("status", "--porcelain", "--untracked-files=all").splitlines()
    assert changed == [" M _bmad-output/implementation-artifacts/sprint-status.yaml"]


def test_an_exit_code_is_a_failure_and_is_reported(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", "print('no good', file=sys.stderr); sys.exit(9)")
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.exit_code, result.outcome) == ("failed", 9, "crashed")
    assert "no good" in result.message


@pytest.mark.real
def test_an_agent_over_its_time_is_ended(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", "open('pid', 'w').write(str(os.getpid())); time.sleep(600)")
    result = dispatch_to_instance(DEV, "bmad-1-3", timeout_minutes=1 / 60, project=str(sample.root))
    assert (result.status, result.outcome) == ("timeout", "timed-out")
    assert not os.path.exists(f"/proc/{(sample.root / 'pid').read_text()}")


def test_a_story_declared_blocked_needs_somebody(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", SET_STATUS + "set_status('blocked  # no certificate')")
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.story_id) == ("intervention_needed", "1-3-sign-out")


def test_a_story_that_is_parked_is_not_started(tmp_path: Path) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-3-sign-out: blocked\n"
    sample = project_with_agent(tmp_path / "project", "open('ran', 'w')", board=board)
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.message) == ("intervention_needed", "blocked")
    assert not (sample.root / "ran").exists()


def test_an_agent_that_blocks_and_lingers_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.dispatched_call.BLOCKED_GRACE", 0.2)
    sample = project_with_agent(tmp_path / "project", SET_STATUS + "set_status('blocked')\ntime.sleep(600)")
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.message) == ("intervention_needed", "blocked")


def test_a_question_in_the_agent_state_file_needs_somebody(tmp_path: Path) -> None:
    code = (
        "state = {'storyKey': sys.argv[2], 'phase': 'dev', 'blockReason': 'critical_decision', 'questions':"
        " [{'id': 'q1', 'question': 'Which port?', 'context': '', 'answer': None}]}\n"
        "path = f'_bmad-output/implementation-artifacts/{sys.argv[2]}.agent-state.json'\n"
        "open(path, 'w').write(json.dumps(state))"
    )
    sample = project_with_agent(tmp_path / "project", code)
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.outcome, result.message) == ("intervention_needed", "question", "Which port?")


def test_a_call_nobody_waited_for_is_adopted(tmp_path: Path) -> None:
    code = "tick()\nopen('ran', 'a').write('x')\nwhile not os.path.exists('go'): time.sleep(0.01)"
    sample = project_with_agent(tmp_path / "project", code)
    first = dispatch_to_instance(DEV, "bmad-1-3", wait_for_completion=False, project=str(sample.root))
    assert first.status == "running"
    wait_until((sample.root / "ran").exists, "it runs")
    (sample.root / "go").touch()
    assert dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root)).status == "success"
    assert (sample.root / "ran").read_text() == "x"
    assert specs(sample) == ["bmad-1-3"]
    dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (sample.root / "ran").read_text() == "xx", "a call that was taken in is not taken in again"


def test_a_review_is_always_by_a_new_instance(tmp_path: Path) -> None:
    code = (
        "path = f'_bmad-output/implementation-artifacts/{sys.argv[2]}.review.json'\n"
        "assert not os.path.exists(path)\n"
        "open(path, 'w').write(json.dumps({'reviewResult': 'approved', 'summary': sys.argv[1]}))"
    )
    sample = project_with_agent(tmp_path / "project", code)
    for _ in range(2):
        assert dispatch_code_review("1-2", project=str(sample.root)).status == "success"
    names = specs(sample)
    assert len(set(names)) == 2
    assert all(name.startswith("review-1-2-") for name in names)
    verdict = json.loads((sample.implementation / "1-2-sign-in.review.json").read_text())
    assert verdict["summary"].startswith("/bmad-code-review 1-2-sign-in")


def test_a_new_workflow_needs_an_entry_and_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORKFLOW_MAPPING, "retrospective", "bmad:bmm:workflows:retrospective")
    sample = project_with_agent(tmp_path / "project", "open('prompt', 'w').write(sys.argv[1])")
    action = Action("retrospective", "1-3", WORKFLOW_MAPPING["retrospective"])
    assert dispatch_to_instance(action, "retro", project=str(sample.root)).status == "success"
    assert (sample.root / "prompt").read_text().startswith("/bmad-retrospective ")
    with pytest.raises(UsageError, match="no workflow"):
        dispatch_to_instance(Action("nonsense", "1-3", ""), "x", project=str(sample.root))


def test_a_skill_that_is_not_installed_stops_before_the_start(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", "open('ran', 'w')")
    (sample.root / ".claude/skills/bmad-dev-story/SKILL.md").unlink()
    with pytest.raises(UsageError, match="dev-story is not installed"):
        dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert not (sample.root / "ran").exists()
    assert load_story_status("1-3", str(sample.root)) == "ready-for-dev", "the board was left alone"


@pytest.mark.parametrize(
    "settings", ['environment.pass = ["GH_TOKEN"]', "bypass_permissions = true", "missing", "conflict"]
)
def test_a_refused_start_changes_nothing(tmp_path: Path, settings: str) -> None:
    sample = project_with_agent(tmp_path / "project", "while not os.path.exists('go'): time.sleep(0.01)")
    before = sample.board.read_bytes()
    config = sample.root / "bmad-autopilot.toml"
    if settings == "missing":
        config.write_text('agent = "stub"\n[agents.stub]\ncommand = ["./no/such/program"]\n')
    elif settings != "conflict":
        config.write_text(f"{settings}\n{config.read_text()}")
    else:
        review = Action("code-review", "1-2-sign-in", "", {"story_id": "1-2-sign-in"})
        dispatch_to_instance(review, "first", wait_for_completion=False, project=str(sample.root))
        verdict = sample.write("_bmad-output/implementation-artifacts/1-2-sign-in.review.json", "{}")
        with pytest.raises(ConflictError):
            dispatch_code_review("1-2", project=str(sample.root))
        assert verdict.exists(), "the verdict of the one that works is left alone"
    runs = len(find_attempts(runs_folder(str(sample.root))))
    with pytest.raises(AutopilotError):
        dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert sample.board.read_bytes() == before
    assert len(find_attempts(runs_folder(str(sample.root)))) == runs
    (sample.root / "go").touch()
    if settings == "conflict":
        review = Action("code-review", "1-2-sign-in", "", {"story_id": "1-2-sign-in"})
        dispatch_to_instance(review, "first", project=str(sample.root))


@pytest.mark.real
@pytest.mark.parametrize(
    ("action", "missing"),
    [("dev-story", "no change"), ("code-review", "no verdict"), ("create-story", "no story file")],
)
def test_an_agent_that_says_it_is_done_and_did_nothing(tmp_path: Path, action: str, missing: str) -> None:
    story = {"dev-story": "1-3-sign-out", "code-review": "1-2-sign-in", "create-story": "2-1-search"}[action]
    sample = project_with_agent(tmp_path / "project", "print('All done, boss!')")
    result = dispatch_to_instance(Action(action, story, ""), "x", project=str(sample.root))
    assert (result.status, result.outcome) == ("failed", "completed")
    assert missing in result.message


DONE = "open('src.py', 'w').write('1'); set_status('review'); tick()\n"
SKIPPED = "import pytest\\n\\n@pytest.mark.skip\\ndef test_it():\\n    assert 1 + 1 == 2\\n"
LIARS = {
    "only moves its row": "set_status('review'); tick()",
    "leaves its tasks open": "open('src.py', 'w').write('1'); set_status('review')",
    "deletes a test": f"{DONE}os.remove('tests/test_it.py')",
    "skips a test": f"{DONE}open('tests/test_it.py', 'w').write('{SKIPPED}')",
    "finishes another story": f"{DONE}sys.argv[2] = '2-1-search'; set_status('done')",
    "rewrites history": f"{DONE}subprocess.run(['git', 'commit', '-q', '--amend', '-m', 'x'])",
}


@pytest.mark.parametrize("habit", LIARS)
def test_the_gates_judge_an_agent_that_says_it_is_done(tmp_path: Path, habit: str) -> None:
    sample = project_with_agent(tmp_path / "project", SET_STATUS + LIARS[habit])
    sample.write("tests/test_it.py", "def test_it():\n    assert 1 + 1 == 2\n")
    sample.commit("A test")
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.outcome) == ("failed", "completed")
    assert result.message


def test_a_reviewer_that_deletes_a_test_is_judged_too(tmp_path: Path) -> None:
    code = (
        "path = f'_bmad-output/implementation-artifacts/{sys.argv[2]}.review.json'\n"
        "open(path, 'w').write(json.dumps({'reviewResult': 'approved', 'summary': 'Fine.'}))\n"
        "os.remove('tests/test_it.py')"
    )
    sample = project_with_agent(tmp_path / "project", code)
    sample.write("tests/test_it.py", "def test_it():\n    assert 1 + 1 == 2\n")
    sample.commit("A test")
    result = dispatch_code_review("1-2", project=str(sample.root))
    assert result.status == "failed"
    assert "tests/test_it.py" in result.message


VERDICT = """
def verdict(word):
    path = f'_bmad-output/implementation-artifacts/{sys.argv[2]}.review.json'
    open(path, 'w').write(json.dumps({'reviewResult': word, 'summary': 'As said.'}))
"""
BUILT_THEN = """
if 'dev-story' in sys.argv[1].split()[0]:
    open('src.py', 'w').write('1'); tick(); set_status('review'); sys.exit()
"""
REVIEWERS = {
    "gives a vague verdict": "verdict('approved-unless-somebody-objects'); set_status('done')",
    "gives no verdict": "set_status('done')",
    "leaves a file that cannot be read": "verdict('approved'); open(f'_bmad-output/implementation-artifacts/'"
    "f'{sys.argv[2]}.review.json', 'w').write('{'); set_status('done')",
    "requests changes and closes the story": "verdict('changes-requested'); set_status('done')",
    "approves beside its own open finding": "path = f'_bmad-output/implementation-artifacts/{sys.argv[2]}.md'\n"
    "open(path, 'a').write('\\n### Review Follow-ups (AI)\\n\\n- [ ] [AI-Review][High] It loses data\\n')\n"
    "verdict('approved'); set_status('done')",
    "undoes the code": "os.remove('src.py'); verdict('approved'); set_status('done')",
}


@pytest.mark.parametrize("habit", REVIEWERS)
def test_a_review_counts_only_with_a_verdict_and_the_code_in_place(tmp_path: Path, habit: str) -> None:
    sample = project_with_agent(tmp_path / "project", SET_STATUS + VERDICT + BUILT_THEN + REVIEWERS[habit])
    assert dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root)).status == "success"
    result = dispatch_code_review("1-3", project=str(sample.root))
    assert (result.status, result.outcome) == ("failed", "completed")
    assert "1-3-sign-out: done -> review" in result.message
    assert load_story_status("1-3", str(sample.root)) == "review"


@pytest.mark.parametrize(
    ("word", "row"), [("approved", "done"), ("changes-requested", "in-progress"), ("LGTM", "done")]
)
def test_a_readable_verdict_is_accepted_and_its_rows_are_left(tmp_path: Path, word: str, row: str) -> None:
    code = SET_STATUS + VERDICT + BUILT_THEN + f"verdict({word!r}); set_status({row!r})"
    sample = project_with_agent(tmp_path / "project", code)
    dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert dispatch_code_review("1-3", project=str(sample.root)).status == "success"
    assert load_story_status("1-3", str(sample.root)) == row


def test_a_reviewer_may_leave_code_that_no_call_wrote_and_need_not_move_its_row(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", VERDICT + "verdict('approve')")
    assert dispatch_code_review("1-2", project=str(sample.root)).status == "success"


@pytest.mark.parametrize("start", ["branch", "detached"])
def test_an_agent_that_switches_the_branch_is_refused(tmp_path: Path, start: str) -> None:
    sample = project_with_agent(
        tmp_path / "project", SET_STATUS + DONE + "subprocess.run(['git', 'switch', '-qc', 'x'])"
    )
    if start == "detached":
        sample.git("checkout", "--quiet", "--detach")
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, "another branch" in result.message) == ("failed", True)


def test_rows_that_a_refused_call_moved_are_set_back(tmp_path: Path) -> None:
    code = SET_STATUS + "set_status('done'); sys.argv[2] = '2-1-search'; set_status('done')"
    sample = project_with_agent(tmp_path / "project", code)
    before = load_sprint_status(str(sample.root)).stories["2-1-search"]
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert result.status == "failed"
    assert f"1-3-sign-out: done -> in-progress, 2-1-search: done -> {before}" in result.message
    assert load_story_status("1-3", str(sample.root)) == "in-progress"
    assert load_story_status("2-1", str(sample.root)) == before


def test_what_an_earlier_call_for_the_story_did_counts(tmp_path: Path) -> None:
    """The first runs out of time with the code written; the second only ticks its tasks."""
    code = SET_STATUS + (
        "if not os.path.exists('src.py'):\n    open('src.py', 'w').write('1'); sys.exit(1)\n"
        "tick(); set_status('review')"
    )
    sample = project_with_agent(tmp_path / "project", code)
    statuses = [dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root)).status for _ in range(2)]
    assert statuses == ["failed", "success"]


def test_commits_of_the_agent_hold_none_of_the_users_files(tmp_path: Path) -> None:
    code = SET_STATUS + (
        "open('src.py', 'w').write('1'); tick(); set_status('review')\n"
        "subprocess.run(['git', 'add', '--all']); subprocess.run(['git', 'commit', '-qm', 'feat: all of it'])"
    )
    sample = project_with_agent(tmp_path / "project", code)
    sample.write("my-private-notes.txt", "mine")
    assert dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root)).status == "success"
    assert "my-private-notes.txt" not in sample.git("show", "--name-only", "--format=", "HEAD")
    assert sample.git("status", "--porcelain").splitlines() == ["?? my-private-notes.txt"]


def test_an_agent_that_removes_its_own_records_is_not_run_again(tmp_path: Path) -> None:
    code = "open('.git/ran', 'a').write('x'); subprocess.run(['git', 'clean', '-fdxq'])"
    sample = project_with_agent(tmp_path / "project", code)
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.outcome) == ("failed", "lost")
    assert (sample.root / ".git" / "ran").read_text() == "x"


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_that_is_none_is_refused(tmp_path: Path, minutes: float) -> None:
    sample = project_with_agent(tmp_path / "project", "")
    with pytest.raises(UsageError, match="no time limit"):
        dispatch_to_instance(DEV, "bmad-1-3", timeout_minutes=minutes, project=str(sample.root))


@pytest.mark.real
def test_a_story_that_was_blocked_for_a_moment_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmad_autopilot.engine.dispatched_call.BLOCKED_GRACE", 5.0)
    code = SET_STATUS + "set_status('blocked'); time.sleep(1); set_status('review'); open('done', 'w'); tick()"
    sample = project_with_agent(tmp_path / "project", code)
    assert dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root)).status == "success"


def test_the_reason_of_a_cancel_reaches_whoever_waits(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", "time.sleep(600)")
    dispatch_to_instance(DEV, "bmad-1-3", wait_for_completion=False, project=str(sample.root))
    (place,) = find_attempts(runs_folder(str(sample.root)))
    assert cancel_attempt(place.folder, "the wrong story")
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.outcome, result.message) == (
        "intervention_needed",
        "cancelled",
        "the wrong story",
    )


def test_while_the_account_is_parked_nothing_is_started(tmp_path: Path) -> None:
    sample = project_with_agent(tmp_path / "project", "open('ran', 'w')")
    path = limits_file(limits_folder(os.environ), "stub", os.environ)
    record_refusal(path, "stub", UsageLimit("five_hour", time.time() + 3600), time.time(), lambda: 0.5)
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.outcome) == ("intervention_needed", "limit")
    assert "five_hour" in result.message
    assert not (sample.root / "ran").exists()


CLAUDE_INSTANCE = """\
#!{python}
import json, os, subprocess, sys, time
assert sys.argv[1] == "create", sys.argv
options = dict(zip(sys.argv[3::2], sys.argv[4::2]))
json.dump({{"instance": sys.argv[2]}}, open(".claude-metadata.json", "w"))  # drops the purpose
work = r'''
import subprocess, sys, time
{work}
'''
subprocess.Popen([sys.executable, "-c", work, options["--prompt"], options["--branch"]], start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                 env={{**os.environ, "BMAD_ATTEMPT": ""}})
"""

STEP_BY_SKILL = """
prompt = sys.argv[1].split()[0]
board = "_bmad-output/implementation-artifacts/sprint-status.yaml"
text = open(board).read()
time.sleep(0.3)
if "create-story" in prompt:
    open("_bmad-output/implementation-artifacts/2-1-search.md", "w").write(STORY)
    text = text.replace("2-1-search: backlog", "2-1-search: ready-for-dev")
elif "dev-story" in prompt:
    open("search.py", "w").write("found = True")
    page = "_bmad-output/implementation-artifacts/2-1-search.md"
    open(page, "r+").write(open(page).read().replace("- [ ]", "- [x]"))
    subprocess.run(["git", "add", "search.py"]); subprocess.run(["git", "commit", "-qm", "Search"])
    text = text.replace("2-1-search: in-progress", "2-1-search: review")
else:
    verdict = "_bmad-output/implementation-artifacts/2-1-search.review.json"
    open(verdict, "w").write('{"reviewResult": "approved", "summary": "Fine."}')
    text = text.replace("2-1-search: review", "2-1-search: done")
open(board, "w").write(text)
"""


def with_instances(root: Path, work: str) -> SampleProject:
    """A project that works through 003's `claude-instance`, which returns before the work is done."""
    board = "development_status:\n  epic-2: in-progress\n  2-1-search: backlog\n"
    sample = project_with_agent(root, "", board=board)
    script = sample.write("scripts/claude-instance", CLAUDE_INSTANCE.format(python=sys.executable, work=work))
    script.chmod(0o755)
    sample.write(".claude-metadata.json", json.dumps({"purpose": "the search epic", "owner": "me"}))
    sample.write(
        "bmad-autopilot.toml",
        'agent = "instances"\n[agents.instances]\n'
        'command = ["./scripts/claude-instance", "create", "{name}",'
        ' "--prompt", "{prompt}", "--branch", "{branch}"]\n'
        'completion = "evidence"\n',
    )
    sample.commit("Use instances")
    return sample


def test_claude_instances_complete_a_story_by_evidence(tmp_path: Path) -> None:
    story = repr(story_text("2-1-search", "ready-for-dev"))
    sample = with_instances(tmp_path / "project", f"STORY = {story}\n{STEP_BY_SKILL}".replace("'''", '"""'))
    root, done = str(sample.root), []
    while (action := get_next_action(load_sprint_status(root))) is not None:
        result = (
            dispatch_code_review(action.story_id, project=root)
            if action.type == "code-review"
            else dispatch_to_instance(action, f"bmad-{action.story_id}", project=root)
        )
        assert result.status == "success", result
        done.append(action.type)
    assert done == ["create-story", "dev-story", "code-review"]
    assert sample.git("log", "-1", "--format=%s").strip() == "Search"
    assert json.loads((sample.root / ".claude-metadata.json").read_text())["purpose"] == "the search epic"


@pytest.mark.real
def test_an_instance_that_never_shows_anything_times_out(tmp_path: Path) -> None:
    sample = with_instances(tmp_path / "project", "pass")
    stopped = 'stop = ["/bin/sh", "-c", "echo $0 > stopped", "{name}"]\n'
    config = sample.root / "bmad-autopilot.toml"
    config.write_text(config.read_text() + stopped.replace("> stopped", f"> {tmp_path}/stopped"))
    action = get_next_action(load_sprint_status(str(sample.root)))
    assert action is not None
    result = dispatch_to_instance(action, "bmad-2-1", timeout_minutes=1 / 60, project=str(sample.root))
    assert (result.status, result.outcome) == ("timeout", "timed-out")
    assert (tmp_path / "stopped").read_text() == "bmad-2-1\n"


def test_an_instance_that_blocks_is_noticed_while_it_is_waited_for(tmp_path: Path) -> None:
    work = (
        "board = '_bmad-output/implementation-artifacts/sprint-status.yaml'\ntime.sleep(0.5)\n"
        "text = open(board).read().replace('2-1-search: backlog', '2-1-search: blocked')\n"
        "open(board, 'w').write(text)"
    )
    sample = with_instances(tmp_path / "project", work)
    action = get_next_action(load_sprint_status(str(sample.root)))
    assert action is not None
    result = dispatch_to_instance(action, "bmad-2-1", project=str(sample.root))
    assert (result.status, result.message) == ("intervention_needed", "blocked")


@pytest.mark.parametrize("target", ["/dev/zero", "{outside}/board.yaml", "{outside}/notes.txt"])
def test_a_board_replaced_by_a_link_is_put_back_and_the_call_has_failed(tmp_path: Path, target: str) -> None:
    users = {"board.yaml": "development_status:\n  1-3-sign-out: backlog\n", "notes.txt": "mine\n"}
    for name, text in users.items():
        (tmp_path / name).write_text(text)
    link = target.format(outside=tmp_path)
    board = "_bmad-output/implementation-artifacts/sprint-status.yaml"
    code = f"open('code.py', 'w').write('x')\nos.unlink({board!r})\nos.symlink({link!r}, {board!r})\n"
    sample = project_with_agent(tmp_path / "project", code)
    result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, link in result.message) == ("failed", True)
    assert not (sample.root / board).is_symlink()
    assert load_story_status("1-3", str(sample.root)) == "in-progress"
    assert {name: (tmp_path / name).read_text() for name in users} == users
