"""The question record stored as a file in its run, and the rules that answers must satisfy."""

import re
from enum import StrEnum
from typing import Annotated, NamedTuple

from ..core.errors import FileError, Location
from ..core.json_types import Keywords, one_of
from ..core.stop_causes import StopKind
from ..core.text import clip, without_controls
from ..io.json_files import JsonObject, as_count, as_list, as_text, parse_timestamp, read_json_object, to_iso

MAX_TEXT = 20_000
MAX_OPTION = 500
MAX_OPTIONS = 20
CUT = " … [cut]"

_SENTENCES = re.compile(r"(?<=[.!?:]) ")


class QuestionSource(StrEnum):
    AGENT = "agent"
    AUTOPILOT = "us"


class AnswerSource(StrEnum):
    HUMAN = "human"
    STANDING = "standing"  # an answer given in advance
    POLICY = "policy"  # chosen by the settings when no user is present
    AUTOPILOT = "us"  # withdrawn: no answer is needed any more


_ANSWER_SOURCES = {by.value: by for by in AnswerSource}


QuestionId = Annotated[str, Keywords(pattern="^q[1-9][0-9]*$")]
QuestionSubject = Annotated[str, one_of(("story", "workflow")), "what `story` names"]


class RunQuestion(NamedTuple):
    story: str
    step: str
    attempt: int
    question: str
    context: str = ""
    options: tuple[str, ...] = ()
    recommended: str | None = None
    reason: str = ""  # one of core.block_reasons, or an agent's variant of one
    kind: StopKind = StopKind.QUESTION
    source: QuestionSource = QuestionSource.AUTOPILOT
    state_file: str = ""  # the agent-state file it was asked in; `state_id` is its id there
    state_id: str = ""
    turn: int = 0  # number of questions answered before: the same text asked later is a new question
    id: str = ""  # `q1`, `q2` … within the run; assigned by `ask_question`
    asked_at: float = 0.0
    answer: str | None = None
    answered_at: float = 0.0
    by: AnswerSource | None = None
    cause: str = ""  # a cause from core.stop_causes; "" in files of older runs
    about: str = "story"  # or a workflow: the kind of thing `story` names
    because: str = ""  # why `recommended` is recommended
    labels: tuple[str, ...] = ()  # one-line meaning of each option; options are then chosen by letter

    @property
    def key(self) -> tuple[str, str, int, str, int]:
        """Identifies the question after a crash between asking and recording it in the journal."""
        return self.story, self.step, self.attempt, self.question, self.turn

    @property
    def summary(self) -> str:
        """One line. For an agent's long message, the sentence that asks, which is rarely the first."""
        first, *more = self.question.strip().split("\n")
        words, mark, _ = " ".join(self.question.split()).rpartition("?")
        return _SENTENCES.split(words)[-1] + mark if more and mark else first


def sanitise_text(text: str, limit: int = MAX_TEXT) -> str:
    """Removes control characters, unifies line breaks, truncates with a note."""
    text = without_controls(text).strip()
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def clip_question(question: RunQuestion) -> RunQuestion:
    """Limits the length of all texts: an agent's texts can have any length."""
    listed = (sanitise_text(option, MAX_OPTION) for option in question.options)
    options = tuple({option.casefold(): option for option in listed if option}.values())[:MAX_OPTIONS]
    recommended = sanitise_text(question.recommended, MAX_OPTION) if question.recommended else None
    return question._replace(
        question=sanitise_text(question.question),
        context=sanitise_text(question.context),
        options=options,
        recommended=recommended or None,
        reason=sanitise_text(question.reason, MAX_OPTION),
        cause=sanitise_text(question.cause, MAX_OPTION),
        because=sanitise_text(question.because, MAX_OPTION),
        state_id=sanitise_text(question.state_id, MAX_OPTION),
        labels=tuple(sanitise_text(label, MAX_OPTION) for label in question.labels[: len(options)]),
    )


def question_to_json(question: RunQuestion) -> JsonObject:
    return {
        "version": 1,
        "id": question.id,
        **question._asdict(),
        "options": list(question.options),
        "labels": list(question.labels),
        "asked_at": to_iso(question.asked_at),
        "answered_at": to_iso(question.answered_at) if question.answer is not None else None,
    }


def read_question(path: str, id: str) -> RunQuestion | None:
    """None if there is no file. Raises FileError if it contains no question, e.g. after a manual edit."""
    data = read_json_object(path)
    if data is None:
        return None
    asked = RunQuestion(
        story=as_text(data.get("story")),
        step=as_text(data.get("step")),
        attempt=as_count(data.get("attempt")),
        question=as_text(data.get("question")),
        context=as_text(data.get("context")),
        options=tuple(map(as_text, as_list(data.get("options")))),
        recommended=as_text(data.get("recommended")) or None,
        reason=as_text(data.get("reason")),
        kind=StopKind.INTERVENTION if data.get("kind") == StopKind.INTERVENTION else StopKind.QUESTION,
        source=QuestionSource.AGENT if data.get("source") == QuestionSource.AGENT else QuestionSource.AUTOPILOT,
        state_file=as_text(data.get("state_file")),
        state_id=as_text(data.get("state_id")),
        turn=as_count(data.get("turn")),
        cause=as_text(data.get("cause")),
        because=as_text(data.get("because")),
        labels=tuple(map(as_text, as_list(data.get("labels")))),
        about=as_text(data.get("about")) or "story",
    )
    if not asked.question or not asked.story:
        problem = "asks nothing" if not asked.question else "names no story"
        raise FileError(problem, location=Location(path))
    answer = data.get("answer")
    return clip_question(asked)._replace(
        id=id,
        asked_at=parse_timestamp(data.get("asked_at")),
        answer=None if answer in (None, "") else as_text(answer),
        answered_at=parse_timestamp(data.get("answered_at")),
        by=_ANSWER_SOURCES.get(as_text(data.get("by")), AnswerSource.HUMAN) if answer not in (None, "") else None,
    )


# Yes/no detection, by how a question starts, in the languages projects are written in.
#
# A false negative costs the user a few more words; a false positive accepts `ok` where the agent asked which one.

# The question offers a choice, so "yes" is no answer. "Or not" is not a choice.
_CHOICE = re.compile(
    r"\b(?:or(?!\s+(?:not|no)\b)|ou(?!\s+(?:non|pas|não)\b)|oder(?!\s+(?:nicht|nein)\b)|o(?!\s+no\b)"
    r"|или(?!\s+(?:не|нет)\b))\b|还是|還是|それとも",
    re.IGNORECASE,
)
_YES_NO_OFFERED = re.compile(
    r"\by\s*/\s*n\b|\byes\s*(?:/|or)\s*no\b|\boui\s*(?:/|ou)\s*non\b|\bja\s*(?:/|oder)\s*nein\b"
    r"|\bs[ií]\s*(?:/|o)\s*no\b|\bsim\s*(?:/|ou)\s*não\b|\bда\s*(?:/|или)\s*нет\b|是\s*/\s*否|はい\s*/\s*いいえ",
    re.IGNORECASE,
)
_YES_NO_STARTERS = (
    "is are was were am do does did can could should shall may might will would has have had must isn't aren't "
    "don't doesn't can't couldn't shouldn't won't wouldn't haven't hasn't ok okay proceed continue confirm "
    "approve merge",
    "est-ce faut-il dois-je doit-on devons-nous peut-on puis-je peux-tu pouvez-vous pouvons-nous voulez-vous "
    "veux-tu souhaitez-vous souhaites-tu avez-vous as-tu êtes-vous es-tu continuer confirmez-vous confirmer "
    "valider",
    "soll sollen sollte sollten darf dürfen kann können ist sind hat haben wird werden möchten möchtest wollen "
    "willst muss müssen gibt stimmt bestätigen fortfahren weiter",
    "debo debemos debería puedo podemos puede quiere quieres está están hay se desea deseas existe confirmas "
    "confirmar continuar",
    "devo devemos posso pode quer deseja há confirma",
    "можно нужно должен должна должны стоит следует надо есть продолжить подтвердить подтверждаете",
)
_STARTER_PATTERN = "|".join(re.escape(word) for words in _YES_NO_STARTERS for word in words.split())
_STARTS_YES_NO = re.compile(rf"(?:{_STARTER_PATTERN})\b", re.IGNORECASE)
_FILLER = re.compile(
    r"^(?:so|and|but|then|now|please|just|alors|donc|also|bitte|pues|por favor|итак)\b[\s,:]*", re.IGNORECASE
)
_PARTICLE = re.compile(
    r"\bли\b|-t-(?:il|elle|on)\b|吗|嗎|是否|要不要|能否|可否|(?:です|ます|でしょう)か", re.IGNORECASE
)
_WHICH = (
    r"(?:what|which|who|whom|whose|where|when|why|how|quel\w*|comment|pourquoi|quand|où|combien|qui|wie|wo|wann|"
    r"warum|welch\w*|cuál\w*|cómo|dónde|cuándo|qual|quais|как\w*|где|когда|почему)\b"
)
# `Is there one, and where?` and `Can you say which …` start like yes/no questions but are not.
_ALSO_ASKS_WHICH = re.compile(
    rf"(?:[,;]|\b(?:and|et|und|y|e|и)\b)\s*(?:if so,?\s*)?{_WHICH}|^(?:can|could|would|will) you\b.*\b{_WHICH}",
    re.IGNORECASE,
)
_ASKS_WHICH = re.compile(rf"\b{_WHICH}|什么|哪|怎么|为什么|多少|何|どの|どれ|どこ|いつ|誰|なぜ", re.IGNORECASE)


def is_yes_no(question: str) -> bool:
    if _YES_NO_OFFERED.search(question):
        return True
    asked = _last_sentence(question)
    if _CHOICE.search(asked):
        return False
    if _STARTS_YES_NO.match(asked):
        return not _ALSO_ASKS_WHICH.search(asked)
    return bool(_PARTICLE.search(asked)) and not _ASKS_WHICH.search(asked)


def _last_sentence(question: str) -> str:
    """The last sentence with a question mark, else the last sentence."""
    sentences = [part.strip() for part in re.findall(r"[^.!?。？！\n]+[.!?。？！]*", question) if part.strip()]
    asked = [sentence for sentence in sentences if sentence[-1] in "?？"] or sentences or [""]
    return _FILLER.sub("", asked[-1].lstrip("¿-*> \t\"'«("))


# Rules for answers. They are fixed: no model judges a user's answer, and every rejection has a visible reason.

MAX_BYTES = 20_000

# Words that only mean yes, no or continue.
_BARE = frozenset(
    "ok okay okey k kk yes y yep yeah yup ya sure fine good great right agreed agree done go lgtm no n nope nah "
    "oui ouais non d'accord daccord vale ja jo jawohl nein genau gut si sí claro bueno sim não nao "
    "да ок окей хорошо ладно нет ага tak nie ano evet hayır ναι "
    "好 好的 是 是的 可以 行 对 嗯 不 不是 没问题 はい いいえ 了解 うん 네 예 응 아니요".split()
)
_BARE_PHRASES = frozenset(
    "go ahead,go on,yes please,no thanks,sounds good,of course,bien sûr,c'est bon,de acuerdo,+1".split(",")
)
_DECORATION = re.compile(r"[^\w'+ ]+")
_LABEL = re.compile(r"(?:\[(\w{1,2})\]|\((\w{1,2})\)|(\w{1,2})[).:](?=\s))\s*")


class _Option(NamedTuple):
    text: str
    label: str  # `r` of `[r]etry`, `a` of `A) Use REST`
    bare: str  # `retry`, `use rest`


def answer_problem(question: RunQuestion, answer: str) -> str | None:
    """Why the answer is rejected, as a message for the user; None if it is valid."""
    text = sanitise_text(answer, len(answer) + 1)
    if not text:
        return "an answer cannot be empty"
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return f"an answer can have {MAX_BYTES // 1000} kB at most; this one has {len(text.encode()) // 1000 + 1}"
    if question.options:
        return None if _option_by_letter(question, text) else _option_problem(question.options, text)
    if _is_bare(text) and not is_yes_no(question.question):
        return f"{text!r} alone does not say what is asked; say which, or what"
    return None


def normalise_answer(question: RunQuestion, answer: str) -> str:
    """A valid answer as recorded: the full option, or the text without control characters."""
    assert answer_problem(question, answer) is None, answer
    text = sanitise_text(answer, MAX_TEXT)
    if lettered := _option_by_letter(question, text):
        return lettered
    return _matching_options(question.options, text)[0] if question.options else text


def option_letter(index: int) -> str:
    """`A`, `B` … for an option with a label."""
    return chr(ord("A") + index)


def _option_by_letter(question: RunQuestion, answer: str) -> str:
    """The option for a letter, if options are shown with letters; else empty."""
    letters = (
        {option_letter(index): option for index, option in enumerate(question.options)} if question.labels else {}
    )
    return letters.get(answer.strip(" ).").upper(), "")


def _option_problem(options: tuple[str, ...], text: str) -> str | None:
    meant = _matching_options(options, text)
    if len(meant) == 1:
        return None
    if meant:
        return f"{text!r} may mean any of: {'; '.join(meant)}"
    return f"{clip(text, 60)!r} is none of the options: {'; '.join(options)}"


def match_option(options: tuple[str, ...], text: str) -> str | None:
    """The single option matching a word, letter or number."""
    meant = _matching_options(options, sanitise_text(text))
    return meant[0] if len(meant) == 1 else None


def can_be_numbered(options: tuple[str, ...]) -> bool:
    """Whether options may be chosen by number. Not if an option starts with a digit: `1` of `20, 10` is
    ambiguous."""
    return not any(one.bare[:1].isdigit() or one.label.isdigit() for one in map(_parse_option, options))


def _matching_options(texts: tuple[str, ...], answer: str) -> list[str]:
    """Options matching an answer: by full text, letter, number or prefix."""
    word = _folded(answer)
    options = [_parse_option(text) for text in texts]
    found = [one.text for one in options if word in (_folded(one.text), one.bare)]
    found = found or [one.text for one in options if one.label and word.strip("[]().:") == one.label]
    digits = word.removeprefix("#").rstrip(".)")
    if not found and re.fullmatch(r"[0-9]{1,2}", digits):
        is_one = can_be_numbered(texts) and 1 <= int(digits) <= len(texts)
        return [texts[int(digits) - 1]] if is_one else []
    begun = [one.text for one in options if one.bare.startswith(word) or _folded(one.text).startswith(word)]
    return found or (begun if word else [])


def _parse_option(text: str) -> _Option:
    match = _LABEL.match(text)
    if match is None:
        return _Option(text, "", _folded(text))
    label = next(part for part in match.groups() if part)
    rest = text[match.end() :]
    is_first_letter = match[1] and rest[:1].isalpha() and match.end() == match.end(1) + 1
    return _Option(text, label.casefold(), _folded(label + rest if is_first_letter else rest))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _is_bare(text: str) -> bool:
    """True for `OK.`, `ok 👍`, `+1` and `да!`, and for text without letters and digits."""
    words = " ".join(_DECORATION.sub(" ", text.replace("’", "'")).casefold().split())
    return not words or words in _BARE or words in _BARE_PHRASES
