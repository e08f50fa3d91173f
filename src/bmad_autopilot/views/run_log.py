"""A run as a log: a line for each thing that matters, from the entries of its journal as they are written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..engine.delivery.rounds import is_round
from ..engine.judging import STOPPED
from .delivery_log import delivery_lines
from .figures import counted, money, took, until
from .log_lines import LogLine
from .run_questions import asked_in, question_lines
from .words import FINDINGS, clip, failing, first_line, resuming, said_of

Data = Mapping[str, Any]
Place = tuple[str, int, int]  # a run, the step it stands at, of how many

ANYWHERE: Place = ("", 0, 0)


class RunLog:
    """`agents`: who does which role. `at`: which run is gone on with, and where it stands. `shows_questions`:
    not where a person is asked at this very terminal."""

    def __init__(
        self, agents: Mapping[str, str], *, at: Place = ANYWHERE, language: str = "", shows_questions: bool = True
    ) -> None:
        self._agents = agents
        self._language = language
        self._resuming = resuming(language, *at)
        self._shows_questions = shows_questions
        self._rows: dict[str, tuple[str, str]] = {}
        self._status: dict[str, str] = {}
        self._epic = ""
        self._steps: dict[int, str] = {}
        self._sent_back: dict[str, str] = {}  # why, until the first step of the new round is taken
        self._causes: dict[int, str] = {}  # of steps that are not simply the next
        self._failing = ""
        self._written: set[tuple[str, str]] = set()  # commands, and the tracked files that they have changed
        self._story = ""
        self._flow_at = ("", "")  # a flow's step, and how it stands

    def another(self) -> "RunLog":
        """For another run, told in the same way."""
        return RunLog(self._agents, language=self._language, shows_questions=self._shows_questions)

    def lines(self, kind: str, data: Data, at: float) -> list[LogLine]:
        whose = data.get("lane") if kind == "delivering" else data.get("story")
        self._story = str(whose or self._story)
        tell = _KINDS.get(kind)
        return tell(self, data, at) if tell else delivery_lines(kind, data, at) or []

    def _one(self, data: Data, at: float, step: str, word: str, text: str = "", color: str = "") -> list[LogLine]:
        story = str(data.get("story") or data.get("key") or self._story)
        return [LogLine(at, story, step, word, text, color)]

    # agents

    def begun(self, data: Data, at: float) -> list[LogLine]:
        self._status[self._story] = str(data.get("status", ""))
        if is_round(self._story):  # told as that
            return []
        return self._one(data, at, "", "begun", f"({data.get('status') or 'no status'})")

    def step(self, data: Data, at: float) -> list[LogLine]:
        """Told once it is called."""
        sent_back = self._sent_back.pop(self._story, "")
        cause = "after checks failed" if data.get("cause") == "checks" else sent_back
        if cause:
            self._causes[int(data["number"])] = cause
        return []

    def call(self, data: Data, at: float) -> list[LogLine]:
        step, role, number = str(data["step"]), str(data.get("role", "")), int(data["number"])
        self._steps[number] = step
        agent = data.get("agent") or self._agents.get(role, role)
        words = (str(agent), f"attempt {data['attempt']}", self._causes.get(number, ""))
        return self._one(data, at, step, "started", f"({', '.join(filter(None, words))})")

    def ended(self, data: Data, at: float) -> list[LogLine]:
        finding = str(data.get("finding", ""))
        words, color = FINDINGS.get(finding, (finding, "red"))
        said = said_of(data, finding)
        if finding == "good" and data.get("summary"):
            words = "approved"
        elif finding == "refused" and data.get("message") == STOPPED:
            words, said = "ended with the run", ""
        text = " · ".join(spent(data)) + (f": {said}" if said else "")
        lines = self._one(data, at, str(data["step"]), words, text, color)
        taken_out = ", ".join(map(str, data.get("taken_out") or ()))
        if taken_out:
            word, text = "committed files of yours", f"taken out of its commits again: {taken_out}"
            lines += self._one(data, at, str(data["step"]), word, text, "yellow")
        return lines + self._put_back(data, at, str(data["step"]), data.get("put_back"))

    def _put_back(
        self, data: Data, at: float, step: str, moved: Iterable[Sequence[object]] | None
    ) -> list[LogLine]:
        rows = ", ".join(str(row[0]) for row in moved or ())
        return (
            self._one(data, at, step, "moved rows of other epics", f"put back: {rows}", "yellow") if rows else []
        )

    def resting(self, data: Data, at: float) -> list[LogLine]:
        end = data.get("until")
        why = "usage limit" if data.get("why") == "limit" else "a pause after a fault that passes"
        when = f"until {until(end, at)}" if end else "a while"
        lacks = str(data.get("lacks") or "")
        return self._one(data, at, "", f"waits {when}", f"({why}{f'; {lacks}' if lacks else ''})", "yellow")

    # the board

    def row(self, data: Data, at: float) -> list[LogLine]:
        """Told once it is set: somebody may have been faster."""
        self._rows[str(data["key"])] = str(data["before"]), str(data["after"])
        return []

    def row_set(self, data: Data, at: float) -> list[LogLine]:
        key = str(data["key"])
        if key not in self._rows:
            return []
        before, self._status[key] = self._rows.pop(key)
        return self._one(data, at, "", f"{before or '(empty)'} → {self._status[key]}")

    def accepted(self, data: Data, at: float) -> list[LogLine]:
        """The row says what it should; where the agent has set it, this is the first we hear of it."""
        key, row = str(data["story"]), str(data.get("row") or "")
        before = self._status.get(key, row)
        self._status[key] = row or before
        return self._one(data, at, "", f"{before or '(empty)'} → {row}") if row and row != before else []

    def epic(self, data: Data, at: float) -> list[LogLine]:
        self._epic = str(data["key"])
        return self._one(data, at, "", f"{data['before']} → {data['after']}")

    def edited(self, data: Data, at: float) -> list[LogLine]:
        change = f"{data.get('before')} → {data.get('status')}"
        self._status[str(data["story"])] = str(data.get("status", ""))
        return self._one(data, at, "", change, "by somebody else, and that stands", "yellow")

    def gone(self, data: Data, at: float) -> list[LogLine]:
        kept = f"the work is kept: git show --stat {data.get('kept')}"
        return self._one(data, at, "", "has left the board", kept, "yellow")

    def aside(self, data: Data, at: float) -> list[LogLine]:
        return self._one(
            data, at, "", "set aside", f"the work is kept: git show --stat {data.get('kept')}", "yellow"
        )

    def restored(self, data: Data, at: float) -> list[LogLine]:
        why = first_line(str(data.get("why", "")))
        text = f"it could not be read after the call ({why}); what stood there: {data.get('kept')}"
        return self._one(data, at, "", "board put back", text, "yellow")

    # evidence

    def check(self, data: Data, at: float) -> list[LogLine]:
        self._failing = failing(data)
        lines = [self._command(data, at, *command) for command in data.get("ran") or ()]
        if not lines and not data.get("passed"):
            lines = self._one(data, at, "checks", "failed", first_line(str(data.get("excerpt", ""))), "red")
        lines += self._wrote(data, at)
        if data.get("environment"):
            lines += self._one(data, at, "checks", "cannot run here", "no change to the code helps", "red")
        return lines + self._put_back(data, at, "checks", data.get("put_back_rows"))

    def _wrote(self, data: Data, at: float) -> list[LogLine]:
        """The tracked files that a check has changed, told once."""
        left = "put back" if data.get("put_back") else "left as they are"
        found: dict[str, list[str]] = {}
        for command, path in data.get("wrote") or ():
            if (command, path) not in self._written:
                self._written.add((command, path))
                found.setdefault(str(command), []).append(str(path))
        return [
            self._one(data, at, "checks", "wrote", f"{clip(', '.join(paths))} by {clip(one)}; {left}", "yellow")[0]
            for one, paths in found.items()
        ]

    def _command(self, data: Data, at: float, command: object, exit: object, seconds: float) -> LogLine:
        word, color = ("passed", "green") if exit == 0 else ("failed", "red")
        how = f", exit code {exit}" if exit else ", did not end" if exit is None else ""
        text = f"{clip(str(command))}  ({took(seconds)}{how})"
        return self._one(data, at, "checks", word, text, color)[0]

    def round(self, data: Data, at: float) -> list[LogLine]:
        by_checks = data.get("why") == "checks"
        self._sent_back[self._story] = "after checks failed" if by_checks else "after changes requested"
        why = "the checks fail" if by_checks else "the review asks for changes"
        return self.accepted(data, at) + self._one(data, at, "", f"round {data['round']}", why, "yellow")

    def commit(self, data: Data, at: float) -> list[LogLine]:
        story = str(data.get("story") or self._epic)
        return [LogLine(at, story, "commit", str(data["sha"])[:7], str(data.get("subject", "")))]

    # people

    def asked(self, data: Data, at: float) -> list[LogLine]:
        step = self._steps.get(data.get("number") or 0, "")
        about = self._failing if data.get("code") in ("checks", "environment") else ""
        line = self._one(data, at, step, "asks", about, "yellow")[0]
        block = question_lines(asked_in(data, step)) if self._shows_questions else ()
        return [line._replace(block=tuple(block))]

    def answered(self, data: Data, at: float) -> list[LogLine]:
        said = clip(" ".join(str(data.get("answer", "")).split()))
        return self._one(data, at, "answer", said + _IN_ADVANCE.get(str(data.get("by", "")), ""), color="cyan")

    # flows

    def state(self, data: Data, at: float) -> list[LogLine]:
        """Its state file is written at each event; a line is worth another step, or one that has failed."""
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
        """The run that is gone on with now is another than the one that was named."""
        step = int(data["step"]) + 1
        self._resuming = resuming(self._language, str(data["run"]), step, max(step, int(data.get("steps", 0))))
        branch = f", on branch {data['branch']}" if data.get("branch") else ""
        lines = [LogLine(at, "", "", f"run {data['run']} begins at a checkpoint of {data['from']}{branch}")]
        if data.get("saved"):
            kept = f"git show --stat {data['saved']}"
            lines.append(LogLine(at, "", "", f"what lay in the work tree is kept: {kept}"))
        return lines

    def notice(self, data: Data, at: float) -> list[LogLine]:
        return [LogLine(at, "", "", clip(str(data.get("text", ""))), color="yellow")]

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
    "story": RunLog.begun,
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


def spent(data: Data) -> list[str]:
    """Time, tokens and money of a call; what nobody said is left out."""
    words = [took(float(data.get("seconds") or 0.0))]
    if data.get("tokens"):
        words.append(counted(int(data["tokens"]), "token"))
    if data.get("dollars") is not None:
        words.append(money(float(data["dollars"])))
    return words
