"""What a run has done and heard on its epic's way to the base branch, folded from its journal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Data = Mapping[str, Any]


@dataclass
class PullRound:
    """One round of mending what reviewers and checks found; in the records it stands as a story of its own."""

    story: str
    why: str  # points, red, checks, conflict
    points: list[Data]  # what the agent is told: its name for it, thread, text …
    logs: list[Data]  # of checks that failed
    base: str  # of a conflict: with this commit


@dataclass
class DeliveryRecord:
    began: float = 0.0  # 0: not yet
    head: str = ""  # the commit to be delivered
    pull: int = 0
    pushed: str = ""  # what the remote holds as far as we go: what we have put there, or taken over
    pushed_at: float = 0.0
    known: set[str] = field(default_factory=set)  # heads of the remote's that are ours, or were taken over
    content: bool = False  # the head holds more than the base's since it was last pushed
    begun: dict[str, Data] = field(default_factory=dict)  # effects that were begun and not known to be done
    failed: dict[str, str] = field(default_factory=dict)  # effects that were refused, and why
    done: dict[str, Data] = field(default_factory=dict)  # effects by their key, with what came of them
    troubles: dict[str, Data] = field(
        default_factory=dict
    )  # effects whose answer or race was lost: how often, why
    rounds: list[PullRound] = field(default_factory=list)
    counted_from: int = 0  # rounds before it count no more: an answer allowed more
    answers: dict[str, Data] = field(default_factory=dict)  # thread → what the agent said of it last
    bases: int = 0  # how often the base was taken in since somebody last allowed it
    green: str = ""  # for which head, and how many checks, all of them had passed
    green_at: float = 0.0
    merged: str = ""  # the commit on the base branch
    proof: str = ""  # same, differs, accepted
    heard: int = 0  # answers there were when somebody else's commits were last taken in
    waits: Data | None = None  # what it waits for, since when, until when

    def round_of(self, story: str) -> PullRound | None:
        return next((one for one in self.rounds if one.story == story), None)

    def is_done(self, do: str, key: str = "") -> bool:
        return f"{do}:{key}" in self.done


def _delivering(record: DeliveryRecord, data: Data, at: float) -> None:
    if not record.began:
        record.began = at
    record.head, record.content = str(data["head"]), True
    record.pull = int(data.get("pull") or record.pull)
    record.known |= set(data["known"])


def _effect(record: DeliveryRecord, data: Data, at: float) -> None:
    record.begun[f"{data['do']}:{data['key']}"] = {**data, "at": at}


def _did(record: DeliveryRecord, data: Data, at: float) -> None:
    do, key = str(data["do"]), str(data["key"])
    record.begun.pop(f"{do}:{key}", None)
    record.troubles.pop(f"{do}:{key}", None)
    if data.get("failed"):
        record.failed[f"{do}:{key}"] = str(data["why"])
        return
    again = record.done.get(f"{do}:{key}", {})
    record.done[f"{do}:{key}"] = {**data, "at": at}
    if do == "push":
        if again.get("content"):  # it was deleted there, and brings the same as before
            record.done[f"{do}:{key}"] = {**data, "at": at, "content": True}
        record.pushed, record.pushed_at, record.content = key, at, False
        record.known.add(key)
    elif do == "open-pull":
        record.pull = int(data["number"])
    elif do == "merge-refused":  # there is a question of its own about that
        record.failed.pop(f"merge:{key.partition(':')[0]}", None)


def _trouble(record: DeliveryRecord, data: Data, at: float) -> None:
    name = f"{data['do']}:{data['key']}"
    times = int(record.troubles.get(name, {}).get("times", 0))
    record.troubles[name] = {"times": times + 1, "why": str(data["why"])}
    if data.get("raced"):  # nothing was done: there is nothing to look for
        record.begun.pop(name, None)
        record.troubles[name] = {**record.troubles[name], "raced": at}


def _pull_round(record: DeliveryRecord, data: Data, at: float) -> None:
    if record.round_of(str(data["story"])) is None:
        points, logs = list(data["points"]), list(data["logs"])
        base = str(data.get("base", ""))
        record.rounds.append(PullRound(str(data["story"]), str(data["why"]), points, logs, base))


def _base_taken(record: DeliveryRecord, data: Data, at: float) -> None:
    record.head = str(data["sha"])
    record.bases += 1


def _foreign_taken(record: DeliveryRecord, data: Data, at: float) -> None:
    record.head, record.content = str(data["sha"]), True
    record.pushed = str(data["remote"])
    record.known.add(record.pushed)
    record.heard = int(data["heard"])


def _green(record: DeliveryRecord, data: Data, at: float) -> None:
    record.green, record.green_at = str(data["key"]), at


def _merged(record: DeliveryRecord, data: Data, at: float) -> None:
    record.merged, record.proof = str(data["sha"]), str(data["proof"])


def _pending(record: DeliveryRecord, data: Data, at: float) -> None:
    """What it waits for may be told in other words each time, as the files that lie about: it is the same wait."""
    before = record.waits
    is_same = before is not None and _kind(before) == _kind(data)
    record.waits = {**data, "since": before["since"] if before is not None and is_same else at}


def _kind(wait: Data) -> tuple[str, bool]:
    return str(wait.get("why", "")).partition(":")[0], bool(wait.get("others"))


KINDS: dict[str, Callable[[DeliveryRecord, Data, float], None]] = {
    "delivering": _delivering,
    "effect": _effect,
    "did": _did,
    "trouble": _trouble,
    "pull-round": _pull_round,
    "base-taken": _base_taken,
    "foreign-taken": _foreign_taken,
    "green": _green,
    "merged": _merged,
    "pending": _pending,
}


def take_answers(record: DeliveryRecord, story: str, said: Data) -> None:
    """What an agent said about the points it was told, once its call was found good."""
    found = record.round_of(story)
    if found is None:
        return
    for point in found.points:
        answer = said.get(str(point["name"]))
        if answer:
            told = {"heard": point.get("heard", []), "since": point.get("since", "")}
            record.answers[str(point["thread"])] = {**answer, "story": story, **told}


def round_committed(record: DeliveryRecord, story: str, sha: str) -> None:
    if record.round_of(story) is not None:
        record.head, record.content = sha, True


def allow_more(record: DeliveryRecord, means: str, asked: Data) -> None:
    """What a person's answer changes in what is counted."""
    if means == "more-pull-rounds":
        record.counted_from = len(record.rounds)
    elif means == "more-bases":
        record.bases = 0
    elif means == "merged-fine":
        record.proof = "accepted"
    record.failed.clear()  # whatever it was about: it is tried again
    record.troubles.clear()
    record.waits = None
