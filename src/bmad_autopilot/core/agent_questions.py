"""Parses the question, its context and its options from the end of an agent's last message.

Fixed rules only; nothing is inferred that the text does not contain. The user sees the original text as well."""

import re
from itertools import pairwise
from typing import NamedTuple

MAX_TEXT = 4000  # characters parsed, from the end of the message
MAX_CONTEXT = 600
MAX_QUESTION = 600
MAX_LINES_AFTER = 3  # lines that may follow a list of options, such as `Reply with the number.`
MAX_OPTIONS = 12
MAX_ENDING = 80  # within which a `(y/n)` belongs to the question


class ParsedQuestion(NamedTuple):
    question: str
    context: str = ""
    options: tuple[str, ...] = ()


# `1. x`, `1) x`, `(1) x`, `[1] x`, `- [a] x`, `**A)** x`.
_ITEM = re.compile(
    r"\s{0,8}(?:[-*•]\s+)?(?:\*\*|__)?"
    r"(?:\[(?P<b>\d{1,2}|[A-Za-z])\]|\((?P<r>\d{1,2}|[A-Za-z])\)|(?P<p>\d{1,2}|[A-Za-z])[.)])"
    r"(?:\*\*|__)?[ \t]+(?P<text>\S.*)"
)
_INLINE = re.compile(r"[(\[](\d{1,2}|[A-Za-z])[)\]][ \t]*([^()\[\]?]{1,200})")
_MENU = re.compile(r"\[([A-Za-z])\][ \t]+([^\[\]\n]{1,200})")
_YES_NO = re.compile(r"[(\[]\s*(?:y(?:es)?)\s*/\s*(?:n(?:o)?)\s*[)\]]|\byes\s*/\s*no\b", re.IGNORECASE)
_CHOOSE = re.compile(r"\?|\b(?:choose|select|pick|reply|answer|which|option|prefer)\b", re.IGNORECASE)
_HALT = re.compile(r"\bHALT(?:ED|ING)?\b")
_JOIN = re.compile(r"[\s,;]*(?:\b(?:or|and|ou|oder)\b)?[\s,;:]*$", re.IGNORECASE)


def mentions_halt(text: str) -> bool:
    """Whether the end of the text contains HALT, BMAD's word for stopping to wait for the user."""
    return _HALT.search(text[-MAX_QUESTION:]) is not None


def ends_with_question(text: str) -> bool:
    """Whether the message ends by asking the user: a question mark, HALT, or a list of options."""
    ends = text.rstrip(" *_`\"')\n").endswith(("?", "？"))
    return ends or mentions_halt(text) or bool(parse_question(text).options)


def parse_question(text: str) -> ParsedQuestion:
    lines = text[-MAX_TEXT:].strip().split("\n")
    found = _parse_list(lines)
    if found is not None:
        start, end, options = found
        question, context = _split_question(lines[:start])
        after = "\n".join(line for line in lines[end:] if line.strip())
        return ParsedQuestion(f"{question}\n{after}".strip()[:MAX_QUESTION], context, options)
    question, context = _split_question(lines)
    return ParsedQuestion(
        question, context, _parse_inline(question) or _parse_menu(question, context) or _parse_yes_no(question)
    )


def _parse_list(lines: list[str]) -> tuple[int, int, tuple[str, ...]] | None:
    """The last list of options, if little follows it: its first line, the line after it, and its items."""
    items = [(number, match) for number, line in enumerate(lines) if (match := _ITEM.fullmatch(line))]
    block: list[tuple[int, re.Match[str]]] = []
    for number, match in items:
        follows = bool(block) and _label(match) == _next_label(_label(block[-1][1]))
        if _label(match) in ("1", "a"):
            block = [(number, match)]
        elif follows:
            block.append((number, match))
        else:
            block = []
    if not 2 <= len(block) <= MAX_OPTIONS:
        return None
    start, last = block[0][0], block[-1][0]
    end = last + 1
    between = [lines[at] for (one, _), (other, _) in pairwise(block) for at in range(one + 1, other)]
    after = [line for line in lines[end:] if line.strip()]
    introduced = " ".join((*[line for line in lines[:start] if line.strip()][-1:], *after))
    loose = any(line.strip() and not line.startswith((" ", "\t")) for line in between)
    if loose or len(after) > MAX_LINES_AFTER or not _CHOOSE.search(introduced):
        return None
    return start, end, tuple(_option(match) for _, match in block)


def _label(match: re.Match[str]) -> str:
    return (match["b"] or match["r"] or match["p"]).lower()


def _next_label(label: str) -> str:
    return str(int(label) + 1) if label.isdigit() else chr(ord(label) + 1)


def _option(match: re.Match[str]) -> str:
    text = match["text"].strip().strip("*_").strip()
    label = match["b"] or match["r"] or match["p"]
    return text if label.isdigit() else f"{label}) {text}"


def _split_question(lines: list[str]) -> tuple[str, str]:
    """The last paragraph (the question) and the text before it (the context)."""
    paragraphs = [part.strip() for part in "\n".join(lines).split("\n\n") if part.strip()]
    last = paragraphs[-1] if paragraphs else ""
    return last[-MAX_QUESTION:], "\n\n".join(paragraphs[:-1])[-MAX_CONTEXT:].strip()


def _parse_inline(question: str) -> tuple[str, ...]:
    """`(a) x or (b) y?`"""
    found = _INLINE.findall(question)
    labels = [label.lower() for label, _ in found]
    if not 2 <= len(found) <= MAX_OPTIONS or labels[0] not in ("1", "a") or "?" not in question:
        return ()
    if any(label != _next_label(before) for before, label in pairwise(labels)):
        return ()
    texts = [(label, _JOIN.sub("", text).strip(" .\n")) for label, text in found]
    if not all(text for _, text in texts):
        return ()
    return tuple(text if label.isdigit() else f"{label}) {text}" for label, text in texts)


def _parse_menu(question: str, context: str) -> tuple[str, ...]:
    """`Select: [A] Advanced Elicitation [P] Party Mode [C] Continue`, as BMAD's workflows print it: on one line or
    several, each letter an abbreviation. Repeated letters are ticked tasks (`[x]`), not a menu."""
    found = _MENU.findall(question)
    if not 2 <= len(found) <= MAX_OPTIONS or len({label.lower() for label, _ in found}) < len(found):
        return ()
    introduced = context.rpartition("\n")[2] + " " + question.partition("[")[0]
    if not _CHOOSE.search(introduced):
        return ()
    texts = [(label, text.rstrip(" \t-*•").strip(' *_"|/,;')) for label, text in found]
    return tuple(f"{label}) {text}" for label, text in texts) if all(text for _, text in texts) else ()


def _parse_yes_no(question: str) -> tuple[str, ...]:
    return ("yes", "no") if _YES_NO.search(question[-MAX_ENDING:]) else ()
