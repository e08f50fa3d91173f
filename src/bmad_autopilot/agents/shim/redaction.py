"""Secrets are taken out of everything we write down: known values, known shapes, and what a name gives away.

The shim imports this too, so it and its neighbours use the standard library alone, and compile a pattern only
when a text first hints at it. Best effort by nature: a secret that nobody named and that looks like a word
goes through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .named_secrets import compiled, is_named_secret, is_secret_variable, named_spans, plausible
from .private_keys import MARK as KEY_MARK
from .private_keys import KeyLines, without_keys
from .secret_forms import MIN_SECRET, forms_of
from .secret_shapes import HINTED, NEAR, PREFIXED, RUN, Shape

MARK = "[redacted]"
MAX_SECRETS = 500
MAX_DEPTH = 200

_HINTS = tuple((hint, shape) for shape in HINTED for hint in shape[1])
_PREFIXES = tuple((prefix, shape) for shape in PREFIXED for prefix in shape[1])
_LONG = b"x" * RUN
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/="
_RUNS = bytes(ord("x") if byte in _LETTERS else ord(" ") for byte in range(256))
_USERINFO = r"://[^\s/?#@:]{0,256}:([^\s/?#@]{1,512})@"

_Todo = list[tuple[object, object, int]]


class Redactor:
    """`secrets`: values that must not appear in any form, beside whatever looks like a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret, _ in zip(secrets, range(MAX_SECRETS), strict=False) for form in forms_of(secret)}
        self._known = sorted(known, key=len, reverse=True)
        self._key = KeyLines()

    def text(self, text: str) -> str:
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, MARK)
        if len(text) < MIN_SECRET:
            return text
        text = without_keys(text)
        for shape in [*_prefixed(text), *[shape for hint, shape in _HINTS if hint in text]]:
            text = _without_shape(text, shape)
        return _without_named(text)

    def line(self, text: str) -> str:
        """One line of a stream: a private key that spans lines is followed from call to call."""
        return KEY_MARK if self._key.hides(text) else self.text(text)

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
        todo: _Todo = [([value], top, 0)]
        while todo:
            source, target, depth = todo.pop()
            if isinstance(source, dict) and isinstance(target, dict):
                for key, (name, item) in zip(source, _named_items(source), strict=True):
                    key = self.text(key) if isinstance(key, str) else key
                    target[key] = self._part(name, item, depth, todo)
            elif isinstance(source, list) and isinstance(target, list):
                lines = KeyLines()  # a key may stand in a list of lines, as in the patch of an edit
                for name, item in _named_words(source):
                    hidden = isinstance(item, str) and lines.hides(item)
                    target.append(KEY_MARK if hidden else self._part(name, item, depth, todo))
        return top[0]

    def _part(self, name: object, item: object, depth: int, todo: _Todo) -> object:
        if isinstance(item, str):
            return MARK if _gives_away(name, item) else self.text(item)
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
        parts: Iterable[tuple[object, object]] = ()
        if isinstance(item, dict):
            strings += [key for key in item if isinstance(key, str)]
            parts = _named_items(item)
        elif isinstance(item, list):
            parts = _named_words(item)
        for name, part in parts:
            if isinstance(part, str):
                if _gives_away(name, part):
                    return False
                strings.append(part)
            elif isinstance(part, dict | list):
                todo.append((part, depth + 1))
    return True


def _named_items(source: dict[object, object]) -> Iterable[tuple[object, object]]:
    """Each value with its key, or with the name beside it in `{"name": "API_KEY", "value": "…"}`."""
    if "value" in source:
        name = source.get("name", source.get("key"))
        return ((name if key == "value" else key, item) for key, item in source.items())
    return source.items()


def _named_words(source: list[object]) -> Iterable[tuple[object, object]]:
    """Each item with the option before it: `["--password", "…"]`."""
    before = (item if isinstance(item, str) and item.startswith("-") else None for item in source)
    return zip([None, *before], source, strict=False)


def _gives_away(name: object, value: str) -> bool:
    return isinstance(name, str) and is_named_secret(name) and plausible(name, value, quoted=True)


def _prefixed(text: str) -> list[Shape]:
    """The shapes whose prefix stands before or in a long run of letters. Without a pattern: every clean text
    comes through here."""
    data = text.encode("utf-8", "surrogatepass")
    runs = data.translate(_RUNS)
    near: list[bytes] = []
    start = runs.find(_LONG)
    while start >= 0:
        end = runs.find(b" ", start)
        near.append(data[max(0, start - NEAR) : end if end >= 0 else None])
        start = runs.find(_LONG, end) if end >= 0 else -1
    if not near:
        return []
    joined = b" ".join(near).decode("latin-1")  # looking into a text is faster than into bytes
    return list({id(shape): shape for prefix, shape in _PREFIXES if prefix in joined}.values())


def _without_shape(text: str, shape: Shape) -> str:
    label, _, pattern = shape

    def cut(match: re.Match[str]) -> str:
        start, end = match.span(1 if match.re.groups else 0)
        return f"{text[match.start() : start]}[redacted: {label}]{text[end : match.end()]}"

    return compiled(pattern).sub(cut, text)


def _without_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    for start, end in named_spans(text):
        parts += [text[at:start], MARK]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable of the environment holds a secret: by its name, or by what is in it."""
    if len(value) < MIN_SECRET:
        return False
    return is_secret_variable(name, value) or Redactor().text(value) != value


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """The values that must not be written down, the longest first. Of a URL it is the password alone: its
    host would be missed in every message."""
    found: set[str] = set()
    for name, value in environment.items():
        if looks_secret(name, value):
            found.update(compiled(_USERINFO).findall(value) or [value])
    return sorted((secret for secret in found if len(secret) >= MIN_SECRET), key=len, reverse=True)
