"""Codex: `codex exec --json`. Measured with 0.166.0."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .codex_record import with_record
from .codex_verdict import Heard
from .command_rules import own_rules
from .events import JSON, Event
from .judging import clip, count, listing, mapping, plain_lines, string
from .outcomes import Spend, Verdict
from .protocol import Call, Ending, Request
from .telling import MAX_LINE, failed, prose

PROGRAM = "codex"


@dataclass(frozen=True)
class Codex:
    name: str = "codex"
    program: str = PROGRAM
    variables: tuple[str, ...] = ("CODEX_HOME", "CODEX_API_KEY", "OPENAI_*", "AZURE_OPENAI_*")

    def call(self, request: Request) -> Call:
        """Codex names the conversation itself (`thread.started`), so `request.session` is not used. It has no
        limit on money either, and no list of allowed commands on its command line: its sandbox is the fence. That
        keeps `.git` read-only and the network away, so the orchestrator commits.

        The prompt goes in on stdin, where `$skill` expands too. A rule of the user's is a `-c KEY=VALUE` of its
        configuration, such as `sandbox_workspace_write.network_access=true`."""
        sandbox = "danger-full-access" if request.permissions.bypass else "workspace-write"
        argv = [PROGRAM, "exec", "--json", "-s", sandbox]
        if request.model:
            argv += ["-m", request.model]
        for rule in own_rules("Codex", request.permissions.rules):
            argv += ["-c", rule]
        if request.resume:
            argv += ["resume", request.resume]
        return Call((*argv, "-"), request.prompt)

    def recorded(self, events: Iterable[Event], since: float, environment: Mapping[str, str]) -> Iterable[Event]:
        return with_record(events, since, environment)

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        """`events` may end with those of Codex's own record (codex_record.py): only there does a failure have a
        kind. Without it every failed turn is a crash with a message."""
        return Heard.of(events).verdict(ending, before)

    def lines(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return plain_lines(event)
        data = event.data
        match data.get("type"):
            case "thread.started":
                return [f"Codex  thread {clip(data.get('thread_id'), 60)}"]
            case "item.started" | "item.completed":
                return _item(mapping(data, "item"), done=data["type"] == "item.completed")
            case "error":
                return [f"trouble: {clip(data.get('message'), MAX_LINE)}"]
            case "turn.failed":
                return [f"failed: {clip(mapping(data, 'error').get('message'), MAX_LINE)}"]
            case "turn.completed":
                usage = mapping(data, "usage")
                read, written = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
                return [f"completed: {read} tokens in, {written} out so far"]
        return []


CODEX = Codex()


def _item(item: dict[str, object], done: bool) -> list[str]:
    match item.get("type"):
        case "agent_message" if done:
            return prose(string(item.get("text")))
        case "command_execution":
            if not done:
                return [f"command  {clip(item.get('command'), MAX_LINE)}"]
            return [failed(f"exit code {item.get('exit_code')}")] if item.get("status") != "completed" else []
        case "file_change" if done:
            changes = [mapping(change) for change in listing(item.get("changes"))]
            return [f"{clip(one.get('kind'), 20)}  {clip(one.get('path'), MAX_LINE)}" for one in changes[:20]]
        case "mcp_tool_call" if not done:
            return [f"{clip(item.get('server'), 40)}  {clip(item.get('tool'), 60)}"]
        case "web_search" if done:
            return [f"search  {clip(item.get('query'), MAX_LINE)}"]
    return []  # items of type error are its remarks, such as on a model it does not know
