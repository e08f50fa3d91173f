"""Every document that we send, against GitHub's own schema."""

import pytest
from graphql import GraphQLSchema, parse, validate

from bmad_autopilot.github import queries
from bmad_autopilot.github.queries import DOCUMENTS, PULL, watch_query
from tests.support.graphql_schema import SHARED, load, points

POINTS_AN_HOUR = 5000


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    if not SHARED.is_file():
        pytest.skip(f"no schema at {SHARED}; `make test-real` has npm's")
    return load(SHARED)


def test_no_document_is_left_out() -> None:
    named = {value for name, value in vars(queries).items() if name[0] != "_" and isinstance(value, str)}
    assert named == set(DOCUMENTS)


def test_every_document_is_valid_and_a_query_tells_its_cost(schema: GraphQLSchema) -> None:
    for document in (*DOCUMENTS, watch_query(1), watch_query(100)):
        assert validate(schema, parse(document)) == []
        assert document.lstrip().startswith("mutation") or "rateLimit { cost" in document


def test_a_hundred_watched_every_ten_seconds_leave_three_quarters(schema: GraphQLSchema) -> None:
    assert points(schema, watch_query(100)) * 360 <= 0.25 * POINTS_AN_HOUR
    assert points(schema, watch_query(30)) == 1
    assert points(schema, PULL) <= 2
