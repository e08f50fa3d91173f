"""Random boards with the irregularities of real files, in any combination."""

import random
from typing import NamedTuple

WORDS = [
    "backlog",
    "ready-for-dev",
    "in-progress",
    "review",
    "done",
    "drafted",
    "blocked",
    "In progress",
    "odd one",
]
SLUGS = ["sign-in", "Ünïcode-slug", "项目结构", "v1.2-notes", "a", "24-hour-digest", "close-epic-2-bugs"]
COMMENTS = ["# plain", "#tight", "# a: b", "# 'quote\"", "# → done ✅", "#"]


class GeneratedBoard(NamedTuple):
    raw: bytes
    cells: list[tuple[str, str | None]]  # the rows that a reader must find


def make_board(rng: random.Random, *, odd: float = 0.3) -> GeneratedBoard:
    """A valid board with up to a few dozen rows. `odd`: probability that a line is irregular."""
    end = rng.choice(["\n", "\n", "\n", "\r\n"])
    indent = " " * rng.choice([2, 2, 2, 4, 1])
    lines = [rng.choice(COMMENTS) for _ in range(rng.randrange(4))]
    lines += _fields(rng, odd)
    lines.append("development_status:" + _trail(rng, odd))
    cells: list[tuple[str, str | None]] = []
    for epic in range(1, rng.randrange(2, 5)):
        keys = [f"epic-{epic}", *(f"{epic}-{n}-{rng.choice(SLUGS)}" for n in range(1, rng.randrange(2, 6)))]
        for key in [*keys, f"epic-{epic}-retrospective"]:
            text, value = _value(rng, odd)
            space = " " * (rng.randrange(1, 12) if rng.random() < odd else 1)
            lines.append(f"{indent}{_key(rng, key, odd)}:{space + text if text else ''}" + _trail(rng, odd))
            cells.append((key, value))
        lines += [rng.choice(["", "  ", indent + rng.choice(COMMENTS)]) for _ in range(rng.randrange(3))]
    if rng.random() < odd:
        lines += [
            "action_items:",
            f"{indent}- epic: 1",
            f'{indent}  action: "tidy: up"',
            f"{indent}  status: open",
        ]
    text = end.join(lines) + (end if rng.random() < 0.8 else "")
    bom = b"\xef\xbb\xbf" if rng.random() < odd / 2 else b""
    return GeneratedBoard(bom + text.encode(), cells)


def _fields(rng: random.Random, odd: float) -> list[str]:
    fields = [
        "generated: 2026-01-15",
        "last_updated: " + rng.choice(["2026-01-15", "01-15-2026 09:00", "'2026-01-15 09:00'", "some day, late"]),
        "project: My Project, the second",
        'story_location: "{project-root}/docs"',
        "tracking_system: file-system",
    ]
    if rng.random() < odd / 2:
        fields += ["notes: >", "  folded: text", "  and more"]
    if rng.random() < odd / 2:
        fields += ["story_folder:", "  /home/somebody/else"]
    rng.shuffle(fields) if "notes: >" not in fields and "story_folder:" not in fields else None
    return [line for line in fields if line.startswith((" ", "notes", "story_folder")) or rng.random() < 0.7]


def _value(rng: random.Random, odd: float) -> tuple[str, str | None]:
    word = rng.choice(WORDS)
    if rng.random() >= odd:
        return word, word
    quoted = rng.choice([f'"{word}"', f"'{word}'", word, "null", "", "~", '"with \\"escape\\""', "{status: done}"])
    values = {"null": None, "": None, "~": None, '"with \\"escape\\""': 'with "escape"', "{status: done}": "done"}
    return quoted, values.get(quoted, word)


def _key(rng: random.Random, key: str, odd: float) -> str:
    return rng.choice([f'"{key}"', f"'{key}'", f"{key} "]) if rng.random() < odd / 3 else key


def _trail(rng: random.Random, odd: float) -> str:
    if rng.random() < odd:
        return " " * rng.randrange(1, 5) + rng.choice(["", *COMMENTS])
    return ""
