"""The record of one agent call, from the decision that starts it to its prompt and its process."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .workflow import Step


class CallId(NamedTuple):
    """One agent call of a run, and the name of its folder."""

    number: int  # of the step in the run
    step: str
    attempt: int


class AnsweredQuestion(NamedTuple):
    """A question of an earlier attempt, with the user's answer."""

    question: str
    answer: str
    context: str = ""


class PausedAttempt(NamedTuple):
    """An earlier attempt that stopped to ask, as described in its agent-state file."""

    blocked_at: str = ""
    last_completed: str = ""
    artifacts: tuple[str, ...] = ()
    answers: tuple[AnsweredQuestion, ...] = ()


class PromptPoint(NamedTuple):
    """One point of review feedback, a file in conflict or a failed check, as shown in a prompt."""

    name: str  # T1, T2 …
    title: str  # the subject, written by the reviewer like the text
    text: str  # the reviewer's text, verbatim
    is_decided: bool = False  # the user has decided that it is to be done
    since: str = ""  # only commits after this one can settle the point; empty: no existing commit can


class AgentCall(NamedTuple):
    """One agent call: its purpose, the inputs of its prompt, and its limits."""

    id: CallId
    story: str  # the story's key; of a retrospective the epic's
    step: Step
    baseline: str | None = None
    head: str | None = None  # our last commit for the story, else the baseline: HEAD must still descend from it
    tree: str | None = None  # the story's work tree before its first call
    code: str | None = None
    current_tree: str | None = None  # the work tree at the last observation, where one was taken
    review: str = ""  # the changes that the last review requested
    checks: str = ""  # output of the project's failed checks
    failure: str = ""  # what went wrong in the last call of the same step
    cut_short: bool = False  # a limit or a transient fault ended the previous call
    halfway: PausedAttempt | None = None
    dollars: float | None = None  # what is left of the run's cap
    seconds: float = 0.0  # time limit; 0: the project's
    time_limit_factor: int = 1  # multiplies that limit
    calls: tuple[CallId, ...] = ()  # the story's calls so far, including this one
    handed_over: tuple[CallId, ...] = ()  # the calls after which a person took the story over
    points: tuple[PromptPoint, ...] = ()  # review comments on the pull request
    logs: tuple[PromptPoint, ...] = ()  # logs of its failed checks
    in_conflict: bool = False  # the points are files with merge conflicts
    must_change: bool = False  # checks have failed: only a change can fix that
    variables: Mapping[str, Any] = {}  # the run's variables so far
    artefacts: tuple[tuple[str, str], ...] = ()  # of earlier steps: step, and path in the run's folder
    agent: str = ""  # empty: the agent of the step's role
    name: str = ""  # of the instance
    branch: str = ""
    epic: str = ""  # the number of the story's epic


class PromptContext(NamedTuple):
    """What a prompt says of the project and the client. Paths are absolute, or relative to the worktree."""

    implementation: str
    board: str
    story_file: str | None = None  # None: this step writes it
    scratch: str | None = None  # for temporary files; removed with the attempt
    invocation: str | None = None  # what starts the step's skill in this client; None: the step has no skill
    version: str = ""  # of BMAD
    language: str = ""  # the project's communication_language
    spec: str | None = None  # build-auto: an existing spec to continue
    spec_folder: str | None = None  # build-auto: the folder of the stories.yaml that defines the story
    extra: tuple[str, ...] = ()  # the user's own standing answers
