"""Secrets are taken out of everything we write down: known values, known shapes, and what a name gives away.

The shim imports this too, so it and its neighbours use the standard library alone, and compile a pattern only
when a text first hints at it. Best effort by nature: a secret that nobody named and that looks like a word
goes through."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from posixpath import commonprefix  # of texts, letter by letter

from .named_secrets import compiled, is_named_secret, is_secret_variable, named_spans, plausible
from .private_keys import MARK as KEY_MARK
from .private_keys import KeyLines, after_key_end, last_key, without_keys
from .secret_forms import MIN_SECRET, forms_of
from .secret_shapes import HINTED, NEAR, PREFIXED, RUN, Shape

MARK = "[redacted]"
MAX_SECRETS = 500
MAX_DEPTH = 200
MAX_PENDING = 64 * 1024  # bytes of a stream that are held back until it is seen what follows them
MAX_CUTS = 16  # places that are tried
CUT = 4096  # bytes: no secret is longer, but for private keys, which are followed line by line

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

    @property
    def follows_key(self) -> bool:
        """The next line may be part of a private key."""
        return self._key.is_open

    def lines(self, text: str) -> str:
        """Whole lines of a stream, many at once: a private key is followed from call to call."""
        hidden: list[str] = []
        while self.follows_key and text:
            line, end, rest = text.partition("\n")
            if not self._key.hides(line):
                break
            hidden += [KEY_MARK, end]
            text = rest
        if text:
            self._key = KeyLines()
            for line in last_key(text).removesuffix("\n").split("\n"):
                self._key.hides(line)
        return "".join([*hidden, self.text(text)])

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


class RedactedStream:
    """A program's output, without its secrets. It is handed in as it is read, in parts that may begin and end
    anywhere. It comes out some kilobytes later, so that no secret is missed because a part ended within it."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._redactor = Redactor(secrets)
        self._pending = bytearray()

    def add(self, data: bytes) -> bytes:
        """What can be written down by now."""
        self._pending += data
        out = b""
        while len(self._pending) > MAX_PENDING:
            out += self._part()
        return out

    def flush(self) -> bytes:
        """The whole lines that are pending: nothing has followed them for a while."""
        return self._clean(self._take(self._pending.rfind(b"\n") + 1))

    def finish(self, beyond: bytes = b"") -> bytes:
        """The rest. `beyond`: what came next and is not kept; a secret may reach into it."""
        rest = self._take(len(self._pending))
        if not beyond or self._redactor.follows_key:
            return self._clean(rest)
        whole, cut = self._redactor.text(_text(rest + beyond)), self._redactor.text(_text(beyond))
        return _bytes(whole[: len(whole) - len(commonprefix((whole[::-1], cut[::-1])))])

    def tail(self, before: bytes, data: bytes) -> bytes:
        """The end of an output. `before`: what came before it and is not kept; a secret or a private key may have
        begun there."""
        whole, cut = self._redactor.text(after_key_end(_text(before + data))), self._redactor.text(_text(before))
        return _bytes(whole[len(commonprefix((whole, cut))) :])

    def _part(self) -> bytes:
        """Of what is pending the beginning, up to a place where no secret is cut in two."""
        window = bytes(self._pending[:MAX_PENDING])
        for signs in ((b"\n",), (b" ", b",", b";", b"\r")):
            cut = MAX_PENDING - CUT
            for _ in range(MAX_CUTS):
                cut = max(window.rfind(sign, CUT, cut) for sign in signs)
                if cut < 0:
                    break
                if self._is_safe(window, cut + 1):
                    return self._clean(self._take(cut + 1))
        for cut in range(MAX_PENDING - CUT, MAX_PENDING - 2 * CUT, -CUT // MAX_CUTS):
            if self._is_safe(window, cut):
                return self._clean(self._take(cut))
        out = self._clean(self._take(MAX_PENDING - CUT)[:-CUT])
        self._take(CUT)
        return out + f"[… {2 * CUT} bytes left out …]".encode()

    def _is_safe(self, window: bytes, cut: int) -> bool:
        before, after = _text(window[cut - CUT : cut]), _text(window[cut : cut + CUT])
        return self._redactor.text(before) + self._redactor.text(after) == self._redactor.text(before + after)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken

    def _clean(self, data: bytes) -> bytes:
        return _bytes(self._redactor.lines(_text(data)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


_own: tuple[dict[str, str], Redactor] = ({}, Redactor())


def redact(text: str) -> str:
    """A text without its secrets, those of our own environment included. For whatever leaves us or is stored."""
    return _our_redactor().text(text)


def redact_value(value: object) -> object:
    """The same for a parsed JSON value."""
    return _our_redactor().value(value)


def _our_redactor() -> Redactor:
    """Made anew where the environment has changed. Its `line` is of no use here: many share it."""
    global _own
    now = dict(os.environ)
    if _own[0] != now:
        _own = (now, Redactor(secrets_of(now)))
    return _own[1]


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
