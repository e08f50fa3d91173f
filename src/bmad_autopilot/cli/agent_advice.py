"""What helps when an agent does not work here, by how its call ended."""

from ..agents.outcomes import Outcome
from ..agents.packages import PACKAGES
from ..project.traces import CONFIG_NAME

LOGIN = {
    "claude": "claude, then /login; or set ANTHROPIC_API_KEY",
    "codex": "codex login",
    "opencode": "opencode auth login",
    "gemini": "gemini, and choose how to log in; or set GEMINI_API_KEY",
    "copilot": "copilot, then /login",
    "cursor": "cursor-agent login",
}
_LOOK = "keep what it printed, and look: --keep"

_ADVICE = {
    Outcome.COMPLETED: "it ended well without doing what it was asked: {model}",
    Outcome.QUESTION: "it asked instead of working: {model}",
    Outcome.PERMISSION_DENIED: f"name what it needs in permissions.allow of {CONFIG_NAME}",
    Outcome.LIMIT: "wait, or choose another agent",
    Outcome.OVERLOADED: "the service is overloaded: try again in a few minutes",
    Outcome.AUTH: "{login}",
    Outcome.BILLING: "see to the account's billing: it has no credit, or the plan does not cover this",
    Outcome.BUDGET: "raise the budget in the client's own settings",
    Outcome.MAX_TURNS: "raise the number of turns in the client's own settings",
    Outcome.PROMPT_TOO_LONG: "the prompt is short: see what the client adds to it (memory files, tools)",
    Outcome.NETWORK: "see that this machine reaches the agent's service (HTTPS_PROXY, firewall), and try again",
    Outcome.STALLED: _LOOK,
    Outcome.TIMED_OUT: _LOOK,
    Outcome.CANCELLED: "run it again",
    Outcome.CRASHED: _LOOK,
    Outcome.LOST: "run it again: its supervisor was killed",
    Outcome.SKILL_MISSING: "bmad doctor",
    Outcome.MISCONFIGURED: "{install}; or {model}",
}


def advice(outcome: Outcome, name: str) -> str:
    text = _ADVICE[outcome]
    if name not in PACKAGES:
        return f"see [agents.{name}] in {CONFIG_NAME}" if "{" in text else text
    model = f"bmad agent test {name} --model MODEL"
    return text.format(login=LOGIN[name], install=PACKAGES[name].install, model=model)
