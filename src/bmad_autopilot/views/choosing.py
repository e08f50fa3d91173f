"""The Choose block: a decision with a letter for each option, and what we would choose."""

from collections.abc import Iterator

from ..runs.answering import letter_of
from ..runs.question import Question

RULE = "═" * 38


def choose_options(asked: Question) -> Iterator[str]:
    for index, (option, label) in enumerate(zip(asked.options, asked.labels, strict=False)):
        yield f"{letter_of(index)}) {label or option}"


def choose_lines(asked: Question) -> Iterator[str]:
    yield from (line for line in asked.context.expandtabs(4).split("\n") if line.strip())
    yield RULE
    yield f"DECISION REQUIRED: {asked.question}"
    yield RULE
    yield from choose_options(asked)
    yield RULE
    if asked.recommended in asked.options:
        letter = letter_of(asked.options.index(asked.recommended))
        yield f"Recommendation: {letter}" + (f" — {asked.because}" if asked.because else "")
        yield RULE
