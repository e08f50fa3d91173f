"""Can a question be answered with a yes? Told by how it begins, in the languages projects are written in.

A wrong no costs a person a few words more; a wrong yes lets an `ok` pass where an agent needs to know which."""

import re

# A choice was offered: a yes chooses nothing. "Or not" is no choice.
_CHOICE = re.compile(
    r"\b(?:or(?!\s+(?:not|no)\b)|ou(?!\s+(?:non|pas|não)\b)|oder(?!\s+(?:nicht|nein)\b)|o(?!\s+no\b)"
    r"|или(?!\s+(?:не|нет)\b))\b|还是|還是|それとも",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\by\s*/\s*n\b|\byes\s*(?:/|or)\s*no\b|\boui\s*(?:/|ou)\s*non\b|\bja\s*(?:/|oder)\s*nein\b"
    r"|\bs[ií]\s*(?:/|o)\s*no\b|\bsim\s*(?:/|ou)\s*não\b|\bда\s*(?:/|или)\s*нет\b|是\s*/\s*否|はい\s*/\s*いいえ",
    re.IGNORECASE,
)
_BEGINNINGS = (
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
_WORDS = "|".join(re.escape(word) for words in _BEGINNINGS for word in words.split())
_BEGINS = re.compile(rf"(?:{_WORDS})\b", re.IGNORECASE)
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
# `Is there one, and where?` and `Can you say which …` begin like a yes-or-no question and are none.
_WHICH_TOO = re.compile(
    rf"(?:[,;]|\b(?:and|et|und|y|e|и)\b)\s*(?:if so,?\s*)?{_WHICH}|^(?:can|could|would|will) you\b.*\b{_WHICH}",
    re.IGNORECASE,
)
_WHICH_AT_ALL = re.compile(rf"\b{_WHICH}|什么|哪|怎么|为什么|多少|何|どの|どれ|どこ|いつ|誰|なぜ", re.IGNORECASE)


def is_yes_no(question: str) -> bool:
    if _SAID.search(question):
        return True
    asked = _last_sentence(question)
    if _CHOICE.search(asked):
        return False
    if _BEGINS.match(asked):
        return not _WHICH_TOO.search(asked)
    return bool(_PARTICLE.search(asked)) and not _WHICH_AT_ALL.search(asked)


def _last_sentence(question: str) -> str:
    """The last one that ends with a question mark, else the last one."""
    sentences = [part.strip() for part in re.findall(r"[^.!?。？！\n]+[.!?。？！]*", question) if part.strip()]
    asked = [sentence for sentence in sentences if sentence[-1] in "?？"] or sentences or [""]
    return _FILLER.sub("", asked[-1].lstrip("¿-*> \t\"'«("))
