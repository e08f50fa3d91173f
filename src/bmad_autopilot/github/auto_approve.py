"""The auto-approve workflow and its gate script, as `bmad init --github` writes them.

The script holds the sources of four modules one after another, their imports of each other taken out, so that what
judges on GitHub is what judges here. No action of anybody is used: the script is fetched with gh from the default
branch, so nothing of the pull request is ever checked out or run."""

import ast
import os
from typing import NamedTuple

from ..files import read_text
from .approval import COPILOT, GATE_SCRIPT, GATE_WORKFLOW, Rules
from .gate_running import WORKFLOW_FILE, Pace

MARK = "Written by `bmad init --github`, and written anew by it. Remove this line to keep a text of your own."
WORKFLOW_PATH = f".github/workflows/{WORKFLOW_FILE}"
SETTING = "Settings → Actions → General → Allow GitHub Actions to create and approve pull requests"
_PARTS = ("approval.py", "pull_content.py", "gate_reading.py", "gate_running.py")
_SLACK_MINUTES = 10
_RULES, _PACE = Rules(), Pace()


class GeneratedFile(NamedTuple):
    path: str  # relative to the top of the work tree
    text: str


def auto_approve_files(rules: Rules = _RULES, pace: Pace = _PACE) -> list[GeneratedFile]:
    return [
        GeneratedFile(WORKFLOW_PATH, workflow_text(pace)),
        GeneratedFile(GATE_SCRIPT, script_text(rules, pace)),
    ]


def is_ours(text: bytes) -> bool:
    return MARK.encode() in text


def script_text(rules: Rules, pace: Pace) -> str:
    parts = [f"# --- {name} ---\n\n{_without_our_imports(_source(name))}" for name in _PARTS]
    return (
        f"#!/usr/bin/env python3\n# {MARK}\n"
        f'"""May a robot approve this pull request? Run by {WORKFLOW_PATH}."""\n\n'
        + "\n\n".join(parts)
        + '\n\nif __name__ == "__main__":\n'
        + f"    sys.exit(main({rules!r}, {pace!r}))\n"
    )


def _source(name: str) -> str:
    return read_text(os.path.join(os.path.dirname(__file__), name)).text


def _without_our_imports(source: str) -> str:
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "".join(lines)


def workflow_text(pace: Pace) -> str:
    minutes = int(pace.poll * pace.most_looks / 60) + _SLACK_MINUTES
    return _WORKFLOW.format(
        mark=MARK,
        name=GATE_WORKFLOW,
        file=WORKFLOW_FILE,
        reviewer=COPILOT,
        script=GATE_SCRIPT,
        minutes=minutes,
        setting=SETTING,
    )


# Values reach the shell by `env` alone. The default branch, not the pull request's base: the base of a stacked one
# is a branch that nobody has reviewed.
_WORKFLOW = """\
# {mark}
# A robot approves pull requests of the autopilot: ten minutes after the last content push, when Copilot has
# reviewed, no thread is open and the checks have passed. The rules are in {script}.
# It needs: {setting}.
# GitHub may hold a run that Copilot has started until somebody lets it go. To start one by hand:
#   gh workflow run {file} --field pr_number=NUMBER
name: {name}

on:
  pull_request_review:
    types: [submitted]
  workflow_dispatch:
    inputs:
      pr_number:
        description: The number of the pull request
        required: true
        type: string
      attempt:
        description: How many runs have waited before this one
        required: false
        default: "0"
        type: string

permissions: {{}}

concurrency:
  group: auto-approve-${{{{ github.event.pull_request.number || inputs.pr_number }}}}
  cancel-in-progress: false

jobs:
  auto-approve:
    name: auto-approve
    # Events have called Copilot by both names. This only saves runs: the gate looks for itself who has reviewed.
    if: >-
      github.event_name == 'workflow_dispatch'
      || github.event.review.user.login == '{reviewer}[bot]'
      || github.event.review.user.login == 'Copilot'
    runs-on: ubuntu-latest
    timeout-minutes: {minutes}
    permissions:
      contents: read # the gate script, and comparisons of commits
      checks: read # check runs of the head
      statuses: read # commit statuses of the head
      pull-requests: write # approve, and take an approval back
      actions: write # start this workflow again when a run's time is up
    steps:
      - name: Fetch the gate from the default branch
        env:
          GH_TOKEN: ${{{{ github.token }}}}
          DEFAULT_BRANCH: ${{{{ github.event.repository.default_branch }}}}
        run: |
          gh api --method GET "repos/$GITHUB_REPOSITORY/contents/{script}" \\
            --raw-field ref="$DEFAULT_BRANCH" --header "Accept: application/vnd.github.raw+json" \\
            > "$RUNNER_TEMP/auto-approve-gate.py"
      - name: Judge
        env:
          GH_TOKEN: ${{{{ github.token }}}}
          DEFAULT_BRANCH: ${{{{ github.event.repository.default_branch }}}}
          PR_NUMBER: ${{{{ github.event.pull_request.number || inputs.pr_number }}}}
          ATTEMPT: ${{{{ inputs.attempt }}}}
        run: python3 "$RUNNER_TEMP/auto-approve-gate.py"
"""
