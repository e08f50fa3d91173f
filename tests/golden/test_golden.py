"""Everything that users and files on disk see, byte for byte: a refactoring may change none of it.

Record anew with `BMAD_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/golden`, and read the difference before you
commit it. A run that records skips every test; where CI is set, it fails."""

import ast
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from bmad_autopilot.cli import pr
from bmad_autopilot.github import gate_reader
from bmad_autopilot.github.approval import COPILOT
from bmad_autopilot.sim.delivery_scenario import DeliveryOptions
from bmad_autopilot.sim.github.forge import SimForge
from bmad_autopilot.sim.github.model import VIEWER
from bmad_autopilot.sim.github.records import GitHubFaults
from bmad_autopilot.sim.result import SimulationResult
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from bmad_autopilot.sim.scenario import SimulationOptions
from bmad_autopilot.sim.simulate import run_delivery_simulation, run_simulation
from tests.golden import texts
from tests.golden.capture import (
    FILES,
    Mask,
    Section,
    Typed,
    assert_recorded,
    files_of,
    git_of,
    without_versions,
)
from tests.support.bmad_project import ProjectMaker, git
from tests.support.cli_projects import mixed_project
from tests.support.flow_projects import project_at_plan, project_in_progress
from tests.support.gate_github import GateGitHub
from tests.support.isolated_path import IsolatedPath
from tests.support.simulated_github import memory_hub
from tests.support.workflow_projects import WorkflowProject

SEEDS = range(12)
MORE_SEEDS = range(100, 130)

TEXTS: dict[str, Callable[[], Iterator[Section]]] = {
    "help.txt": texts.help_texts,
    "shipped.txt": texts.shipped_files,
    "prompts.txt": texts.prompts,
    "prompts-of-workflows.txt": texts.workflow_prompts,
    "standing-answers.txt": texts.standing_answers,
    "questions.txt": texts.questions,
    "tables.txt": texts.tables,
}
OTHERS = (
    *("run-waiting.txt", "run-waiting-files.txt", "run-finished.txt", "run-finished-files.txt", "run-cleared.txt"),
    *(
        "run-stopped-work.txt",
        "run-stopped-checks.txt",
        "run-build.txt",
        "run-full.txt",
        "autopilot.txt",
        "autopilot-files.txt",
    ),
    *("flow.txt", "flow-files.txt", "flow-failed.txt", "workflow.txt", "workflow-files.txt"),
    *("fresh.txt", "mixed.txt", "doctor.txt", "checkpoint.txt", "checkpoint-files.txt"),
    *("init.txt", "simulate.txt", "pull-requests.txt", "pull-texts.txt"),
    *("journals.txt", "journals-of-deliveries.txt", "journals-digests.txt"),
)
READING = (
    *("status --json", "status", "questions --json", "questions", "runs --json", "runs show --json", "runs show"),
    *("runs why --json", "agent list --json", "agent logs --json", "resume --list --json", "plan --json"),
    *("next --dry-run --json", "run-epic 1 --dry-run --json", "board check --json", "runs session list --json"),
)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    assert_recorded(name, TEXTS[name]())


# Runs on disk


def sample(folder: Path, habit: str = "honest", *, stories: int = 2, era: str = "classic", more: str = "") -> Path:
    """Two epics in a repository of its own. Its agent and its check read the same on every machine."""
    root = folder / "ledger"
    root.mkdir()
    agent = folder / "agent"
    agent.write_text(f"#!/bin/sh\nexec {shlex.join(scripted_agent_command(habit))}\n")
    agent.chmod(0o755)
    make_sample(str(root), 2, stories, agent_command=(str(agent),), era=era)
    settings = root / "bmad-autopilot.toml"
    text = re.sub(r"(?m)^test = .*$", 'test = ["test -d src"]', settings.read_text())
    settings.write_text(f"{more}{text}")
    git(root, "commit", "--quiet", "--all", "--message", "Settings")
    return root


def test_a_run_that_waits_is_answered_and_cleared(tmp_path: Path) -> None:
    """The main one: a review round, a question, its answer, the end; each file and each document on the way."""
    root = sample(tmp_path, "picky:1-1,asking:1-2")
    mask = Mask(root, tmp_path)
    waiting = Typed(root, tmp_path)
    waiting.run("run-epic", "1", "--json", "--max-cost", "50", "--retrospective")
    left, before = files_of(root, mask)
    waiting.each(*READING, "agent logs", "run-story 1-2 --dry-run --json")
    recorded: list[tuple[str, list[Section]]] = [
        ("run-waiting-files.txt", [*left, *git_of(root, mask)]),
        ("run-waiting.txt", list(mask.sections(waiting.sections))),
    ]

    finished = Typed(root, tmp_path)
    finished.run("answer", "1-2-count-accounts", "2")
    finished.run("resume", "--json")
    left, _ = files_of(root, mask, before)
    recorded.append(("run-finished-files.txt", [*left, *git_of(root, mask)]))
    finished.each(*READING, "runs diff @1 @2 --json", "runs diff @1 @2", "runs clean --dry-run --json")
    recorded.append(("run-finished.txt", list(mask.sections(finished.sections))))

    forked = Typed(root, tmp_path)
    forked.run("board", "set", "2-1-list-payments", "ready-for-dev")
    forked.run("board", "repair", "--json")
    forked.run("run-epic", "1", "--json")
    # The board names the minute of its last change: committed, it differs from HEAD in any case after the restart.
    git(root, "commit", "--quiet", "--all", "--message", "Plan")
    forked.run("restart", "2-1")
    forked.run("runs", "session", "archive", "main")
    forked.run("runs", "clean", "--json", "--yes")
    recorded.append(("run-cleared.txt", list(mask.sections(forked.sections))))
    compare_all(recorded)


def test_runs_that_stop_on_a_story(tmp_path: Path) -> None:
    """A call that claims work that is not there, twice; and checks that cannot run here."""
    recorded = []
    for name, habit, check in (
        ("run-stopped-work.txt", "no-change", "test -d src"),
        ("run-stopped-checks.txt", "honest", "no-such-tool"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        root = sample(folder, habit, stories=1)
        settings = root / "bmad-autopilot.toml"
        settings.write_text(settings.read_text().replace("test -d src", check))
        git(root, "commit", "--quiet", "--all", "--allow-empty", "--message", "Another check")
        mask, typed = Mask(root, folder), Typed(root, folder)
        typed.run("run-story", "1-1")
        typed.each("questions --json", "questions", "status --json", "runs show --json")
        typed.run("intervene", "1-1-list-accounts", "skip", "--resume")
        typed.each("status --json", "runs why --json")
        left, _ = files_of(root, mask)
        journals = [(title, text) for title, text in left if title.endswith(("journal.jsonl", "001.json"))]
        recorded.append((name, [*journals, *mask.sections(typed.sections), *git_of(root, mask)]))
    compare_all(recorded)


@pytest.mark.parametrize(("name", "era"), [("build", "build"), ("full", "classic")])
def test_the_other_pipelines(tmp_path: Path, name: str, era: str) -> None:
    root = sample(tmp_path, "honest", stories=1, era=era, more=f'workflow = "{name}"\n')
    mask, typed = Mask(root, tmp_path), Typed(root, tmp_path)
    typed.run("run-story", "1-1", "--json")
    left, _ = files_of(root, mask)
    kept = [(title, text) for title, text in left if title.endswith(("journal.jsonl", "prompt.md", "status.md"))]
    assert_recorded(f"run-{name}.txt", [*kept, *mask.sections(typed.sections), *git_of(root, mask)])


def test_the_autopilot_with_local_merges(tmp_path: Path) -> None:
    root = sample(tmp_path, "picky:1-1", stories=1, more='delivery = "local"\n')
    mask, typed = Mask(root, tmp_path), Typed(root, tmp_path)
    typed.read("autopilot", "--dry-run", "--json")
    typed.read("autopilot", "--dry-run")
    typed.run("autopilot", "1", "--json")
    typed.run("autopilot", "2")
    typed.each("status --json", "runs --json", "plan --json")
    typed.run("pr", "sync", "--json")
    left, _ = files_of(root, mask)
    kept = [(title, text) for title, text in left if "/steps/" not in title]
    recorded = [("autopilot-files.txt", [*kept, *git_of(root, mask)])]
    recorded.append(("autopilot.txt", list(mask.sections(typed.sections))))
    compare_all(recorded)


def test_a_flow(tmp_path: Path) -> None:
    root = project_in_progress(tmp_path / "p").root
    mask, typed = Mask(root, tmp_path), Typed(root, tmp_path)
    typed.each("flow list --json", "flow list", "flow --json", "flow")
    typed.run("flow", "run", "--json")
    typed.each("flow --json", "flow", "questions --json", "runs show --json", "status --json")
    left, _ = files_of(root, mask)
    kept = [
        (title, _steady(text)) for title, text in left if not title.endswith((".before", ".after", "spec.json"))
    ]
    recorded = [("flow-files.txt", [*kept, *git_of(root, mask)])]
    recorded.append(("flow.txt", [(title, _steady(text)) for title, text in mask.sections(typed.sections)]))

    failed = project_at_plan(tmp_path / "failed")
    other = Typed(failed.root, tmp_path)
    other.each("flow --json", "flow")
    other.run("flow", "retry", "3")
    other.run("flow", "skip", "4")
    other.run("flow", "reset", "2")
    other.read("flow", "--json")
    recorded.append(("flow-failed.txt", list(Mask(failed.root, tmp_path).sections(other.sections))))
    compare_all(recorded)


def _steady(text: str) -> str:
    """Without the entries made while a call runs: how many there are depends on when its sub-step is seen."""
    text = re.sub(r'(?m)^\{"n":\d+.*"kind":"state".*"status":"in_progress".*\n', "", text)
    text = re.sub(r'(?m)^\{.*"event": "state".*"status": "in_progress".*\n', "", text)
    return re.sub(r'(?m)^\{"n":\d+,', '{"n":<NUMBER>,', text)


WORKFLOW = """\
name: notes
variables:
  since: v1.0
steps:
  - step: collect
    run: ["sh", "collect.sh", "{since}"]
    checkpoint:
      save: true
      variables_to_persist: [changes_path]
  - step: write
    role: dev
    instructions: |
      Read {changes_path} and write the notes since {since}.
    checkpoint:
      variables_to_persist: [notes_path]
"""
COLLECT = """\
printf 'one\\ntwo\\n' > changes.txt
printf '{"changes_path": "changes.txt"}' > "$BMAD_VARIABLES"
"""
WRITER = """\
prompt=$(cat)
variables=$(printf '%s' "$prompt" | sed -n 's/^- `\\(.*variables.json\\)`: .*/\\1/p')
echo '{"notes_path": "notes.md"}' > "$variables"
echo "The notes are written."
"""


def test_a_workflow_file(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", WORKFLOW, WRITER)
    (flow.root / "collect.sh").write_text(COLLECT)
    mask, typed = Mask(flow.root, tmp_path), Typed(flow.root, tmp_path)
    typed.each(
        "workflow check flow.yaml --json", "workflow check flow.yaml", "workflow run flow.yaml --dry-run --json"
    )
    typed.run("workflow", "run", "flow.yaml", "--var", "since=v2", "--json")
    typed.each("runs --json", "runs show --json")
    left, _ = files_of(flow.root, mask)
    compare_all([("workflow-files.txt", left), ("workflow.txt", list(mask.sections(typed.sections)))])


def compare_all(recorded: list[tuple[str, list[Section]]]) -> None:
    """Compare with, or record, several files; a skip that tells of a record comes last."""
    skipped: list[str] = []
    for name, sections in recorded:
        try:
            assert_recorded(name, sections)
        except pytest.skip.Exception as skip:
            skipped.append(str(skip))
    if skipped:
        pytest.skip("; ".join(skipped))


# Documents of verbs that only read


def test_fresh_and_mixed_projects(tmp_path: Path, project: ProjectMaker) -> None:
    root = sample(tmp_path)
    fresh, mask = Typed(root, tmp_path), Mask(root, tmp_path)
    fresh.each(
        *READING,
        "status --all",
        "status --epic 1 --json",
        "run-story 1-1 --dry-run --json",
        "autopilot 2 --dry-run --json",
    )
    fresh.each("resume --json", "completion bash", "runs clean --json --dry-run", "flow --json", "--version")
    recorded = [("fresh.txt", [(title, without_versions(text)) for title, text in mask.sections(fresh.sections)])]
    board = mixed_project(project)
    other = Typed(board.root, tmp_path)
    other.each("status --json", "status --all --json", "board check --json", "board check", "board repair --json")
    other.each("plan --json", "plan", "next --dry-run --json", "run-epic 2 --dry-run --json", "board set 2-2 done")
    recorded.append(("mixed.txt", list(Mask(board.root, tmp_path).sections(other.sections))))
    compare_all(recorded)


def test_doctor(tmp_path: Path, project: ProjectMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = healthy_machine(tmp_path, monkeypatch)
    board = project()
    board.git("remote", "add", "origin", "git@github.com:acme/widgets.git")
    typed = Typed(board.root, tmp_path, path=str(machine.bin))
    typed.run("doctor", "--json")
    machine.remove("gh")
    machine.remove("claude")
    typed.run("doctor", "--json")
    mask = Mask(board.root, tmp_path)
    assert_recorded(
        "doctor.txt", [(title, without_versions(text)) for title, text in mask.sections(typed.sections)]
    )


def healthy_machine(folder: Path, patch: pytest.MonkeyPatch) -> IsolatedPath:
    """git, a gh that is logged in, claude, node: all that a healthy project needs."""
    made = IsolatedPath(folder / "bin")
    for name in ("git", "sleep"):
        made.link(name)
    made.add("claude", 'echo "2.1.325 (Claude Code)"')
    made.add("gh", 'echo "gh version 2.102.0 (2026-01-01)"')
    made.add("node", "echo v20.0.0")
    made.add("npm", "echo 10.0.0")
    made.add("bmad", "# from bmad_autopilot.cli import main")
    patch.setenv("PATH", str(made.bin))
    return made


def test_checkpoints_of_other_workflows(tmp_path: Path, project: ProjectMaker) -> None:
    board = project()
    board.write("docs/brief.md", "# Brief\n")
    typed, mask = Typed(board.root, tmp_path), Mask(board.root, tmp_path)
    save = ("checkpoint", "save", "--workflow", "create-prd", "--step", "1", "--total", "2", "--var", "who=me")
    typed.run(*save, "--name", "discover", "--path", "_bmad/create-prd.md", "--json")
    typed.run("checkpoint", "update", "--step", "1", "--artefact", "docs/brief.md", "--note", "well", "--json")
    typed.each("resume --json", "resume", "resume --list --json", "runs --json")
    typed.run("checkpoint", "update", "--step", "2")
    typed.run("checkpoint", "close", "--summary", "ok", "--json")
    typed.each("runs show --json", "runs diff @1 @2 --json")
    left, _ = files_of(board.root, mask)
    compare_all([("checkpoint-files.txt", left), ("checkpoint.txt", list(mask.sections(typed.sections)))])


def test_what_init_writes(tmp_path: Path, project: ProjectMaker) -> None:
    board = project()
    board.write("package.json", '{"name": "x", "scripts": {"test": "vitest", "lint": "eslint ."}}\n')
    board.write(".gemini/settings.json", "{}\n")
    board.write(".opencode/.keep", "")
    board.commit()
    typed, mask = Typed(board.root, tmp_path), Mask(board.root, tmp_path)
    typed.run("init")
    typed.run("init", "--github")
    typed.run("init", "--github", "--dry-run")
    new = board.git("ls-files", "--others", "--exclude-standard").splitlines()
    written = [(name, (board.root / name).read_text()) for name in sorted(new)]
    written.append((".git/info/exclude", (board.root / ".git/info/exclude").read_text()))
    assert_recorded(
        "init.txt",
        [*mask.sections(typed.sections), *((name, _source_apart(name, text)) for name, text in written)],
    )


def _source_apart(name: str, text: str) -> str:
    """The gate script is made of our own source. What it reads and says counts, and not what its parts are called:
    every string in it, docstrings apart."""
    if not name.endswith(".py"):
        return text
    tree = ast.parse(text)
    inner = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    lone = {id(one.value) for body in inner for one in body if isinstance(one, ast.Expr)}
    strings = [one for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    said = sorted({json.dumps(one.value, ensure_ascii=False) for one in strings if id(one) not in lone})
    return "".join(f"{one}\n" for one in said)


# The simulator


def test_simulate(tmp_path: Path) -> None:
    typed = Typed(tmp_path, tmp_path)
    typed.each(
        "simulate --seed 4 --epics 1 --stories 2 --json",
        "simulate --seed 3 --epics 2 --stories 2",
        "simulate --seeds 3 --epics 1 --stories 2 --json",
        "simulate --delivery --seed 2 --epics 1 --stories 1 --json",
        "simulate --delivery --seed 5 --epics 1 --stories 2",
    )
    assert_recorded("simulate.txt", Mask(tmp_path).sections(typed.sections))


def _journals(played: SimulationResult) -> str:
    entries = ([run, *entry] for run in sorted(played.world.journals) for entry in played.journal(run))
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def test_journals_of_the_simulator() -> None:
    small = SimulationOptions(epics=2, stories=2)
    assert_recorded("journals.txt", ((f"seed {seed}", _journals(run_simulation(seed, small))) for seed in SEEDS))


def test_journals_of_simulated_deliveries() -> None:
    small = DeliveryOptions(epics=2, stories=2)
    told = ((f"seed {seed}", _journals(run_delivery_simulation(seed, small))) for seed in SEEDS)
    assert_recorded("journals-of-deliveries.txt", told)


def test_digests_of_more_journals() -> None:
    lines = []
    for seed in MORE_SEEDS:
        for what, played in (("stories", run_simulation(seed)), ("deliveries", run_delivery_simulation(seed))):
            lines.append(f"{what}, seed {seed}: {sha256(_journals(played).encode()).hexdigest()}\n")
    assert_recorded("journals-digests.txt", [("sha256 of a seed's journals", "".join(lines))])


# Pull requests


def test_texts_of_pull_requests() -> None:
    """What the simulated GitHub was told: titles, bodies, labels, replies, and the commits of the base branch."""
    assert_recorded("pull-texts.txt", (one for seed in (5, 7, 11, 12, 19) for one in _pull_texts(seed)))


def _pull_texts(seed: int) -> Iterator[Section]:
    hub = run_delivery_simulation(seed).world.hub
    assert hub is not None
    for pull in hub.model.pulls.values():
        yield f"seed {seed}, #{pull.number}", f"{pull.title}\n{', '.join(pull.labels)}\n\n{pull.body}\n"
        for thread in pull.threads:
            said = [f"{one.author.login}: {one.body}\n" for one in thread.comments]
            yield f"thread on {thread.path}", "".join(said)
        for comment in pull.comments:
            yield "comment", f"{comment.author.login}: {comment.body}\n"
        if pull.merged_as:
            message = hub.refs.git.commits[pull.merged_as].message
            yield "merged with", f"{message}\n"
    yield f"seed {seed}, by us", "".join(f"{one.kind}\n" for one in hub.model.effects.all if one.by == VIEWER)


def test_documents_about_pull_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: ProjectMaker
) -> None:
    board = project()
    hub = memory_hub()
    hub.open_pull()
    config = SimpleNamespace(require_review="copilot", require_checks=True, github=SimpleNamespace(trusted=()))
    here = SimpleNamespace(config=config, root=SimpleNamespace(path=str(board.root)))
    monkeypatch.setattr(pr, "_forge", lambda ctx: (here, SimForge(hub.model, GitHubFaults())))
    world = GateGitHub(time.time())
    world.review(COPILOT, "COMMENTED")
    monkeypatch.setattr(gate_reader, "call", world.call)
    monkeypatch.setenv("GH_HOST", "")
    typed = Typed(board.root, tmp_path)
    typed.each("pr status --json", "pr status", "pr gate 1 --json", "pr gate 1")
    world.threads = [False]
    typed.each("pr gate 1 --json", "pr gate 1")
    assert_recorded("pull-requests.txt", Mask(board.root, tmp_path).sections(typed.sections))


# Whether all is there


def test_every_verb_with_json_is_recorded() -> None:
    recorded = "".join(path.read_text(encoding="utf-8") for path in sorted(FILES.iterdir()))
    typed = re.findall(r"(?m)^##### \$ (bmad .*--json.*)\n\{", recorded)  # each with a document
    missing = []
    for context in texts.commands():
        takes_json = any("--json" in parameter.opts for parameter in context.command.params)
        if takes_json and not any(line.startswith(f"{context.command_path} ") for line in typed):
            missing.append(context.command_path)
    assert missing == []


def test_no_recorded_file_is_left_over_and_none_names_our_modules() -> None:
    if os.environ.get("BMAD_UPDATE_GOLDEN"):
        pytest.skip("the files are being recorded")
    assert sorted(path.name for path in FILES.iterdir()) == sorted((*TEXTS, *OTHERS))
    for path in FILES.iterdir():
        named = re.findall(r"bmad_autopilot[./]\S*", path.read_text(encoding="utf-8"))
        assert named == [], path.name
