"""How a person takes over from an agent: in its folder, in its own conversation."""

import shlex
from collections.abc import Mapping

from ..core.errors import AutopilotError
from ..core.folding import fold
from ..core.records import RunRecord, StepRecord, StoryRecord
from ..engine.lane import Lane, lane_from_json
from ..engine.own_place import at_its_place
from ..project.config import Config
from ..project.open import Project
from ..runs.journal import Journal

# How each client goes on with a conversation, by its id.
_RESUME: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "opencode": ("opencode", "-s"),
    "gemini": ("gemini", "--resume"),
    "copilot": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
}


def take_over(config: Config, lane: Lane, run: RunRecord, folder: str) -> tuple[str, ...]:
    """What to type: where to go, and there the client's own command, where its last call can be gone on with."""
    place = f"cd {shlex.quote(folder)}"
    last = _last_call(run)
    if last is None:
        return (place,)
    step, session, agent = last
    role = next((one.role for one in (*lane.workflow.steps, lane.workflow.fix) if one.name == step), "dev")
    if not agent and role in config.roles:  # a command step has no agent
        agent = config.agent_of(role)
    command = _RESUME.get(agent)
    return (f"{place} && {shlex.join((*command, session))}",) if command and session else (place,)


def take_over_from(project: Project, run: str) -> tuple[str, ...]:
    """The same of a run that lies there; its journal may be odd: where to go can always be said."""
    place = f"cd {shlex.quote(project.root.checkout)}"
    try:
        entries = Journal(run, lambda value: value).entries()
        record = fold((entry.kind, entry.data, entry.at) for entry in entries)
        lane = lane_from_json(record.head)
        return take_over(project.config, lane, record, at_its_place(project, lane).root.checkout)
    except (AutopilotError, LookupError, TypeError, ValueError):
        return (place,)


def _last_call(run: RunRecord) -> tuple[str, str, str] | None:
    """Its step, its conversation, who was called."""
    stories: list[StoryRecord] = [story for story in run.stories.values() if story.steps]
    steps: list[StepRecord] = [step for story in stories for step in story.steps if step.last]
    newest = max(steps, key=lambda step: step.number, default=None)
    last = newest.last if newest else None
    if newest is None or last is None or last.ended is None:
        return None
    return newest.step, str(last.ended.get("session") or ""), last.agent
