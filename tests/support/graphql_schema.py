"""Loads GitHub's GraphQL schema and computes a query's cost by the documented rule."""

from pathlib import Path

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    IntValueNode,
    NameNode,
    OperationDefinitionNode,
    build_ast_schema,
    get_named_type,
    parse,
)
from graphql.language import FragmentDefinitionNode, InlineFragmentNode, SelectionSetNode
from graphql.type import GraphQLInterfaceType, GraphQLNamedType

from tests.conftest import REPOSITORY

SHARED = REPOSITORY.parent / "shared" / "github" / "schema.docs.graphql"


def load(path: Path) -> GraphQLSchema:
    """Not validated, because npm's copy defines a field twice."""
    return build_ast_schema(parse(path.read_text(), no_location=True), assume_valid=True, assume_valid_sdl=True)


def points(schema: GraphQLSchema, text: str) -> int:
    """One request per connection, multiplied by the sizes of the enclosing ones; the sum divided by 100."""
    document = parse(text)
    operation = next(one for one in document.definitions if isinstance(one, OperationDefinitionNode))
    root = schema.get_root_type(operation.operation)
    assert root is not None
    return max(1, round(_requests(schema, document, operation.selection_set, root, 1) / 100))


def _requests(
    schema: GraphQLSchema, document: DocumentNode, chosen: SelectionSetNode, owner: GraphQLNamedType, times: int
) -> int:
    total = 0
    for part in chosen.selections:
        if isinstance(part, FragmentSpreadNode):
            fragment = _fragment(document, part.name)
            total += _requests(schema, document, fragment.selection_set, owner, times)
        elif isinstance(part, InlineFragmentNode):
            assert part.type_condition is not None
            kind = schema.type_map[part.type_condition.name.value]
            total += _requests(schema, document, part.selection_set, kind, times)
        elif isinstance(part, FieldNode) and part.selection_set and not part.name.value.startswith("__"):
            assert isinstance(owner, GraphQLObjectType | GraphQLInterfaceType)
            kind = get_named_type(owner.fields[part.name.value].type)
            is_connection = kind.name.endswith("Connection")
            total += times if is_connection else 0
            inside = times * _size(part) if is_connection else times
            total += _requests(schema, document, part.selection_set, kind, inside)
    return total


def _fragment(document: DocumentNode, name: NameNode) -> FragmentDefinitionNode:
    return next(
        one
        for one in document.definitions
        if isinstance(one, FragmentDefinitionNode) and one.name.value == name.value
    )


def _size(field: FieldNode) -> int:
    sizes = [int(one.value.value) for one in field.arguments or () if isinstance(one.value, IntValueNode)]
    return sizes[0] if sizes else 1
