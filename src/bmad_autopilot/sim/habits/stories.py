"""A story as a scripted agent sees it: what its key says, and the code it asks for."""

import re
from typing import NamedTuple

PACKAGE = "src/ledger"
TESTS = "tests"

_PARTS = re.compile(r"([^-]+-[^-]+)-?(.*)", re.DOTALL)
_ODD = re.compile(r"\W+")


class Story(NamedTuple):
    key: str

    @property
    def prefix(self) -> str:
        """`1-2` of `1-2-list-accounts`."""
        match = _PARTS.fullmatch(self.key)
        return match[1] if match else self.key

    @property
    def number(self) -> str:
        return self.prefix.replace("-", ".")

    @property
    def slug(self) -> str:
        match = _PARTS.fullmatch(self.key)
        return (match[2] if match else "") or self.key

    @property
    def title(self) -> str:
        return self.slug.replace("-", " ").capitalize()

    @property
    def name(self) -> str:
        """Of its function, module and test."""
        name = _ODD.sub("_", self.slug).strip("_").lower()
        return name if name[:1].isalpha() else f"story_{name}"

    @property
    def code(self) -> str:
        return f"{PACKAGE}/{self.name}.py"

    @property
    def test(self) -> str:
        return f"{TESTS}/test_{self.name}.py"


def module(story: Story, points: int = 0, *, broken: bool = False) -> bytes:
    """`points`: how many remarks of reviewers it deals with."""
    guards = "".join(
        f"    if len(amounts) > {_most(point)}:\n        raise ValueError('more than {_most(point)} amounts')\n"
        for point in range(points, 0, -1)
    )
    wrong = " + 1" if broken else ""
    return (
        f'"""Story {story.number}: {story.title}."""\n\n\n'
        f"def {story.name}(amounts: list[int]) -> int:\n"
        f'    """Their sum, in cents."""\n{guards}    return sum(amounts){wrong}\n'
    ).encode()


def points_in(code: bytes | None) -> int:
    return code.count(b"raise ValueError") if code else 0


def suite(story: Story, points: int = 0) -> bytes:
    """The module's tests, one more for each remark."""
    cases = "".join(
        f"\n    def test_at_most_{_most(point)}(self) -> None:\n"
        f"        with self.assertRaises(ValueError):\n            {story.name}([1] * {_most(point) + 1})\n"
        for point in range(1, points + 1)
    )
    return (
        f'"""Story {story.number}: {story.title}."""\n\nimport unittest\n\n'
        f"from ledger.{story.name} import {story.name}\n\n\n"
        f"class {story.name.title().replace('_', '')}Test(unittest.TestCase):\n"
        f"    def test_adds_up(self) -> None:\n        self.assertEqual({story.name}([100, 250]), 350)\n\n"
        f"    def test_nothing(self) -> None:\n        self.assertEqual({story.name}([]), 0)\n{cases}"
    ).encode()


def _most(point: int) -> int:
    return 10_000 // point
