"""Builders for GraphQL resolvers and nodes from the simulator's records."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bmad_autopilot.github.forge import ForgeActor
from tests.fake_github.graphql import Context, Node, Resolver


def format_time(at: float) -> str | None:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


def actor_node(actor: ForgeActor) -> Node:
    return Node("Bot" if actor.is_bot else "User", actor)


def attributes(*names: str) -> dict[str, Resolver]:
    """Resolvers for record attributes; `record_name=graphName` where the names differ."""

    def get(attribute: str) -> Resolver:
        return lambda context, record, arguments: getattr(record, attribute)

    pairs = (name.partition("=") for name in names)
    return {graph or own: get(own) for own, _, graph in pairs}


def computed(get: Callable[[Any], Any]) -> Resolver:
    return lambda context, record, arguments: get(record)


def timestamp(get: Callable[[Any], float]) -> Resolver:
    return lambda context, record, arguments: format_time(get(record))


def ref_node(context: Context, name: str) -> Node | None:
    return Node("Ref", name) if context.model.refs.head_of(name) else None


def commit_node(sha: str) -> Node:
    return Node("Commit", sha)
