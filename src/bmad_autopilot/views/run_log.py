"""Converts journal entries of a run into log lines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..core.text import clip, one_line
from ..engine.call_outcome import STOPPED
from ..engine.delivery.rounds import is_fix_round
from .format import (
    FINDINGS,
    MAX_TEXT,
    LogLine,
    clock_or_date,
    describe_outcome,
    elapsed,
    failed_checks,
    first_line,
    money,
    pluralize,
    resume_banner,
)
from .questions import question_from_entry, question_lines

# Entries of a delivery: pushes, pull requests, reviews, merges.

Data = Mapping[str, Any]

_STEP = "delivery"
_DONE: Mapping[str, Callable[[Data], tuple[str, str]]] = {
    "push": lambda data: ("pushed", str(data["key"])[:7]),
    "open-pull": lambda data: (f"#{data.get('number')} {'found' if data.get('found') else 'opened'}", ""),
    "reopen": lambda data: ("opened again", ""),
    "retarget": lambda data: ("goes to", str(data["key"])),
    "request-review": lambda data: ("review asked for", "of Copilot"),
    "no-review": lambda data: ("no review", "Copilot cannot be asked here: a person's approval is what counts"),
    "reply": lambda data: ("answered", "a review thread"),
    "resolve": lambda data: ("resolved", "a review thread"),
    "rerun": lambda data: ("checks run again", "as they are: it may pass"),
    "start-robot": lambda data: ("auto-approve started", "it is ready for that"),
    "enqueue": lambda data: ("in the merge queue", ""),
    "clear-branch": lambda data: ("moved", f"{_numbers(data)} to {data['base']}, which stood on its branch"),
    "merge-refused": lambda data: ("not merged", first_line(str(data.get("why", "")))),
}
_WHY = {
    "points": "reviewers want something",
    "red": "checks have failed there",
    "checks": "the project's own checks fail",
    "conflict": "the base has changed the same lines",
}


def delivery_lines(kind: str, data: Data, at: float) -> list[LogLine] | None:
    """None: not an entry of a delivery."""
    describe = _DELIVERY_KINDS.get(kind)
    if describe is None:
        return None
    return [LogLine(at, str(data.get("lane") or ""), _STEP, *words) for words in describe(data)]


Words = list[tuple[str, str, str]]  # word, text, colour


def _delivering(data: Data) -> Words:
    return [("its stories are over", f"{data.get('branch')} at {str(data['head'])[:7]}", "")]


def _did(data: Data) -> Words:
    if data.get("failed"):
        return [(f"{data['do']} failed", first_line(str(data.get("why", ""))), "red")]
    describe = _DONE.get(str(data["do"]))
    if describe is None or (data["do"] == "clear-branch" and not data.get("moved")):
        return []
    if data.get("refused"):
        return [(f"{data['do']} refused", first_line(str(data["refused"])), "yellow")]
    word, text = describe(data)
    return [(word, text, "yellow" if data["do"] in ("merge-refused", "no-review") else "")]


def _numbers(data: Data) -> str:
    return ", ".join(f"#{number}" for number in data["moved"])


def _trouble(data: Data) -> Words:
    what = "too late" if data.get("raced") else "no answer"
    return [(f"{data['do']}: {what}", f"{first_line(str(data.get('why', '')))}; looked at again", "yellow")]


def _round(data: Data) -> Words:
    points, number = len(data.get("points", ())), str(data["story"]).rpartition("-")[2]
    why, some = str(data.get("why")), f": {points} point{'s' if points != 1 else ''}" if points else ""
    reasons = [_WHY.get(why, ""), *([_WHY["points"]] if some and why == "red" else [])]
    return [(f"round {number}", f"{', and '.join(reasons)}{some}", "yellow")]


def _base_taken(data: Data) -> Words:
    merged = f", {', '.join(data['semantic'])} by what they mean" if data.get("semantic") else ""
    return [("base taken in", f"{data.get('branch')} at {str(data.get('base'))[:7]}{merged}", "")]


def _foreign_taken(data: Data) -> Words:
    return [("taken in", "what others have put on its branch", "")]


def _merged(data: Data) -> Words:
    number = f"#{data['pull']} " if data.get("pull") else ""
    if data.get("proof") == "differs":
        return [("merged", f"{number}as {str(data['sha'])[:7]}, and not what was tested", "red")]
    return [
        ("merged", f"{number}into {data.get('base')} as {str(data['sha'])[:7]}, just what was tested", "green")
    ]


def _pending(data: Data) -> Words:
    number = f"#{data['pull']}: " if data.get("pull") else ""
    return [("waits", f"{number}{first_line(str(data.get('why', '')))}", "cyan")]


_DELIVERY_KINDS: Mapping[str, Callable[[Data], Words]] = {
    "delivering": _delivering,
    "did": _did,
    "trouble": _trouble,
    "pull-round": _round,
    "base-taken": _base_taken,
    "foreign-taken": _foreign_taken,
    "merged": _merged,
    "pending": _pending,
}


RunPosition = tuple[str, int, int]  # run id, current step, number of steps

NO_POSITION: RunPosition = ("", 0, 0)


class RunLog:
    """Turns journal entries into lines. Stateful: some entries are only reported with a later one.

    `agents`: role → agent. `position`: the run being resumed. `shows_questions`: False if the user is prompted at
    this terminal."""

    def __init__(
        self,
        agents: Mapping[str, str],
        *,
        position: RunPosition = NO_POSITION,
        shows_questions: bool = True,
    ) -> None:
        self._agents = agents
        self._resuming = resume_banner(*position)
        self._shows_questions = shows_questions
        self._rows: dict[str, tuple[str, str]] = {}
        self._status: dict[str, str] = {}
        self._epic = ""
        self._steps: dict[int, str] = {}
        self._round_causes: dict[str, str] = {}  # story → why a new round began, until its first step starts
        self._causes: dict[int, str] = {}  # step number → cause, for steps of a repeated round
        self._failing = ""
        self._reported_files: set[tuple[str, str]] = set()  # (check command, tracked file), reported once
        self._story = ""
        self._flow_at = ("", "")  # a flow's step and its status

    def for_other_run(self) -> "RunLog":
        """A new log with the same settings, for another run."""
        return RunLog(self._agents, shows_questions=self._shows_questions)

    def lines(self, kind: str, data: Data, at: float) -> list[LogLine]:
        whose = data.get("lane") if kind == "delivering" else data.get("story")
        self._story = str(whose or self._story)
        describe = _KINDS.get(kind)
        return describe(self, data, at) if describe else delivery_lines(kind, data, at) or []

    def _line(self, data: Data, at: float, step: str, word: str, text: str = "", color: str = "") -> list[LogLine]:
        story = str(data.get("story") or data.get("key") or self._story)
        return [LogLine(at, story, step, word, text, color)]

    # agents

    def story_started(self, data: Data, at: float) -> list[LogLine]:
        self._status[self._story] = str(data.get("status", ""))
        if is_fix_round(self._story):  # reported as a round
            return []
        return self._line(data, at, "", "begun", f"({data.get('status') or 'no status'})")

    def step(self, data: Data, at: float) -> list[LogLine]:
        """Reported with its `call` entry."""
        sent_back = self._round_causes.pop(self._story, "")
        cause = "after checks failed" if data.get("cause") == "checks" else sent_back
        if cause:
            self._causes[int(data["number"])] = cause
        return []

    def call(self, data: Data, at: float) -> list[LogLine]:
        step, role, number = str(data["step"]), str(data.get("role", "")), int(data["number"])
        self._steps[number] = step
        agent = data.get("agent") or self._agents.get(role, role)
        words = (str(agent), f"attempt {data['attempt']}", self._causes.get(number, ""))
        return self._line(data, at, step, "started", f"({', '.join(filter(None, words))})")

    def ended(self, data: Data, at: float) -> list[LogLine]:
        finding = str(data.get("finding", ""))
        words, color = FINDINGS.get(finding, (finding, "red"))
        said = describe_outcome(data, finding)
        if finding == "good" and data.get("summary"):
            words = "approved"
        elif finding == "refused" and data.get("message") == STOPPED:
            words, said = "ended with the run", ""
        text = " · ".join(spend_texts(data)) + (f": {said}" if said else "")
        lines = self._line(data, at, str(data["step"]), words, text, color)
        taken_out = ", ".join(map(str, data.get("taken_out") or ()))
        if taken_out:
            word, text = "committed files of yours", f"taken out of its commits again: {taken_out}"
            lines += self._line(data, at, str(data["step"]), word, text, "yellow")
        return lines + self._put_back(data, at, str(data["step"]), data.get("put_back"))

    def _put_back(
        self, data: Data, at: float, step: str, moved: Iterable[Sequence[object]] | None
    ) -> list[LogLine]:
        rows = ", ".join(str(row[0]) for row in moved or ())
        return (
            self._line(data, at, step, "moved rows of other epics", f"put back: {rows}", "yellow") if rows else []
        )

    def resting(self, data: Data, at: float) -> list[LogLine]:
        end = data.get("until")
        why = "usage limit" if data.get("why") == "limit" else "a pause after a fault that passes"
        when = f"until {clock_or_date(end, at)}" if end else "a while"
        lacks = str(data.get("lacks") or "")
        return self._line(data, at, "", f"waits {when}", f"({why}{f'; {lacks}' if lacks else ''})", "yellow")

    # the board

    def row(self, data: Data, at: float) -> list[LogLine]:
        """Reported with `row-set`: another process may set the row first."""
        self._rows[str(data["key"])] = str(data["before"]), str(data["after"])
        return []

    def row_set(self, data: Data, at: float) -> list[LogLine]:
        key = str(data["key"])
        if key not in self._rows:
            return []
        before, self._status[key] = self._rows.pop(key)
        return self._line(data, at, "", f"{before or '(empty)'} → {self._status[key]}")

    def accepted(self, data: Data, at: float) -> list[LogLine]:
        """The row has the expected status. If the agent set it, this entry is the first to report it."""
        key, row = str(data["story"]), str(data.get("row") or "")
        before = self._status.get(key, row)
        self._status[key] = row or before
        return self._line(data, at, "", f"{before or '(empty)'} → {row}") if row and row != before else []

    def epic(self, data: Data, at: float) -> list[LogLine]:
        self._epic = str(data["key"])
        return self._line(data, at, "", f"{data['before']} → {data['after']}")

    def edited(self, data: Data, at: float) -> list[LogLine]:
        change = f"{data.get('before')} → {data.get('status')}"
        self._status[str(data["story"])] = str(data.get("status", ""))
        return self._line(data, at, "", change, "by somebody else, and that stands", "yellow")

    def gone(self, data: Data, at: float) -> list[LogLine]:
        kept = f"the work is kept: git show --stat {data.get('kept')}"
        return self._line(data, at, "", "has left the board", kept, "yellow")

    def aside(self, data: Data, at: float) -> list[LogLine]:
        return self._line(
            data, at, "", "set aside", f"the work is kept: git show --stat {data.get('kept')}", "yellow"
        )

    def restored(self, data: Data, at: float) -> list[LogLine]:
        why = first_line(str(data.get("why", "")))
        text = f"it could not be read after the call ({why}); what stood there: {data.get('kept')}"
        return self._line(data, at, "", "board put back", text, "yellow")

    # evidence

    def check(self, data: Data, at: float) -> list[LogLine]:
        self._failing = failed_checks(data)
        lines = [self._command(data, at, *command) for command in data.get("ran") or ()]
        if not lines and not data.get("passed"):
            lines = self._line(data, at, "checks", "failed", first_line(str(data.get("excerpt", ""))), "red")
        lines += self._changed_files(data, at)
        if data.get("environment"):
            lines += self._line(data, at, "checks", "cannot run here", "no change to the code helps", "red")
        return lines + self._put_back(data, at, "checks", data.get("put_back_rows"))

    def _changed_files(self, data: Data, at: float) -> list[LogLine]:
        """The tracked files that a check has changed, reported once."""
        left = "put back" if data.get("put_back") else "left as they are"
        found: dict[str, list[str]] = {}
        for command, path in data.get("wrote") or ():
            if (command, path) not in self._reported_files:
                self._reported_files.add((command, path))
                found.setdefault(str(command), []).append(str(path))
        return [
            self._line(
                data,
                at,
                "checks",
                "wrote",
                f"{clip(', '.join(paths), MAX_TEXT)} by {clip(one, MAX_TEXT)}; {left}",
                "yellow",
            )[0]
            for one, paths in found.items()
        ]

    def _command(self, data: Data, at: float, command: object, exit: object, seconds: float) -> LogLine:
        word, color = ("passed", "green") if exit == 0 else ("failed", "red")
        how = f", exit code {exit}" if exit else ", did not end" if exit is None else ""
        text = f"{clip(str(command), MAX_TEXT)}  ({elapsed(seconds)}{how})"
        return self._line(data, at, "checks", word, text, color)[0]

    def round(self, data: Data, at: float) -> list[LogLine]:
        by_checks = data.get("why") == "checks"
        self._round_causes[self._story] = "after checks failed" if by_checks else "after changes requested"
        why = "the checks fail" if by_checks else "the review asks for changes"
        return self.accepted(data, at) + self._line(data, at, "", f"round {data['round']}", why, "yellow")

    def commit(self, data: Data, at: float) -> list[LogLine]:
        story = str(data.get("story") or self._epic)
        return [LogLine(at, story, "commit", str(data["sha"])[:7], str(data.get("subject", "")))]

    # people

    def asked(self, data: Data, at: float) -> list[LogLine]:
        step = self._steps.get(data.get("number") or 0, "")
        about = self._failing if data.get("code") in ("checks", "environment") else ""
        line = self._line(data, at, step, "asks", about, "yellow")[0]
        block = question_lines(question_from_entry(data, step)) if self._shows_questions else ()
        return [line._replace(block=tuple(block))]

    def answered(self, data: Data, at: float) -> list[LogLine]:
        said = one_line(str(data.get("answer", "")), MAX_TEXT)
        return self._line(data, at, "answer", said + _IN_ADVANCE.get(str(data.get("by", "")), ""), color="cyan")

    # flows

    def state(self, data: Data, at: float) -> list[LogLine]:
        """The state file is written at every event; only a new step or a failure gets a line."""
        step, status = str(data.get("step", "")), str(data.get("status", ""))
        before, self._flow_at = self._flow_at, (step, status)
        if step == "done":
            return [LogLine(at, "", "", "every step is done", color="green")] if before[0] != step else []
        named = f"step {step}, {data.get('name', '')}"
        if status == "failed" and before != self._flow_at:
            return [LogLine(at, "", "", f"{named}, counts as failed", "it is not tried again by itself", "red")]
        return [LogLine(at, "", "", named, status.replace("_", " "))] if before[0] != step else []

    def implementing(self, data: Data, at: float) -> list[LogLine]:
        text = "its tasks, batch by batch, on a board of their own"
        return [LogLine(at, "", str(data.get("step", "")), "implementing", text)]

    # the run

    def resumed(self, data: Data, at: float) -> list[LogLine]:
        return [LogLine(at, "", "", self._resuming, color="bold")]

    def forked(self, data: Data, at: float) -> list[LogLine]:
        """The resumed run is a fork, not the run that was named."""
        step = int(data["step"]) + 1
        self._resuming = resume_banner(str(data["run"]), step, max(step, int(data.get("steps", 0))))
        branch = f", on branch {data['branch']}" if data.get("branch") else ""
        lines = [LogLine(at, "", "", f"run {data['run']} begins at a checkpoint of {data['from']}{branch}")]
        if data.get("saved"):
            kept = f"git show --stat {data['saved']}"
            lines.append(LogLine(at, "", "", f"what lay in the work tree is kept: {kept}"))
        return lines

    def notice(self, data: Data, at: float) -> list[LogLine]:
        return [LogLine(at, "", "", clip(str(data.get("text", "")), MAX_TEXT), color="yellow")]

    def stopping(self, data: Data, at: float) -> list[LogLine]:
        is_autopilot = "lane" in data or "idle" in data
        times, goes_on = int(data.get("times", 1)), "bmad autopilot" if is_autopilot else "bmad resume"
        if data.get("idle"):
            text = "no agent is at work; what waits for others stays as it is, and bmad autopilot goes on with it"
            return [LogLine(at, "", "", "leaving", text, "yellow")] if times == 1 else []
        if times > 1:
            return [LogLine(at, "", "", "stopping the agent too", "what it did is kept", "yellow")]
        text = f"an agent under way goes on, and {goes_on} picks it up; Ctrl-C again, now, ends it too"
        return [LogLine(at, "", "", "leaving", text, "yellow")]


_KINDS: dict[str, Callable[[RunLog, Data, float], list[LogLine]]] = {
    "story": RunLog.story_started,
    "step": RunLog.step,
    "call": RunLog.call,
    "ended": RunLog.ended,
    "resting": RunLog.resting,
    "row": RunLog.row,
    "row-set": RunLog.row_set,
    "accepted": RunLog.accepted,
    "epic": RunLog.epic,
    "edited": RunLog.edited,
    "gone": RunLog.gone,
    "aside": RunLog.aside,
    "restored": RunLog.restored,
    "check": RunLog.check,
    "round": RunLog.round,
    "commit": RunLog.commit,
    "asked": RunLog.asked,
    "answered": RunLog.answered,
    "state": RunLog.state,
    "implementing": RunLog.implementing,
    "resumed": RunLog.resumed,
    "forked": RunLog.forked,
    "notice": RunLog.notice,
    "stopping": RunLog.stopping,
}

_IN_ADVANCE = {"standing": "  (your standing answer)", "policy": "  (chosen in advance: nobody is here)"}


def spend_texts(data: Data) -> list[str]:
    """Time, tokens and cost of a call; unknown values are left out."""
    words = [elapsed(float(data.get("seconds") or 0.0))]
    if data.get("tokens"):
        words.append(pluralize(int(data["tokens"]), "token"))
    if data.get("dollars") is not None:
        words.append(money(float(data["dollars"])))
    return words
