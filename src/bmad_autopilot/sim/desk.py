"""What a scripted agent works on: a folder of files under git, in memory or real. Its habits are written once."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Job(NamedTuple):
    """One call, as the agent understands it from its prompt."""

    step: str  # create-story, validate, dev, revision, code-review, build-auto, fix, fix-issues …
    story: str  # the story's key, or the epic's
    board: str  # paths, from the top of the work tree
    folder: str  # where story files, specs, verdicts and agent states lie
    attempt: int = 1  # which call of this step it is
    answers: tuple[str, ...] = ()  # what a human said to its questions
    review: str = ""  # what the last review asked for
    failure: str = ""  # what went wrong before
    points: tuple[tuple[str, str], ...] = ()  # of a pull request's reviewers: its name for each, and their words


class Desk(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def write(self, path: str, data: bytes) -> None: ...
    def remove(self, path: str) -> None: ...
    def paths(self) -> Iterable[str]:
        """Every file of the work tree, ours and git's own apart."""

    def head(self) -> str:
        """The last commit."""

    def link(self, path: str, target: str) -> None: ...
    def commit(self, message: str) -> None:
        """All of it, as an agent that commits by itself does."""

    def switch(self, branch: str) -> None:
        """To a new branch."""

    def rewind(self) -> None:
        """HEAD one commit back, the work tree as it is: history rewritten."""

    def write_outside(self, name: str, data: bytes) -> None:
        """Beside the work tree: in another one of the same repository."""

    def say(self, text: str) -> None:
        """The last words."""


class Ending(NamedTuple):
    """How the scripted call ends."""

    outcome: str = "completed"  # a word of agents.outcomes.Outcome
    seconds: float = 60.0
    dollars: float = 0.10
    tokens: int = 1000
    resets_after: float = 0.0  # of a limit: seconds until it resets
