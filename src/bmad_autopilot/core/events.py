"""The events of a run: one frozen type per kind of journal entry, one decoder and one encoder.

A field without a default is what the entry is about: an entry that lacks it is kept as an `UnknownEvent`. A field
with a default is written only if it has another value. A field with `always(…)` is always written; its default
stands in for it where an older version did not write it. Fields are written in the order of their declaration.

A rename here changes no journal: `KIND` and the names of fields are the names on disk."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from .answers import AnswerMeaning
from .facts import CallFinding

SCHEMA_VERSION = 1  # of the types below; lines on disk carry no version, and unknown fields and kinds are kept

_EXTRA = "(extra)"  # no name of a field on disk

Json = dict[str, Any]
T = TypeVar("T")
RowChange = tuple[str, str, str]  # key, status before, status after


def always(default: T, name: str | None = None) -> T:
    """A field that is written even if it has its default: msgspec omits no value that a factory made."""
    made: T = field(default_factory=lambda: default, name=name)
    return made


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object inside an event."""


class Decision(Part, frozen=True, kw_only=True):
    """The rule of the transition table that led to an event, and the facts that differed from their defaults."""

    rule: str = always("")  # a label only: nothing depends on it
    facts: Json = always({})


class Payload(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of one kind of event."""

    KIND: ClassVar[str] = ""

    decided: Decision | None = None  # on the first event of a tick
    extra: Json = field(default_factory=dict, name=_EXTRA)  # fields of a newer version

    @property
    def kind(self) -> str:
        return self.KIND


class UnknownEvent(Payload, frozen=True, kw_only=True):
    """An entry of an unknown kind, or one that lacks what its kind is about. Readers ignore it."""

    name: str
    fields: Json

    @property
    def kind(self) -> str:
        return self.name


class Event(Struct, frozen=True):
    """One event of a run: an entry of its journal."""

    n: int  # the entry's number in its journal
    at: float  # seconds since 1970
    data: Payload
    run: str = ""  # the run's id
    lane: str = ""  # the lane's key, where several lanes report to one reader

    version: ClassVar[int] = SCHEMA_VERSION

    @property
    def id(self) -> str:
        """Stable: the same entry has the same id for every reader, at any time."""
        return f"{self.run}:{self.n}"

    @property
    def kind(self) -> str:
        return self.data.kind

    @property
    def is_known(self) -> bool:
        """Whether `data` has the type of its kind."""
        return not isinstance(self.data, UnknownEvent)

    @property
    def story(self) -> str:
        return _text_field(self.data, "story")

    @property
    def step(self) -> str:
        return _text_field(self.data, "step")

    @property
    def attempt(self) -> int:
        """The attempt of a call; 0 for other events."""
        return getattr(self.data, "attempt", 0)


def _text_field(data: Payload, name: str) -> str:
    found = data.fields.get(name) if isinstance(data, UnknownEvent) else getattr(data, name, "")
    return found if isinstance(found, str) else ""


# Parts of events.


class Artefact(Part, frozen=True, kw_only=True):
    step: int
    name: str
    path: str


class _CheckpointHead(Part, frozen=True, kw_only=True):
    id: str = always("")
    digest: str
    step: int = always(0)
    name: str = always("")
    story: str = always("")
    variables: Json
    artefacts: tuple[Artefact, ...] = always(())


class CheckpointData(_CheckpointHead, frozen=True, kw_only=True):
    """The state of a run at a completed step, as part of the step's event."""

    rows: dict[str, str] = always({})
    head: str | None = always(None)
    branch: str = always("")
    tree: str | None = always(None)
    ref: str = always("")
    saved: bool = True  # False: its work tree is not kept


class ProtocolCheckpointData(_CheckpointHead, frozen=True, kw_only=True):
    """The same, recorded by `bmad checkpoint`, which writes the rows last."""

    head: str | None = always(None)
    branch: str = always("")
    tree: str | None = always(None)
    ref: str = always("")
    rows: dict[str, str] = always({})


class AskedByAgent(Part, frozen=True, kw_only=True):
    """A question of an agent, or why it is blocked."""

    id: str | None = None
    question: str = always("")
    context: str | None = None
    options: tuple[str, ...] | None = None
    reason: str = always("")
    cause: str | None = None


class FindingChange(Part, frozen=True, kw_only=True):
    """The fields of a call's result that an answer may replace."""

    asks: str | UnsetType = UNSET
    otherwise: "FindingChange | UnsetType | None" = UNSET
    finding: CallFinding | UnsetType = UNSET
    until: float | UnsetType | None = UNSET
    cause: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    objections: tuple[str, ...] | UnsetType = UNSET
    question: AskedByAgent | UnsetType = UNSET
    more: tuple[AskedByAgent, ...] | UnsetType = UNSET


class PointAnswer(Part, frozen=True, kw_only=True):
    """An agent's answer to one review point."""

    answer: str
    why: str = always("")
    commit: str | None = None


class RoundItem(Part, frozen=True, kw_only=True):
    """An input of a fix round: a review point, a file in conflict, or the log of a failed check."""

    name: str | None = None
    thread: str | None = None
    heard: tuple[str, ...] | None = None
    title: str = always("")
    text: str = always("")
    since: str | None = None
    decided: bool | None = None


class ForkOrigin(Part, frozen=True, kw_only=True):
    run: str = always("")
    checkpoint: str = always("")
    step: int = always(0)
    entry: int = always(0)  # the last entry that was copied


# The run.


class RunStarted(Payload, frozen=True, kw_only=True):
    """The first event: what was requested. The fields after `variables` are those of `engine.lane.Lane`."""

    KIND: ClassVar[str] = "run"

    run_id: str = always("")
    target: str = always("")
    settings: str | UnsetType = UNSET
    variables: Json | UnsetType | None = UNSET
    scope: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    epic: str | UnsetType | None = UNSET
    workflow: Json | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    max_rounds: int | UnsetType = UNSET
    max_fixes: int | UnsetType = UNSET
    max_cost: float | UnsetType | None = UNSET
    max_hours: float | UnsetType | None = UNSET
    retrospective: str | UnsetType = UNSET
    checks: tuple[str, ...] | UnsetType = UNSET
    unprotected: tuple[str, ...] | UnsetType = UNSET
    stories: int | UnsetType = UNSET
    rows: dict[str, str] | UnsetType = UNSET
    dirty: int | UnsetType = UNSET  # how many paths were changed or untracked before
    session: str | UnsetType = UNSET
    human_checkpoint: str | UnsetType = UNSET
    unattended: dict[str, str] | UnsetType = UNSET
    path: str | UnsetType = UNSET
    delivery: Json | UnsetType | None = UNSET
    of_tasks: bool | UnsetType = UNSET
    adopted: str | UnsetType = UNSET
    forked_from: ForkOrigin | UnsetType = UNSET


class RunResumed(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "resumed"


class RunForked(Payload, frozen=True, kw_only=True):
    """The run starts at a checkpoint of another run."""

    KIND: ClassVar[str] = "forked"

    run: str = always("")
    origin: str = always("", name="from")
    checkpoint: str = always("")
    step: int = always(0)
    branch: str = always("")
    saved: str = always("")  # the commit that keeps what was in the work tree
    steps: int = 0  # planned steps; reported, not recorded


class RunLeft(Payload, frozen=True, kw_only=True):
    """The supervisor left the run, which can be resumed."""

    KIND: ClassVar[str] = "left"

    agents: str = always("")  # of its agent: none, at-work, ended
    paused: bool = always(False)


class RunWaiting(Payload, frozen=True, kw_only=True):
    """The supervisor ended; the run waits for a person or for another command."""

    KIND: ClassVar[str] = "waiting"


class RunFinished(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "finished"

    status: str = always("")
    summary: str = ""  # of the checkpoint protocol
    mark: str = ""


class BackoffStarted(Payload, frozen=True, kw_only=True):
    """The lane waits for a usage limit or after a temporary failure."""

    KIND: ClassVar[str] = "resting"

    why: str = always("")
    until: float | None = always(None)
    lacks: str = ""  # why the fallback agent cannot be used


# Stories, steps and calls.


class StoryStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "story"

    story: str
    baseline: str | None = always(None)
    tree: str | None = always(None)
    code: str | None = always(None)
    status: str = always("")


class StepStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "step"

    story: str
    number: int
    step: str
    round: int = always(1)
    cause: str = always("")


class CallStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "call"

    story: str
    step: str
    role: str = always("")
    agent: str = always("")
    number: int
    attempt: int


class CallEnded(Payload, frozen=True, kw_only=True):
    """The result of a call, judged."""

    KIND: ClassVar[str] = "ended"

    story: str
    step: str
    number: int
    attempt: int
    outcome: str = always("")
    dollars: float | None = always(None)
    tokens: int = always(0)
    seconds: float = always(0.0)
    exit: int | None = always(None)
    row: str = always("")  # the row's status, if it changed during the call
    tree: str | None = always(None)
    code: str | None = always(None)
    head: str | None = always(None)
    branch: str | None = always(None)
    closing: str = always("")
    session: str | None = always(None)
    message: str = always("")
    variables: Json | None = None
    output: str | None = None
    said: dict[str, PointAnswer] = {}
    taken_out: tuple[str, ...] = ()
    finding: CallFinding = always(CallFinding.UNKNOWN)
    until: float | None = 0.0  # None: at once; 0: not set
    summary: str = ""
    objections: tuple[str, ...] = ()
    asks: str = ""  # the code of the question it leads to
    cause: str = ""
    question: AskedByAgent | None = None
    more: tuple[AskedByAgent, ...] | None = None
    rows: tuple[RowChange, ...] = ()
    otherwise: FindingChange | None = None
    put_back: tuple[RowChange, ...] = ()


class StepAccepted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "accepted"

    story: str
    number: int | None = always(None)  # None: the row already said done
    step: str = always("")
    row: str = always("")
    finished: bool = always(False)
    checkpoint: CheckpointData | None = None


class RoundStarted(Payload, frozen=True, kw_only=True):
    """A review or failed checks sent the story back."""

    KIND: ClassVar[str] = "round"

    story: str
    round: int
    summary: str = always("")
    why: str = always("")
    row: str = always("")
    checkpoint: CheckpointData | None = None


class StoryGone(Payload, frozen=True, kw_only=True):
    """The story's row left the board."""

    KIND: ClassVar[str] = "gone"

    story: str
    kept: str = always("")


class StorySetAside(Payload, frozen=True, kw_only=True):
    """A person skipped the story; its work is kept."""

    KIND: ClassVar[str] = "aside"

    story: str
    kept: str = always("")


class StoryRestarted(Payload, frozen=True, kw_only=True):
    """A person asked to start the story again from nothing."""

    KIND: ClassVar[str] = "restarted"

    story: str
    row: str = always("")


# The board.


class RowIntent(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "row"

    key: str
    before: str
    after: str


class RowSet(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "row-set"

    key: str


class EpicIntent(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "epic"

    key: str = always("")
    before: str = always("")
    after: str = always("")


class RowEdited(Payload, frozen=True, kw_only=True):
    """A person moved the row, which supersedes the current step."""

    KIND: ClassVar[str] = "edited"

    story: str
    before: str = always("")
    status: str


class BoardRestored(Payload, frozen=True, kw_only=True):
    """A call left the board unreadable."""

    KIND: ClassVar[str] = "restored"

    kept: str = always("")
    why: str = always("")


# Checks and commits.


class CheckStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "checking"

    story: str = always("")


class CheckEnded(Payload, frozen=True, kw_only=True):
    """The project's checks on one tree. The fields up to `fixed_since` are those of `CheckRecord`."""

    KIND: ClassVar[str] = "check"

    code: str
    passed: bool
    environment: bool = always(False)
    signature: str = always("")
    excerpt: str = always("")
    ran: tuple[tuple[str, int | None, float], ...] = always(())
    head_before: str = always("")
    head: str = always("")
    wrote: tuple[tuple[str, str], ...] = always(())
    put_back: bool = always(False)
    fixed_since: bool = always(False)
    tree: str | None = ""
    put_back_rows: tuple[RowChange, ...] = ()


class CommitIntent(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "committing"

    key: str = always("")


class CommitMade(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "commit"

    key: str = always("")
    label: str
    story: str = always("")
    sha: str
    subject: str = always("")


# People.


class QuestionAsked(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "asked"

    question: str = always("")  # its id
    code: str = always("")
    story: str = always("")
    number: int | None = always(None)
    text: str = always("")
    context: str = always("")
    options: tuple[str, ...] = always(())
    recommended: str = always("")
    cause: str = always("")
    because: str = always("")
    about: str = always("story")  # or workflow
    labels: tuple[str, ...] = ()
    step: str = ""
    key: str | None = None  # of a delivery: asked again once it changes
    stage: str | None = None  # of a human checkpoint
    settings: str | None = None


class QuestionAnswered(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "answered"

    question: str = always("")
    answer: str = always("")
    means: AnswerMeaning = always(AnswerMeaning.UNKNOWN)
    by: str = always("")


# Flows.


class FlowStateWritten(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "state"

    step: str = always("")
    name: str = always("")
    status: str = always("")
    recorded: tuple[str, ...] = always(())


class TasksStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "implementing"

    step: str


class TasksEnded(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "implemented"

    step: str
    outcome: str


# The delivery.


class DeliveryStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "delivering"

    head: str
    branch: str = always("")
    known: tuple[str, ...]
    pull: int = 0  # of older versions


class EffectIntent(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "effect"

    do: str
    key: str
    content: bool | None = None
    base: str = ""
    sha: str = ""
    jobs: tuple[Any, ...] = ()
    mark: str = ""


class EffectDone(Payload, frozen=True, kw_only=True):
    """The effect is done, found done, or refused for good."""

    KIND: ClassVar[str] = "did"

    do: str
    key: str
    content: bool | None = None
    moved: tuple[int, ...] = ()
    base: str = ""
    number: int = 0
    found: bool = False
    sha: str = ""
    jobs: tuple[Any, ...] = ()
    gone: bool = False
    failed: bool = False
    why: str = ""
    trouble: str = ""
    mark: str = ""
    refused: str = ""  # an optional effect: why it was not done


class EffectFailed(Payload, frozen=True, kw_only=True):
    """The response was lost, or (`raced`) another process was faster: the effect is looked for and tried again."""

    KIND: ClassVar[str] = "trouble"

    do: str
    key: str
    why: str
    raced: bool = False


class FixRoundStarted(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "pull-round"

    story: str
    why: str
    points: tuple[RoundItem, ...]
    logs: tuple[RoundItem, ...]
    base: str = ""


class BaseMerged(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "base-taken"

    sha: str
    base: str = always("")
    branch: str = always("")
    semantic: tuple[str, ...] = always(())


class ForeignMerged(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "foreign-taken"

    sha: str
    remote: str
    heard: int


class ChecksGreen(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "green"

    key: str


class DeliveryMerged(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "merged"

    sha: str
    proof: str
    pull: int = always(0)
    base: str = always("")


class DeliveryPending(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "pending"

    why: str = always("")
    until: float | None = always(None)
    fingerprint: str = always("")
    pull: int | None = always(None)
    others: bool | None = None  # it waits for another lane


# The checkpoint protocol: runs that an agent drives by `bmad checkpoint`.


class ProtocolOpened(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "opened"

    target: str = always("")
    workflow: str = always("")
    path: str = always("")
    session: str = always("")


class ProtocolSaved(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "saved"

    step: int = always(0)
    name: str = always("")
    total: int = always(0)
    status: str = always("")
    mark: str = always("")
    checkpoint: ProtocolCheckpointData | None = None


class ProtocolCheckpoint(Payload, frozen=True, kw_only=True):
    KIND: ClassVar[str] = "checkpoint"

    step: int = always(0)
    name: str = always("")
    note: str = always("")
    next: int = always(0)
    artefact: Artefact | None = always(None)
    mark: str = always("")
    checkpoint: ProtocolCheckpointData | None = None


# Decoding and encoding.

PAYLOADS: Mapping[str, type[Payload]] = {one.KIND: one for one in Payload.__subclasses__() if one.KIND}


def decode_entry(n: int, at: float, kind: str, data: Json, run: str = "") -> Event:
    """A field of a wrong type counts as not written; one of a newer version is kept."""
    return Event(n, at, decode_payload(kind, data), run)


def decode_payload(kind: str, data: Json) -> Payload:
    wanted = PAYLOADS.get(kind)
    if wanted is None:
        return _unknown(kind, data)
    try:
        return msgspec.convert(data, wanted)
    except msgspec.ValidationError:
        return _salvage(wanted, data) or _unknown(kind, data)


def _unknown(kind: str, data: Json) -> UnknownEvent:
    decided = data.get("decided")
    made = msgspec.convert(decided, Decision) if _fits(decided, Decision) else None
    return UnknownEvent(name=kind, fields=data, decided=made)


def _salvage(wanted: type[Payload], data: Json) -> Payload | None:
    """Fields that do not fit their type are left out. None if one of them is what the entry is about."""
    known = {one.encode_name: one for one in msgspec.structs.fields(wanted)}
    fitting: Json = {}
    for name, value in data.items():
        found = _fit(value, known[name].type) if name in known else UNSET
        if found is not UNSET:
            fitting[known[name].name] = found
    newer = {name: value for name, value in data.items() if name not in known}
    try:
        return wanted(**{"extra": newer, **fitting})
    except TypeError:
        return None


def _fit(value: object, wanted: Any) -> Any:
    """UNSET if it does not fit. Of a list or a mapping those members that fit: a long line is clipped."""
    if _fits(value, wanted):
        return msgspec.convert(value, wanted)
    members: object = UNSET
    if isinstance(value, list):
        members = [one for one in value if _fits([one], wanted)]
    elif isinstance(value, dict):
        members = {name: one for name, one in value.items() if _fits({name: one}, wanted)}
    return msgspec.convert(members, wanted) if members is not UNSET and _fits(members, wanted) else UNSET


def _fits(value: object, wanted: Any) -> bool:
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError:
        return False
    return True


def encode(data: Payload) -> Json:
    """The fields as they are written, in order; the decision comes last."""
    if isinstance(data, UnknownEvent):
        return dict(data.fields)
    found: Json = msgspec.to_builtins(data, enc_hook=str)
    newer, decided = found.pop(_EXTRA, {}), found.pop("decided", None)
    return {**found, **newer, **({"decided": decided} if decided is not None else {})}
