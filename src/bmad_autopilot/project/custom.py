"""What a project defines itself: agents that are any command, launchers that take an agent elsewhere, steps and
workflows."""

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

EXIT = "exit"
EVIDENCE = "evidence"

MAX_STEPS = 20  # of a workflow
# What an agent is told in advance by the project, in all and each.
MAX_ANSWERS = 12
MAX_ANSWER = 500
MAX_ASKED = 4000  # characters of a question that a pattern is tried on


class CustomAgent(NamedTuple):
    """One [agents.NAME] table."""

    command: tuple[str, ...]  # one text where `shell` is set
    stop: tuple[str, ...] = ()
    shell: bool = False
    completion: str = EXIT  # EVIDENCE: the command returns before the work is done
    skills: str = "claude"  # the client whose skill invocations it understands
    launcher: str | None = None


class CustomLauncher(NamedTuple):
    """One [launchers.NAME] table."""

    kind: str | None = None
    target: str | None = None
    argv: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()


class CustomStep(NamedTuple):
    """One [steps.NAME] table."""

    role: str = "dev"
    skill: str | None = None
    prompt: str | None = None  # what `prompt_file` holds, where that is set
    prompt_file: str | None = None
    owes: str = "nothing"
    before: str | None = None
    after: str | None = None
    clean: bool = False


class CustomWorkflow(NamedTuple):
    """One [workflows.NAME] table."""

    steps: tuple[str, ...] = ()


class FlowFile(NamedTuple):
    """One of the files that [flows] names, as it was read: workflows/flow_list.py makes a flow of it."""

    path: str  # from the project's top
    raw: bytes


class StandingAnswer(NamedTuple):
    """One [[standing_answers]] table."""

    pattern: str = ""  # a regular expression, found anywhere in the question, in any case
    answer: str = ""
    story: str | None = None  # a glob of story keys; None: all

    def fits(self, question: str, story: str) -> bool:
        if self.story is not None and not fnmatchcase(story, self.story):
            return False
        return re.search(self.pattern, question[:MAX_ASKED], re.IGNORECASE) is not None
