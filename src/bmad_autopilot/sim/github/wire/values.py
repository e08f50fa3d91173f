"""How fields of the graph are taken from the simulator's records."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ....github.pulls import Actor
from .graph import Context, Node, Resolver


def stamp(at: float) -> str | None:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


def who(actor: Actor) -> Node:
    return Node("Bot" if actor.is_bot else "User", actor)


def plain(*names: str) -> dict[str, Resolver]:
    """Attributes of the record under the names of the graph, `record_name=graphName` where they differ."""

    def get(attribute: str) -> Resolver:
        return lambda context, record, arguments: getattr(record, attribute)

    pairs = (name.partition("=") for name in names)
    return {graph or own: get(own) for own, _, graph in pairs}


def of(get: Callable[[Any], Any]) -> Resolver:
    return lambda context, record, arguments: get(record)


def at(get: Callable[[Any], float]) -> Resolver:
    return lambda context, record, arguments: stamp(get(record))


def ref(context: Context, name: str) -> Node | None:
    return Node("Ref", name) if context.model.refs.head_of(name) else None


def commit_of(sha: str) -> Node:
    return Node("Commit", sha)
