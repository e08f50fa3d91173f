"""Executes GraphQL documents against a table of resolvers. An unsupported field is an error, never null."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.records import GitHubRefusal
from tests.fake_github.graphql_document import Document
from tests.fake_github.rate_limit import RateLimit

if TYPE_CHECKING:
    from graphql import SelectionSetNode


class Unmodelled(Exception):
    """The document uses a field that the fake GitHub does not support."""


class Node(NamedTuple):
    kind: str
    value: Any = None


class Connection(NamedTuple):
    """A GraphQL connection: its nodes, and its fields other than nodes, pageInfo and totalCount."""

    kind: str
    items: Sequence[Node]
    extra: Mapping[str, Any] = {}


class Context(NamedTuple):
    model: SimGitHub
    viewer: str
    document: Document
    allowance: RateLimit


Resolver = Callable[[Context, Any, Mapping[str, Any]], Any]
Table = Mapping[str, Mapping[str, Resolver]]

_INTERFACES = {
    "User": {"Actor", "Node"},
    "Bot": {"Actor", "Node"},
    "Commit": {"GitObject", "Node"},
    "PullRequest": {"Node", "Comment", "Closable", "Assignable", "Labelable"},
    "PullRequestReview": {"Node", "Comment"},
    "PullRequestReviewThread": {"Node"},
    "IssueComment": {"Node", "Comment"},
}


def execute(context: Context, table: Table) -> dict[str, Any]:
    operation = context.document.operation
    walk = _Executor(context, table)
    root = Node("Mutation" if operation.operation.value == "mutation" else "Query")
    data = walk.object(root, [operation.selection_set], [])
    return {"data": data, **({"errors": walk.errors} if walk.errors else {})}


class _Executor:
    def __init__(self, context: Context, table: Table) -> None:
        self._context = context
        self._table = table
        self.errors: list[dict[str, Any]] = []

    def object(self, node: Node, sets: "Sequence[SelectionSetNode]", path: list[str | int]) -> dict[str, Any]:
        kinds = {node.kind, *_INTERFACES.get(node.kind, ())}
        answer: dict[str, Any] = {}
        for key, nodes in self._context.document.fields(sets, kinds).items():
            name = nodes[0].name.value
            inner = [one.selection_set for one in nodes if one.selection_set]
            here = [*path, key]
            if name == "__typename":
                answer[key] = node.kind
                continue
            arguments = self._context.document.arguments(nodes[0])
            try:
                value = self._resolver(node.kind, name)(self._context, node.value, arguments)
                answer[key] = self._render(value, inner, arguments, here)
            except GitHubRefusal as refusal:
                self.errors.append({"type": refusal.kind, "path": here, "message": refusal.message})
                answer[key] = None
        return answer

    def _resolver(self, kind: str, name: str) -> Resolver:
        try:
            return self._table[kind][name]
        except KeyError:
            raise Unmodelled(f"SIMULATOR: unmodelled {kind}.{name}") from None

    def _render(
        self, value: Any, inner: "list[SelectionSetNode]", arguments: Mapping[str, Any], path: list[str | int]
    ) -> Any:
        if isinstance(value, Connection):
            return self._connection(value, inner, arguments, path)
        if isinstance(value, Node):
            return self.object(value, inner, path)
        if isinstance(value, list | tuple):
            return [self._render(one, inner, arguments, [*path, i]) for i, one in enumerate(value)]
        return value

    def _connection(
        self,
        page: Connection,
        inner: "list[SelectionSetNode]",
        arguments: Mapping[str, Any],
        path: list[str | int],
    ) -> dict[str, Any]:
        start, end = _window(len(page.items), arguments)
        answer: dict[str, Any] = {}
        for key, nodes in self._context.document.fields(inner, {page.kind}).items():
            name = nodes[0].name.value
            deeper = [one.selection_set for one in nodes if one.selection_set]
            if name == "nodes":
                shown = page.items[start:end]
                answer[key] = [self.object(one, deeper, [*path, key, i]) for i, one in enumerate(shown)]
            elif name == "pageInfo":
                answer[key] = self.object(Node("PageInfo", (start, end, len(page.items))), deeper, [*path, key])
            elif name == "totalCount":
                answer[key] = len(page.items)
            elif name in page.extra:
                answer[key] = self._render(page.extra[name], deeper, {}, [*path, key])
            else:
                raise Unmodelled(f"SIMULATOR: unmodelled {page.kind}.{name}")
        return answer


def _window(count: int, arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Cursors are indexes: the first item of the next page or, going backwards, of this one."""
    low = int(arguments["after"]) if arguments.get("after") else 0
    high = int(arguments["before"]) if arguments.get("before") else count
    if arguments.get("first") is not None:
        high = min(high, low + arguments["first"])
    elif arguments.get("last") is not None:
        low = max(low, high - arguments["last"])
    return min(low, count), min(high, count)
