"""The auto-approve workflow and its gate script, as `bmad init --github` writes them.

The script concatenates the sources of four modules without their imports of each other, so that the same code
decides on GitHub and here. It uses no third-party action: the workflow fetches the script with gh from the default
branch, so no code of the pull request is checked out or run."""

import ast
import os
from collections.abc import Sequence
from typing import NamedTuple

from ..io.files import read_text
from .approval import COPILOT, GATE_SCRIPT, GATE_WORKFLOW, CheckFact, ReviewFact, Rules, Situation
from .forge import Pull, PullReview, RemoteCheck
from .gate_runner import WORKFLOW_FILE, Pace

MARK = "Written by `bmad init --github`, and written anew by it. Remove this line to keep a text of your own."
WORKFLOW_PATH = f".github/workflows/{WORKFLOW_FILE}"
SETTING = "Settings → Actions → General → Allow GitHub Actions to create and approve pull requests"
# Heading in the generated script → source file. Headings never change: existing projects' scripts would differ.
_PARTS = {
    "approval.py": "approval.py",
    "pull_content.py": "pull_content.py",
    "gate_reading.py": "gate_reader.py",
    "gate_running.py": "gate_runner.py",
}
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


def is_generated(text: bytes) -> bool:
    return MARK.encode() in text


def script_text(rules: Rules, pace: Pace) -> str:
    parts = [f"# --- {heading} ---\n\n{_without_our_imports(_source(file))}" for heading, file in _PARTS.items()]
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


# Values reach the shell through `env` only. Uses the default branch, not the pull request's base: the base of a
# stacked pull request is an unreviewed branch.
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


# Converts a pull request from the forge port into the input of the auto-approve rules.


def build_situation(
    pull: Pull, now: float, files: Sequence[str], *, content: Sequence[str] = (), pushed: float = 0.0
) -> Situation:
    """`content`: earlier heads that differ from this one only by clean merges of the base, as determined by git;
    `pushed`: arrival time of the first of them. Without them every push counts as content."""
    return Situation(
        now=now,
        head=pull.head,
        pushed=pushed or pull.pushed,
        arrived=pull.pushed,
        head_ref=pull.head_ref,
        state=pull.state.value,
        is_draft=pull.is_draft,
        is_foreign=pull.is_from_fork,
        unresolved=sum(not thread.is_resolved for thread in pull.threads),
        content=(pull.head, *content),
        checks=tuple(map(check_fact, pull.checks)),
        reviews=tuple(map(review_fact, pull.reviews)),
        files=tuple(files),
    )


def check_fact(check: RemoteCheck) -> CheckFact:
    return CheckFact(check.name, check.state.value, check.required, is_own=check.workflow == GATE_WORKFLOW)


def review_fact(review: PullReview) -> ReviewFact:
    author = review.author
    return ReviewFact(
        author.login,
        author.is_bot,
        author.association,
        review.state.value,
        review.commit,
        review.at,
        review.number,
    )
