"""Finds sentences in a skill's files that stop, ask, wait or offer a menu. It prefers false positives: the
standing answers mark those that are no stops, with a reason."""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from bmad_autopilot.workflows.standing_answers import HaltRule
from bmad_autopilot.workflows.standing_answers.lookup import SKILL_ANSWERS, answers_for

MAX_SENTENCE = 2000
MAX_LINES = 20_000  # of one file; the longest, retrospective of 6.8, has 1,512

_WORDS = (
    r"halt\w*|ask(?:s|ed|ing)?|wait(?:s|ed|ing)?|await\w*|check-?points?|paus(?:e[sd]?|ing)|stops?|abort\w*",
    r"confirm\w*|approv\w+|permission|menus?|block(?:ed|ing)|escalat\w+|clarif\w+|elicit\w*|interactiv\w+",
    r"repl(?:y|ies)|respond\w*|choos\w+|choices?|invites?|solicit\w*|intervention|end (?:the|your) turn|quit|yolo",
    r"(?:user|human)(?:'s)? (?:input|decision|guidance|consent|call|must|needs? to|decides?|wants?|selects?)",
    r"(?:do not|don't|never|cannot|can't|before|until) (?:\w+ ){0,2}(?:proceed|continue|continuing|proceeding)",
    r"(?:prompt|offer|tell|discuss with|present (?:\w+ ){0,3}(?:to|with)) (?:to )?(?:the |\{)?(?:users?|human)\w*",
    r"offer (?:to|the|them|use|chunk\w*)|present (?:\w+ ){0,5}options|(?:follow-up|these) options",
    r"would you|do you|are you|shall (?:i|we)|should (?:i|we)|can you|could you|let me know|tell me|your call",
    r"request (?:user|guidance|help)|provide (?:specific|path|valid|an? |the )\w*|y/n|\[[a-wyz]\] \w+",
)
# `task` must not match `ask`, nor `non-blocking` `blocking`. A sentence that ends with a question mark may address
# the user.
_TRIGGER = re.compile(
    rf"(?<![\w-])(?:{'|'.join(_WORDS)})(?!\w)|<ask\b|\?[\s\"*_)]*+(?:</\w+>\s*+)?$", re.IGNORECASE
)

_HEADING = re.compile(r"\s*#{1,6}\s+(?P<title>.+)")
_STEP = re.compile(r"""\s*<(?:sub)?step\b[^<>]*?\b(?:goal|title)=["'](?P<title>[^"'>]*)""")
_CHECK = re.compile(r"<(?P<close>/?)(?:check|if)\b(?P<attributes>[^<>]*)>")
_STARTS = re.compile(r"\s*(?:[-*+•]\s|\d+[.)]\s|[|>#<]|```|\w+:\s*$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"*_)`]*\s+(?=[A-Z*`\"'({\[<\d•])")
_KEPT = re.compile(r"[^\w{}'?/%.-]+")
_WITH_HEADINGS = (".md", ".xml")


class Halt(NamedTuple):
    """One sentence at which a skill may stop."""

    file: str
    line: int  # the first of its paragraph
    where: str  # the section and the enclosing conditions
    sentence: str

    @property
    def id(self) -> str:
        """A hash of `where` and sentence: the same in every version with the same text."""
        return sha256(f"{normalise(self.where)} :: {normalise(self.sentence)}".encode()).hexdigest()[:12]

    @property
    def words(self) -> str:
        """The text that patterns are matched against: file, `where` and sentence in lower case, without markup."""
        return f"{self.file.casefold()} {normalise(self.where)} :: {normalise(self.sentence)}"


def find_halts(texts: Mapping[str, str]) -> list[Halt]:
    """Every stop in these files (name → text), once per file and id."""
    found: dict[tuple[str, str], Halt] = {}
    for file, text in texts.items():
        for line, where, sentence in _sentences(text, headings=file.endswith(_WITH_HEADINGS)):
            if _TRIGGER.search(sentence):
                halt = Halt(file, line, where, sentence[:MAX_SENTENCE])
                found.setdefault((file, halt.id), halt)
    return list(found.values())


def normalise(text: str) -> str:
    return _KEPT.sub(" ", text.casefold().replace("’", "'")).strip(" .")


def _sentences(text: str, *, headings: bool) -> Iterator[tuple[int, str, str]]:
    """(line, where, sentence) in order."""
    section, conditions = "", list[str]()
    for line, paragraph in _paragraphs(text.splitlines()[:MAX_LINES]):
        title = _STEP.match(paragraph) or (_HEADING.match(paragraph) if headings else None)
        if title:
            section, conditions = title["title"], []
        where = " / ".join([section, *conditions])
        for sentence in _SENTENCE_END.split(paragraph):
            if sentence.strip():
                yield line, where, sentence.strip()
        _nest(paragraph, conditions)


def _nest(paragraph: str, conditions: list[str]) -> None:
    """Track the open `<check if=…>` tags of BMAD's XML, which give a bare HALT its context."""
    for tag in _CHECK.finditer(paragraph):
        if not tag["close"]:
            conditions.append(tag["attributes"].strip())
        elif conditions:
            conditions.pop()


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Join wrapped lines; list items, tags, quotes and headings are separate paragraphs."""
    start, parts = 0, list[str]()
    for number, line in enumerate(lines, 1):
        if parts and (not line.strip() or _STARTS.match(line) or _HEADING.match(parts[0])):
            yield start, " ".join(parts)
            parts = []
        if line.strip():
            start = start if parts else number
            parts.append(line.strip())
    if parts:
        yield start, " ".join(parts)


def stop_of(halt: Halt, skill: str, version: str) -> HaltRule | None:
    """The first entry that matches this HALT and whose answer exists in this version. None: it is unmapped."""
    given = {"", *(answer.id for answer in answers_for(skill, version))}
    stops = SKILL_ANSWERS[skill].halt_rules if skill in SKILL_ANSWERS else ()
    return next((stop for stop in stops if stop.answer in given and re.search(stop.pattern, halt.words)), None)
