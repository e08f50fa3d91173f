"""Annotations for records that are written as JSON: what their shipped schema says beyond the Python type.

Within `Annotated`, a string is the field's description and `Keywords` are keywords of JSON Schema.
`python -m scripts.schemas` compares the shipped schemas with the records; `io.json_files.document` writes the
documents from the same records."""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar


class Keywords:
    """Keywords of JSON Schema for a field. Compared by identity: `typing` hashes what `Annotated` contains."""

    def __init__(self, **values: Any) -> None:
        self.values = values


OPTIONAL = Keywords()  # older files and other writers leave the field out


def one_of(values: Iterable[str]) -> Keywords:
    """The only values of the field."""
    return Keywords(enum=list(values))


class Absent(Enum):
    """The value of a field that this document leaves out."""

    ABSENT = "absent"


ABSENT: Literal[Absent.ABSENT] = Absent.ABSENT

Count = Annotated[int, Keywords(minimum=0)]
Positive = Annotated[int, Keywords(minimum=1)]
Figure = Annotated[float, Keywords(minimum=0)]
Text = Annotated[str, Keywords(minLength=1)]
Seconds = Annotated[float, "seconds since 1970"]
ShortId = Annotated[str, Keywords(pattern="^[0-9a-f]{6}$")]
Digest = Annotated[str, Keywords(pattern="^[0-9a-f]{64}$")]

# Seconds since 1970 in the record; `document` writes ISO 8601 in UTC.
ISO_8601 = Keywords(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$", format="date-time")
Moment = Annotated[float, ISO_8601]

R = TypeVar("R")


def pick(kind: type[R], source: Any, **others: object) -> R:
    """A record whose fields are the attributes of the same name of `source`, except for `others`."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(**{name: getattr(source, name) for name in names if name not in others}, **others)
