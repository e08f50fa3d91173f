"""What is said about a setting that is refused: its line, what was found, what was meant."""

from collections.abc import Mapping

from ..core.errors import FileError, Place
from ..files import Text
from .toml import line_of


def refusal(text: Text, name: str, message: str, expected: str, found: str, hint: str | None = None) -> FileError:
    table, _, key = name.rpartition(".")
    place = Place(text.path, line_of(text.text, table, key))
    return FileError(message, place=place, found=found or None, expected=expected or None, hint=hint)


def unknown_key(text: Text, name: str, shape: str, known: list[str]) -> FileError:
    """A name beside it that is nearly the same, else the same name in another table, else one that is alike."""
    table, _, last = shape.rpartition(".")
    beside = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == table}
    # What the user called the table stands where the schema says NAME.
    mine = {word: f"{name.rpartition('.')[0]}.{word}".lstrip(".") for word in beside}
    anywhere = {other.rpartition(".")[2]: other for other in known}
    same = {last: anywhere[last]} if last in anywhere else {}
    tries = (
        suggest(last, names, alike) for names, alike in ((mine, 0.8), (same, 1), (mine, 0.6), (anywhere, 0.6))
    )
    hint = next(filter(None, tries), f"here stand: {', '.join(beside)}")
    return refusal(text, name, f"unknown key `{name}`", "", "", hint)


def suggest(word: str, names: Mapping[str, str], alike: float = 0.6) -> str | None:
    """`names` maps a word to what is shown for it."""
    from difflib import get_close_matches

    begun = [name for name in names if len(name) > 2 and word.startswith(name)]
    close = begun or get_close_matches(word, names, n=1, cutoff=alike)
    return f"did you mean `{names[close[0]]}`?" if close else None


def shown(value: object) -> str:
    text = (
        f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return text if len(text) <= 60 else f"{text[:59]}…"
