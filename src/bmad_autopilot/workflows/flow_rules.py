"""Conditions of a flow's file: what they may say, and whether they hold in a project's folder."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from ..project.placeholders import used
from ..project.settings_errors import suggest

MAX_CONDITION = 300
MAX_ONE_OF = 10

RECORDED = "recorded"
WORDS = (RECORDED, "sources", "ui", "bmad", "board")
ARTEFACTS = ("brainstorm", "research", "brief", "prd", "ux", "architecture", "epics", "readiness")
PLACES = ("output", "planning", "implementation", "knowledge")  # BMAD's folders, as `{output}`

_ARTEFACT = "artefact"
_WORD = re.compile(r"[a-z]+(?:[ -][a-z]+)*")  # a file of such a name at the top is written `./name`


class Seen(Protocol):
    """What a look at the project's folder has shown."""

    @property
    def sources(self) -> bool: ...
    @property
    def ui(self) -> bool: ...
    @property
    def bmad(self) -> bool: ...
    @property
    def board(self) -> bool: ...
    @property
    def artefacts(self) -> frozenset[str]: ...

    def has(self, glob: str) -> bool:
        """A file with content matches; for a glob that ends with `/`, one lies below that folder."""
        ...


class Term(NamedTuple):
    """One of the things a condition is made of."""

    value: str  # a glob, a word, or an artefact's name
    is_word: bool = False
    is_artefact: bool = False
    negated: bool = False


class Fault(NamedTuple):
    message: str
    found: str
    expected: str = ""
    hint: str | None = None


def fault_of(condition: str, *, recorded: bool = True) -> Fault | None:
    """What is wrong with it. `recorded`: whether it may ask what the state file says."""
    parts = [part.strip() for part in condition.split("|")]
    if len(condition) > MAX_CONDITION or len(parts) > MAX_ONE_OF:
        expected = f"at most {MAX_CONDITION} characters, and {MAX_ONE_OF} parts"
        return Fault("a condition is too long", f"{condition[:40]}…", expected)
    faults = (_fault_of_part(part, recorded) for part in parts)
    return next(filter(None, faults), None)


def _fault_of_part(part: str, recorded: bool) -> Fault | None:
    body = part.removeprefix("!").strip()
    if not body or body.startswith("!"):
        return Fault("a condition says nothing", part or "nothing", "a path, or one of: " + ", ".join(WORDS))
    if body == RECORDED and (part != body or not recorded):
        return Fault("`recorded` does not fit here", part, "what can be seen in the folder")
    if body.partition(" ")[0] == _ARTEFACT:
        name = body.removeprefix(_ARTEFACT).strip()
        hint = suggest(name, {one: one for one in ARTEFACTS})
        return None if name in ARTEFACTS else Fault("this is no artefact", body, ", ".join(ARTEFACTS), hint)
    if _WORD.fullmatch(body):
        hint = suggest(body, {one: one for one in WORDS}) or f"a file at the top is written ./{body}"
        return None if body in WORDS else Fault("a condition has an unknown word", body, ", ".join(WORDS), hint)
    return _fault_of_glob(body)


def _fault_of_glob(glob: str) -> Fault | None:
    unknown = next((name for name in used([glob]) if name not in PLACES), None)
    if unknown is not None:
        expected = ", ".join(f"{{{name}}}" for name in PLACES)
        return Fault("a condition has an unknown placeholder", f"{{{unknown}}}", expected)
    odd = any(char < " " or char in "\\\x7f" for char in glob)
    if odd or glob.startswith(("/", "~")) or ".." in glob.split("/") or not glob.strip("./*"):
        return Fault("a condition leads out of the project", glob, "a path from the project's top")
    return None


@lru_cache(maxsize=1024)
def terms_of(condition: str) -> tuple[Term, ...]:
    """None at all where something is wrong with it: such a condition never holds."""
    if fault_of(condition) is not None:
        return ()
    return tuple(_term(part.strip()) for part in condition.split("|"))


def _term(part: str) -> Term:
    body = part.removeprefix("!").strip()
    negated = body != part
    if body.partition(" ")[0] == _ARTEFACT:
        return Term(body.removeprefix(_ARTEFACT).strip(), is_artefact=True, negated=negated)
    return Term(body.removeprefix("./"), is_word=body in WORDS, negated=negated)


def holds(condition: str, seen: Seen, recorded: bool = False) -> bool:
    """`recorded`: what the state file says of the step."""
    return any(_is_so(term, seen, recorded) is not term.negated for term in terms_of(condition))


def _is_so(term: Term, seen: Seen, recorded: bool) -> bool:
    if term.is_artefact:
        return term.value in seen.artefacts
    if not term.is_word:
        return seen.has(term.value)
    return recorded if term.value == RECORDED else bool(getattr(seen, term.value))


def lacking(conditions: Iterable[str], seen: Seen, recorded: bool = False) -> tuple[str, ...]:
    """Those that do not hold."""
    return tuple(one for one in conditions if not holds(one, seen, recorded))


def asks_record(conditions: Iterable[str]) -> bool:
    """The folder alone cannot tell."""
    return any(term.is_word and term.value == RECORDED for one in conditions for term in terms_of(one))


def globs_of(conditions: Iterable[str]) -> Sequence[str]:
    """What is to be looked for in the folder."""
    terms = (term for one in conditions for term in terms_of(one))
    return list(dict.fromkeys(term.value for term in terms if not term.is_word and not term.is_artefact))
