"""A model that plays a whole run: one part for each agent call, checked and billed as it goes."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tests.real.claude_server import Refuse, Reply, Say, Server, Use
from tests.real.scripted import serving

MODEL = "claude-sonnet-4-5"
# Dollars for a token of this model: in, out, read from the cache, written to it.
PRICES = (3e-6, 15e-6, 0.3e-6, 3.75e-6)

Request = dict[str, Any]
Turn = Reply | Callable[[Request], Reply]  # what depends on the answer of a tool is made when it is asked for


class Part(NamedTuple):
    """What the model does in one call, and what that call must have been told."""

    told: tuple[str, ...]
    turns: tuple[Turn, ...]


class Bill(NamedTuple):
    tokens: int = 0
    dollars: float = 0.0

    def plus(self, reply: Reply) -> "Bill":
        if not isinstance(reply, Say | Use):
            return self
        counts = (*reply.tokens, *reply.cached)
        cost = sum(count * price for count, price in zip(counts, PRICES, strict=True))
        return Bill(self.tokens + sum(counts), self.dollars + cost)


class Model(Server):
    """Goes through its parts once. A request too many is refused, and seen by `is_played_out`."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__([Refuse(400, "invalid_request_error", "the script is over")])
        self.parts = parts
        self.bills = [Bill() for _ in parts]
        self.problems: list[str] = []
        self.turns = [(number, turn) for number, part in enumerate(parts) for turn in part.turns]

    def next_reply(self, body: Request) -> Reply:
        if not body.get("tools"):
            self.problems.append("a side question, which nobody plays")
        super().next_reply(body)
        at = len(self.requests) - 1
        if at >= len(self.turns):
            self.problems.append(f"request {at + 1} of {len(self.turns)}")
            return self.script[0]
        number, turn = self.turns[at]
        if at == 0 or self.turns[at - 1][0] != number:
            self._look(number, body)
        self.problems += [f"turn {at} went wrong: {said}" for failed, said in _results(body) if failed]
        reply = turn(body) if callable(turn) else turn
        self.bills[number] = self.bills[number].plus(reply)
        return reply

    def _look(self, number: int, body: Request) -> None:
        if any(message["role"] == "assistant" for message in body["messages"]):
            self.problems.append(f"part {number + 1} does not begin a conversation")
        said = texts(body)
        self.problems += [
            f"part {number + 1} was not told: {text[:80]}" for text in self.parts[number].told if text not in said
        ]

    @property
    def is_played_out(self) -> bool:
        return len(self.requests) == len(self.turns) and not self.problems


def playing(*parts: Part) -> AbstractContextManager[Model]:
    return serving(Model(parts))


def texts(body: Request) -> str:
    """All that the messages of a request say, as plain text."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            found.append(str(block.get("text") or json.dumps(block, ensure_ascii=False)))
    return "\n".join(found)


def last_result(body: Request) -> str:
    """What the tool of the turn before has answered."""
    return _results(body)[-1][1]


def _results(body: Request) -> list[tuple[bool, str]]:
    """Of the turn before: whether a tool failed, and what it said."""
    content = body["messages"][-1]["content"]
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]
    return [(bool(block.get("is_error")), json.dumps(block["content"], ensure_ascii=False)) for block in blocks]
