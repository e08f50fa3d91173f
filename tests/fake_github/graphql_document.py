"""Parses GraphQL documents, validates them against GitHub's schema if given, and computes their cost in points.

graphql-core is a development dependency: it is imported with the first document."""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from graphql import DirectiveNode, FieldNode, GraphQLSchema, OperationDefinitionNode, SelectionSetNode

MAX_NODES = 500_000
PER_PAGE = 100
_OF_CONNECTIONS = {"nodes", "edges", "pageInfo", "totalCount"}


class BadDocument(Exception):
    """GitHub would reject this document."""


class Document:
    def __init__(self, text: str, given: Mapping[str, Any]) -> None:
        from graphql import FragmentDefinitionNode, OperationDefinitionNode, parse

        self.text = text
        parsed = parse(text, no_location=True)
        operations = [one for one in parsed.definitions if isinstance(one, OperationDefinitionNode)]
        if len(operations) != 1:
            raise BadDocument("one operation in a document")
        self.operation = operations[0]
        self.fragments = {
            one.name.value: one for one in parsed.definitions if isinstance(one, FragmentDefinitionNode)
        }
        self.variables = {**_defaults(self.operation), **given}

    @property
    def name(self) -> str:
        return self.operation.name.value if self.operation.name else ""

    def arguments(self, node: "FieldNode | DirectiveNode") -> dict[str, Any]:
        from graphql import value_from_ast_untyped

        return {one.name.value: value_from_ast_untyped(one.value, self.variables) for one in node.arguments or ()}

    def fields(self, sets: "Iterable[SelectionSetNode]", kinds: set[str] | None) -> "dict[str, list[FieldNode]]":
        """Fields by response name, with fragments expanded. `kinds`: names of this type; None: any type."""
        from graphql import FieldNode

        found: dict[str, list[FieldNode]] = {}
        for selection in (one for each in sets for one in each.selections):
            if not self._is_wanted(selection.directives or ()):
                continue
            if isinstance(selection, FieldNode):
                name = selection.alias.value if selection.alias else selection.name.value
                found.setdefault(name, []).append(selection)
                continue
            inner, condition = self._fragment(selection)
            if kinds is None or not condition or condition in kinds:
                for name, nodes in self.fields([inner], kinds).items():
                    found.setdefault(name, []).extend(nodes)
        return found

    def _fragment(self, selection: object) -> "tuple[SelectionSetNode, str]":
        from graphql import FragmentSpreadNode, InlineFragmentNode

        if isinstance(selection, InlineFragmentNode):
            on = selection.type_condition
            return selection.selection_set, on.name.value if on else ""
        assert isinstance(selection, FragmentSpreadNode)
        known = self.fragments.get(selection.name.value)
        if known is None:
            raise BadDocument(f"Fragment {selection.name.value} was used, but not defined")
        return known.selection_set, known.type_condition.name.value

    def _is_wanted(self, directives: "Iterable[DirectiveNode]") -> bool:
        return all(self.arguments(one).get("if") is not (one.name.value == "skip") for one in directives)

    # points

    @cached_property
    def points(self) -> int:
        """GitHub's rule: requests divided by 100, at least 1."""
        return max(1, round(self._count([self.operation.selection_set], 1).requests / 100))

    def check_size(self) -> None:
        nodes = self._count([self.operation.selection_set], 1).nodes
        if nodes > MAX_NODES:
            raise BadDocument(f"requests up to {nodes:,} possible nodes, more than {MAX_NODES:,}")

    def _count(self, sets: "Iterable[SelectionSetNode]", times: int) -> "_Count":
        """The upper bound given by the arguments, independent of the data."""
        requests = nodes = 0
        for one in self.fields(sets, None).values():
            inner = [node.selection_set for node in one if node.selection_set]
            below = times
            arguments = self.arguments(one[0])
            if self._is_connection(arguments, inner):
                size = self._size(one[0].name.value, arguments, inner)
                requests, nodes, below = requests + times, nodes + times * size, times * max(1, size)
            elif "ids" in arguments:
                below = times * len(arguments["ids"])
            deeper = self._count(inner, below)
            requests, nodes = requests + deeper.requests, nodes + deeper.nodes
        return _Count(requests, nodes)

    def _is_connection(self, arguments: Mapping[str, Any], inner: "list[SelectionSetNode]") -> bool:
        return "first" in arguments or "last" in arguments or bool(self._names(inner) & _OF_CONNECTIONS)

    def _names(self, inner: "list[SelectionSetNode]") -> set[str]:
        return {node.name.value for nodes in self.fields(inner, None).values() for node in nodes}

    def _size(self, name: str, arguments: Mapping[str, Any], inner: "list[SelectionSetNode]") -> int:
        size = arguments.get("first") or arguments.get("last")
        if size is None:
            if self._names(inner) & {"nodes", "edges"}:
                raise BadDocument(
                    f"You must provide a `first` or `last` value to paginate the `{name}` connection."
                )
            return 0
        if not 0 < size <= PER_PAGE:
            raise BadDocument(f"Requesting {size} records on the `{name}` connection exceeds the limit of 100.")
        return int(size)


class _Count(NamedTuple):
    requests: int
    nodes: int


def _defaults(operation: "OperationDefinitionNode") -> dict[str, Any]:
    from graphql import value_from_ast_untyped

    return {
        one.variable.name.value: value_from_ast_untyped(one.default_value) if one.default_value else None
        for one in operation.variable_definitions or ()
    }


@lru_cache(maxsize=2)
def schema_at(path: Path) -> "Schema":
    """Cached for all servers, because parsing takes a second."""
    return Schema(path)


class Schema:
    """GitHub's published schema; validates every distinct document once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checked: set[str] = set()

    @cached_property
    def _schema(self) -> "GraphQLSchema":
        from graphql import build_ast_schema, parse

        text = self._path.read_text(encoding="utf-8")
        return build_ast_schema(parse(text, no_location=True), assume_valid=True, assume_valid_sdl=True)

    def check(self, text: str) -> None:
        if text in self._checked:
            return
        from graphql import parse, validate

        wrong = validate(self._schema, parse(text))
        if wrong:
            raise BadDocument("; ".join(one.message for one in wrong))
        self._checked.add(text)
