"""Events are taken in one by one, and of standard error no more than a message needs."""

from dataclasses import dataclass
from typing import Any

import pytest

from bmad_autopilot.agents.events import ERROR, JSON, NOTE, TEXT, Event
from bmad_autopilot.agents.hearing import Hearing


@dataclass
class Numbers(Hearing):
    total: int = 0

    def take(self, data: dict[str, Any]) -> None:
        self.total += data["number"]


def test_only_json_objects_are_taken() -> None:
    events = [Event(0.0, JSON, {"number": 2}), Event(0.0, JSON, []), Event(0.0, TEXT, "3"), Event(0.0, NOTE, "4")]
    assert Numbers.of(iter(events)).total == 2


def test_of_a_flood_on_standard_error_the_first_lines_are_kept_without_colours() -> None:
    heard = Numbers.of(Event(0.0, ERROR, f"\x1b[31mline {number}\x1b[0m") for number in range(1000))
    assert len(heard.stderr) == 20
    assert heard.stderr[0] == "line 0"


def test_a_client_says_what_it_takes() -> None:
    with pytest.raises(NotImplementedError):
        Hearing().hear(Event(0.0, JSON, {}))
