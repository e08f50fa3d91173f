"""Secrets are taken out of everything we write down: known values, known shapes, and what a name gives away.

The shim imports this too: standard library only. Patterns are compiled when a text first hints at them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .named_secrets import is_named_secret, named_spans, plausible
from .secret_shapes import SHAPES

MARK = "[redacted]"
MIN_SECRET = 6  # a shorter one would be found inside ordinary words, and corrupt everything
MIN_CORE = 8  # of a base64 form
MAX_SECRETS = 500
MAX_DEPTH = 200
MAX_BLOCK = 200  # lines; the largest private keys in use have about 100

_BEGIN = "-----BEGIN "
_END = "-----END "
_KEY_MARK = "[redacted: private key]"
_BEGIN_KEY = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END_KEY = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash)\b[^\n\\]{0,120}"
# What follows a BEGIN without an END, as it stands in a file, a JSON text or a listing with line numbers.
_KEY_BODY = rf"(?:\s|\\[nrt]|\d{{1,6}}(?:→|\t)|[A-Za-z0-9+/=]{{16,}}|{_HEADER})*+"
# One line of a key, after a line number, a `+` of a diff or a file's name.
_KEY_LINE = rf"(?:.{{0,200}}[\s:|→+-])?(?:[A-Za-z0-9+/=]{{16,}}|{_HEADER})\s*|\W*(?:\d+\W+)?[A-Za-z0-9+/=]{{0,80}}\s*"

_URL_PASSWORD = r"://[^\s/?#@:]{0,256}:([^\s/?#@]{1,512})@"

_patterns: dict[str, re.Pattern[str]] = {}
_HINTS = tuple((hint, number) for number, (_, hints, _) in enumerate(SHAPES) for hint in hints)


def _pattern(text: str) -> re.Pattern[str]:
    found = _patterns.get(text)
    if found is None:
        found = _patterns[text] = re.compile(text, re.ASCII)
    return found


class Redactor:
    """`secrets`: values that must not appear in any form, beside what looks like a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret, _ in zip(secrets, range(MAX_SECRETS), strict=False) for form in _forms(secret)}
        self._known = sorted(known, key=len, reverse=True)
        self._block = 0  # lines of a private key seen so far; 0: outside

    def text(self, text: str) -> str:
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, MARK)
        if len(text) < MIN_SECRET:
            return text
        if _BEGIN in text:
            text = _without_keys(text)
        hinted = dict.fromkeys([number for hint, number in _HINTS if hint in text])
        for number in hinted:
            text = _without_shape(text, number)
        return _without_named(text)

    def line(self, text: str) -> str:
        """One line of a stream. A private key that spans lines is followed from line to line."""
        if self._block and self._within_key(text):
            return _KEY_MARK
        starts = _BEGIN in text and _opens_key(text)
        clean = self.text(text)
        if starts:
            self._block = 1
            clean = clean.replace(_BEGIN, f"{_KEY_MARK} {_BEGIN}", 1) if _KEY_MARK not in clean else clean
        return clean

    def _within_key(self, text: str) -> bool:
        self._block += 1
        if _END in text and _pattern(_END_KEY).search(text):
            self._block = 0
            return True
        if self._block > MAX_BLOCK or not _pattern(_KEY_LINE).fullmatch(text[:4096]):
            self._block = 0
            return False
        return True

    def value(self, value: object) -> object:
        """A parsed JSON value without its secrets; the same one where it has none."""
        if isinstance(value, str):
            return self.text(value)
        strings: list[str] = []
        if _gather(value, strings):
            whole = "\n".join(strings)
            if self.text(whole) == whole:
                return value
        return self._rebuilt(value)

    def _rebuilt(self, value: object) -> object:
        top: list[object] = []
        todo: list[tuple[object, object, int]] = [([value], top, 0)]
        while todo:
            source, target, depth = todo.pop()
            if isinstance(source, dict) and isinstance(target, dict):
                for key, item in _without_named_items(source):
                    target[self.text(key) if isinstance(key, str) else key] = self._item(item, depth, todo)
            elif isinstance(source, list) and isinstance(target, list):
                lines = Redactor()  # a key may stand in a list of lines, as in the patch of an edit
                lines._known = self._known
                for item in _without_named_words(source):
                    plain = isinstance(item, str)
                    target.append(lines.line(item) if plain else self._item(item, depth, todo))
        return top[0]

    def _item(self, item: object, depth: int, todo: list[tuple[object, object, int]]) -> object:
        if isinstance(item, str):
            return self.text(item)
        if not isinstance(item, dict | list):
            return item
        if depth >= MAX_DEPTH:
            return MARK
        inner: object = {} if isinstance(item, dict) else []
        todo.append((item, inner, depth + 1))
        return inner


def _gather(value: object, strings: list[str]) -> bool:
    """All texts of a value. False: a name or the depth already says that it cannot stay as it is."""
    todo: list[tuple[object, int]] = [(value, 0)]
    while todo:
        item, depth = todo.pop()
        if depth > MAX_DEPTH:
            return False
        inner: Iterable[object] = ()
        if isinstance(item, dict):
            if any(old is not new for (_, new), old in zip(_without_named_items(item), item.values(), strict=True)):
                return False
            strings += [key for key in item if isinstance(key, str)]
            inner = item.values()
        elif isinstance(item, list):
            if any(old is not new for new, old in zip(_without_named_words(item), item, strict=True)):
                return False
            inner = item
        for part in inner:
            if isinstance(part, str):
                strings.append(part)
            elif isinstance(part, dict | list):
                todo.append((part, depth + 1))
    return True


def _without_named_items(source: dict[object, object]) -> Iterator[tuple[object, object]]:
    """`{"api_key": "…"}`, and `{"name": "API_KEY", "value": "…"}`."""
    name = source.get("name", source.get("key"))
    for key, item in source.items():
        if isinstance(item, str) and isinstance(key, str):
            by = name if key == "value" and isinstance(name, str) else key
            if is_named_secret(by) and plausible(by, item, quoted=True):
                item = MARK
        yield key, item


def _without_named_words(source: list[object]) -> Iterator[object]:
    """`["--password", "…"]`."""
    before: object = None
    for item in source:
        named = isinstance(before, str) and before.startswith("-") and is_named_secret(before.lstrip("-"))
        yield MARK if named and isinstance(item, str) and plausible(str(before), item, quoted=True) else item
        before = item


def _without_shape(text: str, number: int) -> str:
    label, _, pattern = SHAPES[number]

    def cut(match: re.Match[str]) -> str:
        start, end = match.span(1 if match.re.groups else 0)
        return f"{text[match.start() : start]}[redacted: {label}]{text[end : match.end()]}"

    return _pattern(pattern).sub(cut, text)


def _without_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    for start, end in named_spans(text):
        if start >= at:
            parts += [text[at:start], MARK]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _without_keys(text: str) -> str:
    parts: list[str] = []
    at = 0
    ends = [match.end() for match in _pattern(_END_KEY).finditer(text)]
    ends.reverse()
    for match in _pattern(_BEGIN_KEY).finditer(text):
        if match.start() < at:
            continue
        while ends and ends[-1] < match.end():
            ends.pop()
        body = _pattern(_KEY_BODY).match(text, match.end())
        end = ends[-1] if ends else body.end() if body else match.end()
        if end - match.end() >= 16:
            parts += [text[at : match.start()], _KEY_MARK]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _opens_key(text: str) -> bool:
    """A key starts on this line and does not end on it."""
    start = max((match.end() for match in _pattern(_BEGIN_KEY).finditer(text)), default=None)
    return start is not None and _pattern(_END_KEY).search(text, start) is None


def _forms(secret: str) -> set[str]:
    """The value, its lines, and how JSON, URLs and base64 write them."""
    from base64 import b64encode, urlsafe_b64encode
    from json import dumps
    from urllib.parse import quote, quote_plus

    forms: set[str] = set()
    lines = [line.strip() for line in secret.splitlines()]
    for value in {secret.strip(), *(line for line in lines if len(line) >= 16)}:
        if len(value) < MIN_SECRET:
            continue
        forms |= {value, dumps(value)[1:-1], dumps(value, ensure_ascii=False)[1:-1]}
        forms |= {dumps(dumps(value)[1:-1])[1:-1], quote(value, "", errors="replace"), quote_plus(value, errors="replace")}
        raw = value.encode("utf-8", "surrogateescape")
        for shift in range(3):  # it may stand anywhere in what was encoded: `user:secret`
            for encode in (b64encode, urlsafe_b64encode):
                core = encode(b"\0" * shift + raw).decode().rstrip("=")
                start = -(-shift * 8 // 6)
                kept = core[start : (shift + len(raw)) * 8 // 6]
                forms |= {kept} if len(kept) >= MIN_CORE else set()
    return forms


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable of the environment holds a secret."""
    if len(value) < MIN_SECRET:
        return False
    if is_named_secret(name) and plausible(name.upper(), value, quoted=False):
        return True
    return Redactor().text(value) != value


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """The values of an environment that must not be written down, and the passwords inside its URLs."""
    found: list[str] = []
    for name, value in environment.items():
        if looks_secret(name, value):
            inner = _pattern(_URL_PASSWORD).findall(value)
            found += inner or [value]
    return sorted({secret for secret in found if len(secret) >= MIN_SECRET}, key=len, reverse=True)
