"""Generates the mutants of a module: each has one change.

| of | made |
|---|---|
| a comparison | its bound moved (`<` and `<=`), or its opposite (`==`, `is`, `in`) |
| `and`, `or`, `not`, arithmetic | the other one; `not` and a minus are left out |
| a condition | its opposite |
| a number, a truth value, a text that is data | one more; the other one; a text that nothing equals |
| a call | without one keyword, without the last of several arguments |
| `return x` | `return None` |
| a call, a `raise`, a `del`, a change of an attribute or an entry | left out |
| `break`, `continue` | the other one |

Left alone: docstrings, texts with a blank in them and f-strings (words for people; a regular expression is data),
annotations, decorators, imports and assertions, which are there for the type checker."""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

MAX_SHOWN = 100

_OPPOSITE_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BOUNDS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OPPOSITE_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_UNTOUCHED = {"annotation", "returns", "decorator_list", "bases"}
_CLOSED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)
_BLOCKS = (ast.Module, ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)
_PATTERNS = {"compile", "_re", "search", "match", "fullmatch", "findall", "sub", "split"}


Trail = tuple[tuple[ast.AST, str, int | None], ...]  # parent, field, index where the field is a list


class NodePath(NamedTuple):
    """A node, given by the path to it from the module."""

    trail: Trail

    @property
    def node(self) -> ast.AST:
        parent, field, index = self.trail[-1]
        value = getattr(parent, field)
        node: ast.AST = value if index is None else value[index]
        return node

    def put(self, node: ast.AST) -> None:
        parent, field, index = self.trail[-1]
        if index is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[index] = node


class Mutant(NamedTuple):
    file: str
    inside: str  # the function or class, dotted; empty at the top of the module
    was: str  # the statement, or the part around the change that fits into a line
    now: str
    nth: int  # among mutants with the same text
    lines: range  # of its statement, or of a block's head
    spot: NodePath
    node: ast.AST

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies it, whatever else changes in its file."""
        return self.file, self.inside, self.was, f"{self.now} #{self.nth}" if self.nth > 1 else self.now

    @property
    def in_function(self) -> bool:
        return any(isinstance(parent, ast.FunctionDef) for parent, _, _ in self.spot.trail)

    def source(self) -> str:
        """The whole module with this one change."""
        with _Replaced(self.spot, self.node):
            return ast.unparse(ast.fix_missing_locations(self.spot.trail[0][0]))


class _Replaced:
    def __init__(self, spot: NodePath, node: ast.AST) -> None:
        self._spot, self._node, self._kept = spot, node, spot.node

    def __enter__(self) -> None:
        self._spot.put(self._node)

    def __exit__(self, *_: object) -> None:
        self._spot.put(self._kept)


def mutants_of(file: str, source: str, left_alone: Sequence[str] = ()) -> Iterator[Mutant]:
    """`left_alone`: name patterns of functions, classes and constants that are not mutated."""
    tree = ast.parse(source)
    seen: Counter[tuple[str, str, str]] = Counter()
    for spot in _spots(tree, (), left_alone):
        for node in _variants(spot):
            text = (_inside(spot), *_shown(spot, node))
            seen[text] += 1
            yield Mutant(file, *text, seen[text], _lines(spot), spot, node)


def _spots(node: ast.AST, trail: Trail, left_alone: Sequence[str]) -> Iterator[NodePath]:
    for field, value in ast.iter_fields(node):
        if field in _UNTOUCHED:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, _CLOSED) or _is_text(child):
                continue
            if any(fnmatchcase(_name(child), pattern) for pattern in left_alone):
                continue
            here = (*trail, (node, field, index))
            if isinstance(child, ast.expr | ast.stmt):
                yield NodePath(here)
            yield from _spots(child, here, left_alone)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return target.id if isinstance(target, ast.Name) else ""
    return ""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _inside(spot: NodePath) -> str:
    parents = (parent for parent, _, _ in spot.trail)
    return ".".join(parent.name for parent in parents if isinstance(parent, ast.FunctionDef | ast.ClassDef))


def _lines(spot: NodePath) -> range:
    nodes = [*(parent for parent, _, _ in spot.trail[1:]), spot.node]
    statement = next(node for node in reversed(nodes) if isinstance(node, ast.stmt))
    last = spot.node if isinstance(statement, _BLOCKS) else statement
    assert isinstance(last, ast.expr | ast.stmt)
    return range(statement.lineno, (last.end_lineno or last.lineno) + 1)


def _shown(spot: NodePath, node: ast.AST) -> tuple[str, str]:
    """The text around the change, before and after; independent of line numbers."""
    around = len(spot.trail)
    while around > 1 and not isinstance(spot.trail[around - 1][0], _BLOCKS):
        wider = spot.trail[around - 1][0]
        if isinstance(wider, ast.expr | ast.stmt) and len(ast.unparse(wider)) > MAX_SHOWN:
            break
        around -= 1
    outer = NodePath(spot.trail[:around])
    while not isinstance(outer.node, ast.expr | ast.stmt):
        around += 1
        outer = NodePath(spot.trail[:around])
    was = ast.unparse(outer.node)
    with _Replaced(spot, node):
        now = ast.unparse(ast.fix_missing_locations(outer.node))
    return _cut(was, now)


def _cut(was: str, now: str) -> tuple[str, str]:
    """The part where two long texts differ."""
    if len(was) <= 2 * MAX_SHOWN:
        return was, now
    same = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now)))
    start = max(0, same - MAX_SHOWN // 2)
    return was[start : start + MAX_SHOWN], now[start : start + MAX_SHOWN]


def _variants(spot: NodePath) -> Iterator[ast.AST]:
    node = spot.node
    parent, field, _ = spot.trail[-1]
    match node:
        case ast.Compare():
            for index, op in enumerate(node.ops):
                other = copy.copy(node)
                other.ops = [*node.ops[:index], _OPPOSITE_COMPARISONS[type(op)](), *node.ops[index + 1 :]]
                yield other
        case ast.BoolOp():
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield ast.BoolOp(other_op, node.values)
        case ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(op=ast.USub()):
            yield node.operand
        case ast.BinOp() if type(node.op) in _OPPOSITE_OPERATORS:
            yield ast.BinOp(node.left, _OPPOSITE_OPERATORS[type(node.op)](), node.right)
        case ast.Constant():
            yield from _constants(spot, node)
        case ast.Call():
            yield from _calls(node)
        case _:
            yield from _statements(node)
    if _is_condition(parent, field) and _needs_opposite(node):
        assert isinstance(node, ast.expr)
        yield ast.UnaryOp(ast.Not(), node)


def _constants(spot: NodePath, node: ast.Constant) -> Iterator[ast.Constant]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
    elif isinstance(value, bytes):
        yield ast.Constant(value + b"XX")
    elif isinstance(value, str) and _is_pattern(spot):
        yield ast.Constant(f"(?!)(?:{value})")  # which fits nothing
    elif isinstance(value, str) and " " not in value:
        yield ast.Constant(value + "XX")


def _is_pattern(spot: NodePath) -> bool:
    parent = spot.trail[-1][0]
    if not isinstance(parent, ast.Call):
        return False
    called = parent.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _PATTERNS


def _calls(node: ast.Call) -> Iterator[ast.Call]:
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield ast.Call(node.func, node.args, [one for one in node.keywords if one is not keyword])
    if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
        yield ast.Call(node.func, node.args[:-1], node.keywords)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr() | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.AugAssign() if type(node.op) in _OPPOSITE_OPERATORS:
            yield ast.AugAssign(node.target, _OPPOSITE_OPERATORS[type(node.op)](), node.value)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _is_condition(parent: ast.AST, field: str) -> bool:
    return field == "test" or (field == "ifs" and isinstance(parent, ast.comprehension))


def _needs_opposite(node: ast.AST) -> bool:
    """Whether no other mutant negates this condition already."""
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], _BOUNDS)
    return not isinstance(node, ast.BoolOp | ast.UnaryOp | ast.Constant)
