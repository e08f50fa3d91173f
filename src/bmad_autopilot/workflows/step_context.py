"""All that a prompt is made of."""

from typing import NamedTuple

from .pipelines import Step


class Files(NamedTuple):
    """Where an agent finds things: absolute, or relative to its worktree."""

    implementation: str
    board: str
    story: str | None = None  # None: this step writes it
    baseline: str | None = None  # the commit the story began at
    scratch: str | None = None  # for temporary files; it goes with the attempt


class Answered(NamedTuple):
    """A question of an earlier attempt, and what a human said."""

    question: str
    answer: str
    context: str = ""


class Halfway(NamedTuple):
    """Where an earlier attempt stopped to ask, as its agent-state file says."""

    blocked_at: str = ""
    last_completed: str = ""
    artifacts: tuple[str, ...] = ()
    answers: tuple[Answered, ...] = ()


class Point(NamedTuple):
    """One thing that a reviewer of a pull request wants, as an agent is told it."""

    name: str  # T1, T2 …
    title: str  # what it is about: theirs, like the text
    text: str  # theirs, word for word
    is_decided: bool = False  # a person has said that it is to be done
    since: str = ""  # a commit of before settles nothing of it; empty: none that is there already does


class StepContext(NamedTuple):
    step: Step
    story: str  # the story's key; for a retrospective the epic's
    files: Files
    invocation: str | None = None  # how this agent is told to start the step's skill; None: the step has none
    version: str = ""  # of BMAD
    language: str = ""  # the project's communication_language
    epic: str = ""  # the number of the story's epic
    spec: str | None = None  # build-auto: an existing spec to go on with
    spec_folder: str | None = None  # build-auto: the folder of the stories.yaml that the story comes from
    review: str = ""  # the last review's summary, where it asked for changes
    checks: str = ""  # what the project's checks printed, where they failed
    failure: str = ""  # what went wrong in the last attempt at this very step
    cut_short: bool = False  # the last attempt was ended from outside, with its work left in the tree
    halfway: Halfway | None = None
    points: tuple[Point, ...] = ()  # of a pull request's reviewers, or files in conflict
    in_conflict: bool = False
    logs: tuple[Point, ...] = ()  # of a pull request's checks that failed
    extra: tuple[str, ...] = ()  # the user's own standing answers
