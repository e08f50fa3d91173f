"""What the annotations of records say about their JSON."""

import re

import pytest

from bmad_autopilot.core.json_types import ISO_8601, Keywords, one_of


def test_values_become_an_enumeration() -> None:
    assert one_of(("done", "review")).values == {"enum": ["done", "review"]}


def test_keywords_keep_their_values() -> None:
    assert Keywords(minimum=0, maxLength=3).values == {"minimum": 0, "maxLength": 3}


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("2026-11-18T07:00:00Z", True),
        ("2026-11-18T07:00:00.250Z", True),
        ("2026-11-18T07:00:00", False),
        ("2026-11-18 07:00:00Z", False),
        ("2026-11-18T07:00:00.Z", False),
    ],
)
def test_moments_are_iso_8601_in_utc(text: str, fits: bool) -> None:
    assert ISO_8601.values["format"] == "date-time"
    assert bool(re.search(ISO_8601.values["pattern"], text)) == fits
