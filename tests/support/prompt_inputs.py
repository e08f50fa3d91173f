"""What a prompt is built from, for tests that change one part of it at a time."""

from typing import Any, NamedTuple

from bmad_autopilot.workflows.agent_call import AgentCall, CallId, PromptContext
from bmad_autopilot.workflows.workflow import Step


class PromptInput(NamedTuple):
    call: AgentCall
    context: PromptContext

    def having(self, **parts: Any) -> "PromptInput":
        """`parts`: fields of the call and of the context."""
        of_call = {name: parts.pop(name) for name in list(parts) if name in AgentCall._fields}
        return PromptInput(self.call._replace(**of_call), self.context._replace(**parts))


def prompt_input(step: Step, story: str, context: PromptContext, **parts: Any) -> PromptInput:
    return PromptInput(AgentCall(CallId(1, step.name, 1), story, step), context).having(**parts)
