from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.github.gh_answers import HttpAnswer
from bmad_autopilot.github.gh_budget import SHARE, Purse

RESET = "2027-01-15T09:00:00Z"
AT = 1_800_003_600.0


def purse(cost: int, remaining: int) -> Purse:
    made = Purse()
    made.note_query({"cost": cost, "remaining": remaining, "limit": 5000, "resetAt": RESET})
    return made


def test_a_hundred_pull_requests_at_ten_seconds_are_within_the_share() -> None:
    assert purse(3, 5000).pace(10, AT - 3600) == 10


def test_others_use_makes_us_slower() -> None:
    assert purse(3, 1000).pace(10, AT - 3600) == 43.2


def test_with_nothing_left_one_waits_for_the_reset_and_no_longer() -> None:
    assert purse(3, 0).pace(10, AT - 600) == 600
    assert purse(3, 0).pace(10, AT) == 10
    assert purse(3, 0).pace(10, AT - 2) == 10


def test_the_dearest_of_the_last_queries_counts() -> None:
    made = purse(3, 1000)
    made.note_query({"cost": 1, "remaining": 1000, "limit": 5000, "resetAt": RESET})
    assert made.pace(10, AT - 3600) == 43.2


def test_without_a_word_of_it_the_wanted_pace_stays() -> None:
    made = Purse()
    for told in (None, {}, {"cost": "x"}, {"cost": 1, "remaining": 2, "resetAt": "soon"}):
        made.note_query(told)
    assert made.pace(10, AT) == 10


def test_headers_are_kept_apart_by_what_they_count() -> None:
    made = purse(2, 4000)
    headers = {"x-ratelimit-remaining": "10", "x-ratelimit-limit": "5000", "x-ratelimit-reset": "1800003600"}
    made.note_headers(HttpAnswer(200, headers | {"x-ratelimit-resource": "core"}, b""))
    assert made.requests is not None
    assert made.requests.remaining == 10
    assert made.points is not None
    assert made.points.remaining == 4000
    made.note_headers(HttpAnswer(200, headers | {"x-ratelimit-resource": "graphql"}, b""))
    assert (made.points.remaining, made.points.cost) == (10, 2)


@given(st.integers(1, 50), st.integers(0, 5000), st.floats(0, 3600))
def test_looking_at_that_pace_stays_within_the_share(cost: int, remaining: int, left: float) -> None:
    pace = purse(cost, remaining).pace(1.0, AT - left)
    assert pace >= 1.0
    looks = int(left / pace)
    assert looks * cost <= SHARE * remaining + cost + 1
