"""Connections of GraphQL, page by page to their end."""

from collections.abc import Iterator, Mapping
from typing import Any

from .forge import ForgeError, Trouble
from .gh import Gh
from .gh_reading import Node, inner, next_page, nodes

MAX_PAGES = 50


class Pages:
    """`here`: the variables that name the repository."""

    def __init__(self, gh: Gh, here: Mapping[str, str]) -> None:
        self._gh = gh
        self._here = dict(here)

    def all(self, document: str, variables: Mapping[str, Any], *road: str) -> Iterator[Node]:
        """All of a connection that lies at the end of this road."""
        return self._read(document, variables, road, None)

    def rest(self, first: Any, document: str, variables: Mapping[str, Any], *road: str) -> Iterator[Node]:
        """All of a connection whose first page is here."""
        yield from nodes(first, road[-1])
        if after := next_page(first):
            yield from self._read(document, variables, road, after)

    def _read(
        self, document: str, variables: Mapping[str, Any], road: tuple[str, ...], after: str | None
    ) -> Iterator[Node]:
        named = dict(variables) if road[0] == "node" else self._here | dict(variables)
        for _ in range(MAX_PAGES):
            data = self._gh.graphql(document, named | {"after": after})
            connection = inner(data, *road)
            if connection is None and _has_no_checks(data, road):
                return
            yield from nodes(connection, road[-1])
            after = next_page(connection)
            if not after:
                return
        raise ForgeError(Trouble.ODD, f"{road[-1]}: more than {MAX_PAGES} pages", hint="look at it by hand")


def _has_no_checks(data: Node, road: tuple[str, ...]) -> bool:
    """A commit that nothing checks has no rollup. One that is not there yet may have one."""
    if road[-1] != "contexts":
        return False
    if inner(data, "repository", "object") is None:
        raise ForgeError(Trouble.AWAY, "GitHub does not know the head's commit yet")
    return True
