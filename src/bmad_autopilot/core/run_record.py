"""The state of a run: its delivery, stories, steps and calls. journal_fold.py builds it from the journal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .answers import AnswerMeaning

# Delivery of the epic to the base branch.

Data = Mapping[str, Any]


@dataclass
class PullRound:
    """One fix round for review threads and failed checks; recorded as a story of its own."""

    story: str
    why: str  # points, red, checks, conflict
    points: list[Data]  # given to the agent: name, thread, text …
    logs: list[Data]  # logs of failed checks
    base: str  # of a conflict: the base commit


@dataclass
class DeliveryRecord:
    started_at: float = 0.0  # 0: not started
    head: str = ""  # the commit to deliver
    pull: int = 0
    pushed: str = ""  # the remote head we pushed or accepted last
    pushed_at: float = 0.0
    known_heads: set[str] = field(default_factory=set)  # remote heads that are ours or were accepted
    has_new_content: bool = False  # the head has content besides base merges since the last push
    started_effects: dict[str, Data] = field(default_factory=dict)  # started effects whose outcome is unknown
    refused_effects: dict[str, str] = field(default_factory=dict)  # refused effects, with the reason
    completed_effects: dict[str, Data] = field(default_factory=dict)  # completed effects by key, with their result
    failed_effects: dict[str, Data] = field(
        default_factory=dict
    )  # effects with a lost response or a lost race: how often, why
    rounds: list[PullRound] = field(default_factory=list)
    rounds_counted_from: int = 0  # earlier rounds no longer count: an answer allowed more
    answers: dict[str, Data] = field(default_factory=dict)  # thread → the agent's last answer
    base_merges: int = 0  # merges of the base since a person last allowed more
    green_key: str = ""  # the head and the number of checks when all had passed
    green_at: float = 0.0
    merged: str = ""  # the commit on the base branch
    proof: str = ""  # same, differs, accepted
    answers_seen: int = 0  # number of answers when foreign commits were last merged
    current_wait: Data | None = None  # what the delivery waits for, since when, until when

    def round_of(self, story: str) -> PullRound | None:
        return next((one for one in self.rounds if one.story == story), None)

    def is_done(self, do: str, key: str = "") -> bool:
        return f"{do}:{key}" in self.completed_effects


def _delivering(record: DeliveryRecord, data: Data, at: float) -> None:
    if not record.started_at:
        record.started_at = at
    record.head, record.has_new_content = str(data["head"]), True
    record.pull = int(data.get("pull") or record.pull)
    record.known_heads |= set(data["known"])


def _effect(record: DeliveryRecord, data: Data, at: float) -> None:
    record.started_effects[f"{data['do']}:{data['key']}"] = {**data, "at": at}


def _did(record: DeliveryRecord, data: Data, at: float) -> None:
    do, key = str(data["do"]), str(data["key"])
    record.started_effects.pop(f"{do}:{key}", None)
    record.failed_effects.pop(f"{do}:{key}", None)
    if data.get("failed"):
        record.refused_effects[f"{do}:{key}"] = str(data["why"])
        return
    again = record.completed_effects.get(f"{do}:{key}", {})
    record.completed_effects[f"{do}:{key}"] = {**data, "at": at}
    if do == "push":
        if again.get("content"):  # the remote branch was deleted; the same content is pushed again
            record.completed_effects[f"{do}:{key}"] = {**data, "at": at, "content": True}
        record.pushed, record.pushed_at, record.has_new_content = key, at, False
        record.known_heads.add(key)
    elif do == "open-pull":
        record.pull = int(data["number"])
    elif do == "merge-refused":  # this refusal has its own question
        record.refused_effects.pop(f"merge:{key.partition(':')[0]}", None)


def _trouble(record: DeliveryRecord, data: Data, at: float) -> None:
    name = f"{data['do']}:{data['key']}"
    times = int(record.failed_effects.get(name, {}).get("times", 0))
    record.failed_effects[name] = {"times": times + 1, "why": str(data["why"])}
    if data.get("raced"):  # nothing was done, so there is no effect to look for
        record.started_effects.pop(name, None)
        record.failed_effects[name] = {**record.failed_effects[name], "raced": at}


def _pull_round(record: DeliveryRecord, data: Data, at: float) -> None:
    if record.round_of(str(data["story"])) is None:
        points, logs = list(data["points"]), list(data["logs"])
        base = str(data.get("base", ""))
        record.rounds.append(PullRound(str(data["story"]), str(data["why"]), points, logs, base))


def _base_merged(record: DeliveryRecord, data: Data, at: float) -> None:
    record.head = str(data["sha"])
    record.base_merges += 1


def _foreign_merged(record: DeliveryRecord, data: Data, at: float) -> None:
    record.head, record.has_new_content = str(data["sha"]), True
    record.pushed = str(data["remote"])
    record.known_heads.add(record.pushed)
    record.answers_seen = int(data["heard"])


def _green(record: DeliveryRecord, data: Data, at: float) -> None:
    record.green_key, record.green_at = str(data["key"]), at


def _merged(record: DeliveryRecord, data: Data, at: float) -> None:
    record.merged, record.proof = str(data["sha"]), str(data["proof"])


def _pending(record: DeliveryRecord, data: Data, at: float) -> None:
    """A reason may be worded differently each time (a list of dirty files): it is still the same wait."""
    before = record.current_wait
    is_same = before is not None and _wait_kind(before) == _wait_kind(data)
    record.current_wait = {**data, "since": before["since"] if before is not None and is_same else at}


def _wait_kind(wait: Data) -> tuple[str, bool]:
    return str(wait.get("why", "")).partition(":")[0], bool(wait.get("others"))


DELIVERY_HANDLERS: dict[str, Callable[[DeliveryRecord, Data, float], None]] = {
    "delivering": _delivering,
    "effect": _effect,
    "did": _did,
    "trouble": _trouble,
    "pull-round": _pull_round,
    "base-taken": _base_merged,
    "foreign-taken": _foreign_merged,
    "green": _green,
    "merged": _merged,
    "pending": _pending,
}


def record_thread_answers(record: DeliveryRecord, story: str, answers: Data) -> None:
    """Record the agent's answers to the review points, once its call was accepted."""
    found = record.round_of(story)
    if found is None:
        return
    for point in found.points:
        answer = answers.get(str(point["name"]))
        if answer:
            told = {"heard": point.get("heard", []), "since": point.get("since", "")}
            record.answers[str(point["thread"])] = {**answer, "story": story, **told}


def record_round_commit(record: DeliveryRecord, story: str, sha: str) -> None:
    if record.round_of(story) is not None:
        record.head, record.has_new_content = sha, True


def apply_delivery_answer(record: DeliveryRecord, means: AnswerMeaning, asked: Data) -> None:
    """Reset the counters and failures that a person's answer allows to start again."""
    if means is AnswerMeaning.MORE_PULL_ROUNDS:
        record.rounds_counted_from = len(record.rounds)
    elif means is AnswerMeaning.MORE_BASES:
        record.base_merges = 0
    elif means is AnswerMeaning.ACCEPT_MERGE:
        record.proof = "accepted"
    record.refused_effects.clear()  # any answer allows another try
    record.failed_effects.clear()
    record.current_wait = None


@dataclass
class CallRecord:
    """One agent call of a step."""

    attempt: int
    cause: str = ""
    outcome: Data | None = None  # the result, once collected
    handed_over: bool = False  # a person took the story over after this call
    agent: str = ""  # the agent that was called

    @property
    def finding(self) -> str:
        return str(self.outcome.get("finding", "")) if self.outcome else ""


@dataclass
class StepRecord:
    """One step of one story in one round; `number` counts through the run."""

    number: int
    step: str
    round: int
    cause: str = ""  # "checks": a fix step, outside the workflow's own steps
    calls: list[CallRecord] = field(default_factory=list)
    accepted: bool = False
    closed: bool = False  # abandoned, or superseded by a person's edit
    retry_due: bool = False  # an answer made the next call due
    uncounted_calls: int = 0  # calls that no longer count as tries
    extensions: int = 0  # how often a person extended the time limit

    @property
    def last_call(self) -> CallRecord | None:
        return self.calls[-1] if self.calls else None

    @property
    def is_open(self) -> bool:
        return not (self.accepted or self.closed)


@dataclass
class StoryRecord:
    key: str
    baseline: str | None = None  # HEAD when the story started
    tree: str | None = None  # the work tree at that time
    code_tree: str | None = None  # the same without our bookkeeping files
    initial_status: str = ""  # the row's status when this run started the story
    expected_status: str = ""  # the status the row should have, set by us or a person
    previous_status: str = ""  # the status before we set that one
    claimed_status: str = ""  # the status after the last call, until we set the row
    round: int = 1
    rounds_counted_from: int = 1  # the first round that counts: an answer may allow more
    entered_by: str = ""  # "round": start at the fix step; else where the board says
    sent_back_by: str = ""  # "review" or "checks"
    fixes: int = 0
    summary: str = ""  # for the next call: review findings or output of the checks
    steps: list[StepRecord] = field(default_factory=list)
    passed_steps: list[str] = field(default_factory=list)  # steps accepted in this round, in order
    commits: dict[str, str] = field(default_factory=dict)
    finished: bool = False
    skipped: bool = False
    gone: bool = False
    repeat_step: str = ""  # of a flow: the step a person wants to run again

    @property
    def current(self) -> StepRecord | None:
        return self.steps[-1] if self.steps and self.steps[-1].is_open else None

    @property
    def has_uncollected_call(self) -> bool:
        """Whether the current step has a call whose result is not collected."""
        last = self.current.last_call if self.current else None
        return last is not None and last.outcome is None

    @property
    def last_outcome(self) -> Data | None:
        calls = (call.outcome for step in reversed(self.steps) for call in reversed(step.calls))
        return next((ended for ended in calls if ended is not None), None)


@dataclass
class CheckRecord:
    """The project's checks on one tree."""

    code: str
    passed: bool
    environment: bool = False
    signature: str = ""
    excerpt: str = ""
    ran: list[list[Any]] = field(default_factory=list)  # command, exit code, seconds
    head_before: str = ""  # HEAD before the checks
    head: str = ""  # HEAD after the checks
    wrote: list[list[str]] = field(default_factory=list)  # command, and a tracked file it changed
    put_back: bool = False  # those files were restored
    fixed_since: bool = False  # a fix step ran, but the tree is the same

    @property
    def is_disturbed(self) -> bool:
        """Whether the checks changed tracked files (and they were not restored) or HEAD."""
        return (bool(self.wrote) and not self.put_back) or self.moved_head

    @property
    def moved_head(self) -> bool:
        return bool(self.head_before and self.head) and self.head_before != self.head


@dataclass
class RunRecord:
    start_entry: Data = field(default_factory=dict)  # the first entry: what was requested
    stories: dict[str, StoryRecord] = field(default_factory=dict)
    checks: dict[str, CheckRecord] = field(default_factory=dict)  # by code tree
    trees: list[str] = field(default_factory=list)  # work trees checked since our last change
    steps: int = 0
    steps_done: int = 0  # since the run was started or resumed
    question: Data | None = None  # the open question
    answers: list[Data] = field(default_factory=list)
    question_turn: int = 0  # counts questions: the same one asked after an answer or restart is new
    allowance: float = 0.0  # multiples of the whole cap added by answers
    dollars: float = 0.0
    unpriced_calls: int = 0  # calls whose client reported no price
    inherited_calls: int = 0  # calls of the run this one was forked from
    tokens: int = 0
    seconds: float = 0.0  # of agent calls
    started_at: float = 0.0
    hours_counted_from: float = 0.0  # start of the hours cap; time waiting for a person is excluded
    idle_since: float = 0.0
    final_status: str = ""  # how the run ended
    excluded_stories_answer: str = ""  # the answer about excluded stories: close, leave
    retrospective: Data | None = None
    commits: dict[str, str] = field(default_factory=dict)  # commits of the epic itself
    resting_until: float | None = None  # end of the announced wait
    epic_closed: bool = False
    variables: dict[str, Any] = field(default_factory=dict)  # values passed from step to step
    checkpoints: list[Data] = field(default_factory=list)
    passed_checkpoints: set[str] = field(default_factory=set)  # human checkpoints passed, as `stage:story`
    implementing: str = ""  # of a flow: the step whose tasks are due or in progress
    implemented: list[Data] = field(default_factory=list)  # of a flow: steps whose tasks are done
    recorded: set[str] = field(default_factory=set)  # of a flow: what its state file contains, `step:4`, `q3`
    settings: str = ""  # digest of the settings a person chose; "": those of the start
    keeps_initial_settings: bool = False  # use the settings of the start, although they changed
    known_head: str | None = None  # HEAD after our last call, check or commit; later commits are the user's
    last_check: CheckRecord | None = None  # until a person answers about it
    delivery: DeliveryRecord = field(default_factory=DeliveryRecord)

    def story(self, key: str) -> StoryRecord:
        return self.stories.setdefault(key, StoryRecord(key))

    def find_step(self, data: Data) -> tuple[StoryRecord, StepRecord] | None:
        number = data.get("number")
        story = self.stories.get(str(data.get("story", "")))
        if story is None:
            return None
        found = next((step for step in reversed(story.steps) if step.number == number), None)
        return (story, found) if found else None
