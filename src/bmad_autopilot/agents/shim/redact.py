"""Redacts secrets from everything that is stored or sent: known values, known shapes, and values of telling names.

The shim imports this too, so it uses only the standard library and compiles a pattern only when a text first hints
at it. It is best effort: an unnamed secret that looks like a word is not found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from posixpath import commonprefix

from .secret_patterns import (
    HINTED,
    MAX_PREFIX_GAP,
    MIN_RUN,
    PREFIXED,
    SecretShape,
    compile_cached,
    is_named_secret,
    is_plausible_value,
    is_secret_variable,
    named_spans,
)

# The encoded forms of a known secret: plain, in JSON, in a URL, in base64.

MIN_SECRET = 6  # a shorter one would match inside ordinary words, and corrupt every text
MIN_LINE = 16
MIN_CORE = 8

_UNQUOTED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def encoded_forms(secret: str) -> set[str]:
    """All encoded forms of the value and of each of its longer lines."""
    from json import dumps

    lines = (line.strip() for line in secret.splitlines())
    forms: set[str] = set()
    for value in {secret.strip(), *(line for line in lines if len(line) >= MIN_LINE)}:
        if len(value) < MIN_SECRET:
            continue
        escaped = dumps(value)[1:-1]
        forms |= {value, escaped, dumps(escaped)[1:-1], dumps(value, ensure_ascii=False)[1:-1]}
        raw = value.encode("utf-8", "surrogatepass")
        forms |= _url_forms(raw) | _base64_forms(raw)
    return forms


def _url_forms(raw: bytes) -> set[str]:
    """Percent-encoded: strictly, without slashes (as Python does), and without what JavaScript leaves."""
    forms = {
        "".join(chr(byte) if byte in plain else f"%{byte:{case}}" for byte in raw)
        for plain in (_UNQUOTED, _UNQUOTED | frozenset(b"/"), _UNQUOTED | frozenset(b"!'()*"))
        for case in ("02X", "02x")
    }
    return forms | {form.replace("%20", "+") for form in forms}


def _base64_forms(raw: bytes) -> set[str]:
    """The base64 form at each of the three alignments the secret may have in the encoded text (`user:secret`),
    without the characters that depend on its neighbours."""
    from binascii import b2a_base64

    cores = set()
    for shift in range(3):
        whole = b2a_base64(bytes(shift) + raw, newline=False).decode()
        core = whole[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        cores |= {core, core.replace("+", "-").replace("/", "_")}  # the second is the form for URLs
    return {core for core in cores if len(core) >= MIN_CORE}


# Private keys in PEM, in one text or spread over many lines.

REDACTED_KEY = "[redacted: private key]"
MAX_LINES = 200  # the largest private keys in use have about 100
MIN_BODY = 16

_BEGIN = "-----BEGIN "
_BEGIN_KEY = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END_KEY = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]{0,120}"
# What follows a BEGIN without an END: in a file, a JSON text or a listing with line numbers.
_BODY = rf"(?:\s|\\[nrt]|\d{{1,6}}(?:→|\t)|[A-Za-z0-9+/=]{{{MIN_BODY},}}|{_HEADER})*+"
# One line of a key: after a line number, the `+` of a diff or a file's name, or the short last line.
_LINE = (
    rf"(?:.{{0,200}}[\s:|→+-])?(?:[A-Za-z0-9+/=]{{{MIN_BODY},}}|{_HEADER})\s*"
    r"|(?:\S{0,200}[:|])?\W{0,20}(?:\d{1,6}\W{1,20})?[A-Za-z0-9+/=]{0,80}\s*"
)


def redact_private_keys(text: str) -> str:
    if _BEGIN not in text:
        return text
    parts: list[str] = []
    at = 0
    ends = [match.end() for match in compile_cached(_END_KEY).finditer(text)]
    ends.reverse()
    for begin in compile_cached(_BEGIN_KEY).finditer(text):
        if begin.start() < at:
            continue
        while ends and ends[-1] < begin.end():
            ends.pop()
        body = compile_cached(_BODY).match(text, begin.end())
        assert body is not None  # it may be empty
        end = ends[-1] if ends else body.end()
        if end - begin.end() >= MIN_BODY:
            parts += [text[at : begin.start()], REDACTED_KEY]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def from_last_key_begin(text: str) -> str:
    """The text from the last BEGIN on; empty if there is none."""
    start = text.rfind(_BEGIN)
    return text[start:] if start >= 0 else ""


def drop_cut_key(text: str) -> str:
    """The text after the END of a key whose BEGIN was cut off; the unchanged text if there is no such key."""
    end = compile_cached(_END_KEY).search(text)
    lines = text[: end.start()].splitlines() if end is not None and _BEGIN not in text[: end.start()] else []
    if end is None or not lines or len(lines) > MAX_LINES:
        return text
    is_body = compile_cached(r"[A-Za-z0-9+/=]*\s*").fullmatch(lines[0]) is not None  # may be an incomplete line
    is_key = is_body and all(compile_cached(_LINE).fullmatch(line[:4096]) for line in lines[1:])
    return text[end.end() :] if is_key else text


class PrivateKeyTracker:
    """Tracks a private key from line to line. The key ends at END, or at the first line that cannot be part of a
    key, so code that only mentions BEGIN does not hide what follows it."""

    def __init__(self) -> None:
        self._line_count = 0  # lines of the key so far; 0: outside

    @property
    def is_open(self) -> bool:
        """Whether a key has begun and not ended yet."""
        return self._line_count > 0

    def hides(self, line: str) -> bool:
        """Whether the line is part of a key that began on an earlier one."""
        inside = self._line_count > 0 and self._continues(line)
        if not inside:
            self._line_count = 1 if _BEGIN in line and _begins_key(line) else 0
        return inside

    def _continues(self, line: str) -> bool:
        if compile_cached(_END_KEY).search(line):
            self._line_count = 0
            return True
        self._line_count += 1
        return self._line_count <= MAX_LINES and compile_cached(_LINE).fullmatch(line[:4096]) is not None


def _begins_key(line: str) -> bool:
    start = max((begin.end() for begin in compile_cached(_BEGIN_KEY).finditer(line)), default=None)
    return start is not None and compile_cached(_END_KEY).search(line, start) is None


REDACTED = "[redacted]"
MAX_SECRETS = 500
MAX_DEPTH = 200
MAX_PENDING = 64 * 1024  # bytes of a stream that are held back until what follows them is known
MAX_CUTS = 16  # positions that are tried
CUT = 4096  # bytes: no secret is longer, except private keys, which are tracked line by line

_HINTS = tuple((hint, shape) for shape in HINTED for hint in shape[1])
_PREFIXES = tuple((prefix, shape) for shape in PREFIXED for prefix in shape[1])
_LONG = b"x" * MIN_RUN
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/="
_RUNS = bytes(ord("x") if byte in _LETTERS else ord(" ") for byte in range(256))
_USERINFO = r"://[^\s/?#@:]{0,256}:([^\s/?#@]{1,512})@"

_Todo = list[tuple[object, object, int]]


class Redactor:
    """Redacts text. `secrets`: values to redact in any form, besides everything that looks like a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {
            form for secret, _ in zip(secrets, range(MAX_SECRETS), strict=False) for form in encoded_forms(secret)
        }
        self._known = sorted(known, key=len, reverse=True)
        self._key = PrivateKeyTracker()

    def text(self, text: str) -> str:
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, REDACTED)
        if len(text) < MIN_SECRET:
            return text
        text = redact_private_keys(text)
        for shape in [*_matching_shapes(text), *[shape for hint, shape in _HINTS if hint in text]]:
            text = _redact_shape(text, shape)
        return _redact_named(text)

    def line(self, text: str) -> str:
        """Redact one line of a stream: a private key that spans lines is tracked from call to call."""
        return REDACTED_KEY if self._key.hides(text) else self.text(text)

    @property
    def is_inside_key(self) -> bool:
        """Whether the next line may be part of a private key."""
        return self._key.is_open

    def lines(self, text: str) -> str:
        """Redact several whole lines of a stream: a private key is tracked from call to call."""
        hidden: list[str] = []
        while self.is_inside_key and text:
            line, end, rest = text.partition("\n")
            if not self._key.hides(line):
                break
            hidden += [REDACTED_KEY, end]
            text = rest
        if text:
            self._key = PrivateKeyTracker()
            for line in from_last_key_begin(text).removesuffix("\n").split("\n"):
                self._key.hides(line)
        return "".join([*hidden, self.text(text)])

    def value(self, value: object) -> object:
        """A parsed JSON value without its secrets; the same object if it has none."""
        if isinstance(value, str):
            return self.text(value)
        strings: list[str] = []
        if _collect_strings(value, strings):
            whole = "\n".join(strings)
            if self.text(whole) == whole:
                return value
        return self._rebuild(value)

    def _rebuild(self, value: object) -> object:
        top: list[object] = []
        todo: _Todo = [([value], top, 0)]
        while todo:
            source, target, depth = todo.pop()
            if isinstance(source, dict) and isinstance(target, dict):
                for key, (name, item) in zip(source, _named_items(source), strict=True):
                    key = self.text(key) if isinstance(key, str) else key
                    target[key] = self._redact_item(name, item, depth, todo)
            elif isinstance(source, list) and isinstance(target, list):
                lines = PrivateKeyTracker()  # a key may span a list of lines, as in the patch of an edit
                for name, item in _named_words(source):
                    hidden = isinstance(item, str) and lines.hides(item)
                    target.append(REDACTED_KEY if hidden else self._redact_item(name, item, depth, todo))
        return top[0]

    def _redact_item(self, name: object, item: object, depth: int, todo: _Todo) -> object:
        if isinstance(item, str):
            return REDACTED if _is_secret_pair(name, item) else self.text(item)
        if not isinstance(item, dict | list):
            return item
        if depth >= MAX_DEPTH:
            return REDACTED
        inner: object = {} if isinstance(item, dict) else []
        todo.append((item, inner, depth + 1))
        return inner


def _collect_strings(value: object, strings: list[str]) -> bool:
    """Collect all strings of a value. False if a name or the depth already requires a redacted copy."""
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
                if _is_secret_pair(name, part):
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


def _is_secret_pair(name: object, value: str) -> bool:
    return isinstance(name, str) and is_named_secret(name) and is_plausible_value(name, value, quoted=True)


def _matching_shapes(text: str) -> list[SecretShape]:
    """The shapes whose prefix occurs near a long run of letters. No regular expressions, because every clean text
    passes through here."""
    data = text.encode("utf-8", "surrogatepass")
    runs = data.translate(_RUNS)
    near: list[bytes] = []
    start = runs.find(_LONG)
    while start >= 0:
        end = runs.find(b" ", start)
        near.append(data[max(0, start - MAX_PREFIX_GAP) : end if end >= 0 else None])
        start = runs.find(_LONG, end) if end >= 0 else -1
    if not near:
        return []
    joined = b" ".join(near).decode("latin-1")  # searching a str is faster than searching bytes
    return list({id(shape): shape for prefix, shape in _PREFIXES if prefix in joined}.values())


def _redact_shape(text: str, shape: SecretShape) -> str:
    label, _, pattern = shape

    def cut(match: re.Match[str]) -> str:
        start, end = match.span(1 if match.re.groups else 0)
        return f"{text[match.start() : start]}[redacted: {label}]{text[end : match.end()]}"

    return compile_cached(pattern).sub(cut, text)


def _redact_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    for start, end in named_spans(text):
        parts += [text[at:start], REDACTED]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


class RedactedStream:
    """Redacts a program's output while it is read, in chunks that may begin and end anywhere. Output is delayed by
    some kilobytes, so that a secret split between two chunks is not missed."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._redactor = Redactor(secrets)
        self._pending = bytearray()

    def add(self, data: bytes) -> bytes:
        """Add a chunk. Returns the output that is safe to write now."""
        self._pending += data
        out = b""
        while len(self._pending) > MAX_PENDING:
            out += self._take_safe_part()
        return out

    def flush(self) -> bytes:
        """Return the pending whole lines, for a stream that has paused."""
        return self._clean(self._take(self._pending.rfind(b"\n") + 1))

    def finish(self, beyond: bytes = b"") -> bytes:
        """Return the rest. `beyond`: the output that followed and is not kept; a secret may extend into it."""
        rest = self._take(len(self._pending))
        if not beyond or self._redactor.is_inside_key:
            return self._clean(rest)
        whole, cut = self._redactor.text(_text(rest + beyond)), self._redactor.text(_text(beyond))
        return _bytes(whole[: len(whole) - len(commonprefix((whole[::-1], cut[::-1])))])

    def tail(self, before: bytes, data: bytes) -> bytes:
        """Redact the end of an output. `before`: the output that preceded it and is not kept; a secret or a
        private key may have begun there."""
        whole, cut = self._redactor.text(drop_cut_key(_text(before + data))), self._redactor.text(_text(before))
        return _bytes(whole[len(commonprefix((whole, cut))) :])

    def _take_safe_part(self) -> bytes:
        """Take the beginning of the pending output, up to a position that does not split a secret."""
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


_environment_redactor: tuple[dict[str, str], Redactor] = ({}, Redactor())


def redact(text: str) -> str:
    """Redact a text before it is stored or sent, including the secrets of our own environment."""
    return _current_redactor().text(text)


def redact_value(value: object) -> object:
    """The same for a parsed JSON value."""
    return _current_redactor().value(value)


def _current_redactor() -> Redactor:
    """Rebuilt when the environment has changed. It is shared, so its stateful `line` must not be used."""
    global _environment_redactor
    now = dict(os.environ)
    if _environment_redactor[0] != now:
        _environment_redactor = (now, Redactor(environment_secrets(now)))
    return _environment_redactor[1]


def looks_secret(name: str, value: str) -> bool:
    """Whether an environment variable holds a secret, by its name or by its value."""
    if len(value) < MIN_SECRET:
        return False
    return is_secret_variable(name, value) or Redactor().text(value) != value


def environment_secrets(environment: Mapping[str, str]) -> list[str]:
    """The secret values of an environment, longest first. Of a URL only the password counts: redacting its host
    would damage every message."""
    found: set[str] = set()
    for name, value in environment.items():
        if looks_secret(name, value):
            found.update(compile_cached(_USERINFO).findall(value) or [value])
    return sorted((secret for secret in found if len(secret) >= MIN_SECRET), key=len, reverse=True)
