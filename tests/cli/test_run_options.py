"""The bounds of a whole `bmad autopilot`, as they are typed."""

import time
from datetime import datetime, timedelta
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.cli.run_options import bound_options, parse_until
from bmad_autopilot.engine.autopilot.options import NO_BOUNDS, Bounds
from tests.support.bmad_project import ProjectMaker
from tests.support.terminals import run_piped

NOON = datetime(2030, 1, 31, 12, 0, 30)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("12:01", datetime(2030, 1, 31, 12, 1)),
        ("12:00", datetime(2030, 2, 1, 12, 0)),
        ("07:00", datetime(2030, 2, 1, 7, 0)),
        ("7:00", datetime(2030, 2, 1, 7, 0)),
        ("23:59", datetime(2030, 1, 31, 23, 59)),
        ("2030-03-01 07:00", datetime(2030, 3, 1, 7, 0)),
        ("2030-03-01T07:00:15", datetime(2030, 3, 1, 7, 0, 15)),
        ("2020-01-01 07:00", datetime(2020, 1, 1, 7, 0)),
    ],
)
def test_the_next_such_time(text: str, at: datetime) -> None:
    assert parse_until(text, NOON) == at.timestamp()


def test_a_time_zone_counts() -> None:
    assert parse_until("2030-03-01T07:00+00:00", NOON) == 1_898_578_800.0


@pytest.mark.parametrize("text", ["", "24:00", "7", "07:60", "soon", "2030-01-31", "2030-13-01 07:00", "٠٧:٠٠"])
def test_what_is_no_time(text: str) -> None:
    assert parse_until(text, NOON) is None


@given(st.text(max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    assert isinstance(parse_until(text, NOON), float | None)


@given(st.times(), st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1)))
def test_a_time_of_day_is_within_a_day(clock: Any, now: datetime) -> None:
    at = parse_until(f"{clock:%H:%M}", now)
    assert at is not None
    assert timedelta() < datetime.fromtimestamp(at) - now <= timedelta(days=1)


def said(*words: str) -> Bounds | str:
    """The bounds that come of it, or what is wrong with them."""
    found: list[Bounds] = []

    @click.command()
    @bound_options
    @click.option("--other", is_flag=True)
    def command(bounds: Bounds, other: bool) -> None:
        found.append(bounds)

    done = CliRunner().invoke(command, words)
    return found[0] if done.exit_code == 0 else done.output.splitlines()[-1]


def test_money_tokens_and_time() -> None:
    assert said("--other") == NO_BOUNDS
    assert said("--max-cost", "2.5", "--max-tokens", "1000") == Bounds(2.5, 1000)


def test_the_earlier_of_two_ends_counts() -> None:
    found = said("--max-hours", "0.5", "--until", "2099-01-01 07:00")
    assert isinstance(found, Bounds)
    assert found.clock == "--max-hours 0.5"
    assert found.until is not None
    assert abs(found.until - time.time() - 1800) < 60
    later = said("--max-hours", "8000000", "--until", "2099-01-01 07:00")
    assert isinstance(later, Bounds)
    assert later.clock == "--until 2099-01-01 07:00"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--until", "25:00"), "'25:00' is no time: 07:00, or 2030-01-31 07:00."),
        (("--until", "2020-01-01 07:00"), "2020-01-01 07:00 is over."),
        (("--max-cost", "0"), "0.0 is not in the range x>0."),
        (("--max-cost", "nan"), "nan is no cap: leave the option out where there is none."),
        (("--max-hours", "inf"), "inf is no cap: leave the option out where there is none."),
        (("--max-tokens", "0"), "0 is not in the range 1<=x<=1000000000000000."),
    ],
)
def test_what_is_no_bound(words: tuple[str, str], complaint: str) -> None:
    assert said(*words) == f"Error: Invalid value for '{words[0]}': {complaint}"


# Caps that nothing can reach are none, and are not taken for some.


@pytest.mark.parametrize("option", ["--max-cost", "--max-hours"])
@pytest.mark.parametrize("cap", ["nan", "inf", "1e999"])
def test_a_cap_is_a_number_that_can_be_reached(project: ProjectMaker, option: str, cap: str) -> None:
    done = run_piped("run-epic", "1", option, cap, "--dry-run", cwd=project().root)
    assert done.returncode == 2
    assert f"Invalid value for '{option}': {cap} is no cap" in done.stderr


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("skp", "'skp' is no choice: ask, retry, skip"),
        ("fix", "'fix' is no choice"),
        ("blockd=skip", "'blockd' is no cause: blocked, failed"),
        ("blocked=extend", "'extend' is no choice of blocked: ask, retry, skip, abort"),
        ("=", "'' is no choice"),
    ],
)
def test_a_policy_is_made_of_known_words(project: ProjectMaker, policy: str, words: str) -> None:
    done = run_piped("run-epic", "1", "--on-blocked", policy, "--dry-run", cwd=project().root)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_policies_of_the_command_line_are_taken_together(project: ProjectMaker) -> None:
    policies = ("--on-blocked", "skip", "--on-blocked", "timeout=extend")
    assert run_piped("run-epic", "1", *policies, "--dry-run", cwd=project().root).returncode == 0
