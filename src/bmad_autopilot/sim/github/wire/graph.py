"""GraphQL over the simulated GitHub: one walk over a table of fields. A field that is not in the table is a loud
error, never a null."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model import SimGitHub
from ..records import GitHubRefusal
from .allowance import Allowance
from .documents import Document

if TYPE_CHECKING:
    from graphql import SelectionSetNode


class Unmodelled(Exception):
    """The simulator does not know this field: say so, loudly."""


class Node(NamedTuple):
    kind: str
    value: Any = None


class Page(NamedTuple):
    """A connection: what is in it, and what it has beside nodes."""

    kind: str
    items: Sequence[Node]
    extra: Mapping[str, Any] = {}


class Context(NamedTuple):
    model: SimGitHub
    viewer: str
    document: Document
    allowance: Allowance


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
    walk = _Walk(context, table)
    root = Node("Mutation" if operation.operation.value == "mutation" else "Query")
    data = walk.object(root, [operation.selection_set], [])
    return {"data": data, **({"errors": walk.errors} if walk.errors else {})}


class _Walk:
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
                answer[key] = self._shown(value, inner, arguments, here)
            except GitHubRefusal as refusal:
                self.errors.append({"type": refusal.kind, "path": here, "message": refusal.message})
                answer[key] = None
        return answer

    def _resolver(self, kind: str, name: str) -> Resolver:
        try:
            return self._table[kind][name]
        except KeyError:
            raise Unmodelled(f"SIMULATOR: unmodelled {kind}.{name}") from None

    def _shown(
        self, value: Any, inner: "list[SelectionSetNode]", arguments: Mapping[str, Any], path: list[str | int]
    ) -> Any:
        if isinstance(value, Page):
            return self._page(value, inner, arguments, path)
        if isinstance(value, Node):
            return self.object(value, inner, path)
        if isinstance(value, list | tuple):
            return [self._shown(one, inner, arguments, [*path, i]) for i, one in enumerate(value)]
        return value

    def _page(
        self, page: Page, inner: "list[SelectionSetNode]", arguments: Mapping[str, Any], path: list[str | int]
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
                answer[key] = self._shown(page.extra[name], deeper, {}, [*path, key])
            else:
                raise Unmodelled(f"SIMULATOR: unmodelled {page.kind}.{name}")
        return answer


def _window(count: int, arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Cursors are the number of the first that is not yet shown, or, going backwards, that was."""
    low = int(arguments["after"]) if arguments.get("after") else 0
    high = int(arguments["before"]) if arguments.get("before") else count
    if arguments.get("first") is not None:
        high = min(high, low + arguments["first"])
    elif arguments.get("last") is not None:
        low = max(low, high - arguments["last"])
    return min(low, count), min(high, count)
