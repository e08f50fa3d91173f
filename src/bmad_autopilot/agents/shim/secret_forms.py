"""How one known secret may be written: as it is, and in JSON, in a URL, in base64."""

from __future__ import annotations

MIN_SECRET = 6  # a shorter one would be found inside ordinary words, and corrupt everything
MIN_LINE = 16
MIN_CORE = 8

_UNQUOTED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def forms_of(secret: str) -> set[str]:
    """All forms of the value, and of each of its longer lines."""
    from json import dumps

    lines = (line.strip() for line in secret.splitlines())
    forms: set[str] = set()
    for value in {secret.strip(), *(line for line in lines if len(line) >= MIN_LINE)}:
        if len(value) < MIN_SECRET:
            continue
        escaped = dumps(value)[1:-1]
        forms |= {value, escaped, dumps(escaped)[1:-1], dumps(value, ensure_ascii=False)[1:-1]}
        raw = value.encode("utf-8", "surrogatepass")
        forms |= _in_urls(raw) | _in_base64(raw)
    return forms


def _in_urls(raw: bytes) -> set[str]:
    """All that must be quoted, all but slashes (Python's habit), all but what JavaScript leaves."""
    forms = {
        "".join(chr(byte) if byte in plain else f"%{byte:{case}}" for byte in raw)
        for plain in (_UNQUOTED, _UNQUOTED | frozenset(b"/"), _UNQUOTED | frozenset(b"!'()*"))
        for case in ("02X", "02x")
    }
    return forms | {form.replace("%20", "+") for form in forms}


def _in_base64(raw: bytes) -> set[str]:
    """What base64 makes of it at each of the three places it may have in what was encoded (`user:secret`),
    without the letters that depend on its neighbours."""
    from binascii import b2a_base64

    cores = set()
    for shift in range(3):
        whole = b2a_base64(bytes(shift) + raw, newline=False).decode()
        core = whole[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        cores |= {core, core.replace("+", "-").replace("/", "_")}  # the second is the form for URLs
    return {core for core in cores if len(core) >= MIN_CORE}
