"""What a command says that its call has cost, in the form of Claude Code's result:
`{"total_cost_usd": 0.42, "usage": {"input_tokens": 1200, "output_tokens": 300}}`."""

from typing import Any

from .judging import count, mapping, number
from .outcomes import Spend, Tokens

DOLLARS, USAGE = "total_cost_usd", "usage"
MAX_DOLLARS = 1_000_000.0  # what is more is a mistake, and must not reach a cap
MAX_TOKENS = 1_000_000_000_000
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def told_spend(data: dict[str, Any]) -> Spend:
    """What is missing, or is no amount, is not told."""
    dollars, usage = number(data.get(DOLLARS)), mapping(data, USAGE)
    is_amount = dollars is not None and 0 <= dollars < MAX_DOLLARS
    return Spend(dollars if is_amount else None, Tokens(*(_tokens(usage.get(name)) for name in _COUNTS)))


def tells_only_spend(data: dict[str, Any]) -> bool:
    """Nothing that a person who follows the call would want to read."""
    return bool(data) and data.keys() <= {DOLLARS, USAGE}


def _tokens(value: object) -> int:
    found = count(value)
    return found if found < MAX_TOKENS else 0
