"""What is said before the first call."""

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.preface import Estimate, Planned, Preface, render
from bmad_autopilot.views.terminal import Terminal, display_width

PREFACE = Preface(
    "epic-1: 2 of 3 stories left",
    (
        Planned("1-2-login", "ready-for-dev", ("dev", "code-review")),
        Planned("1-3-logout", "backlog", ("create-story", "dev", "code-review")),
    ),
    "lean",
    (("claude", ("sm", "dev")), ("claude opus", ("qa",))),
    ("npm run lint", "npm test"),
    "main",
    None,
    None,
    None,
)


def shown(view: Preface, width: int = 100) -> list[str]:
    out = Terminal("never", width)
    out.is_terminal = True
    return list(render(view, out))


def test_what_by_whom_where_and_for_how_much() -> None:
    assert shown(PREFACE) == [
        "epic-1: 2 of 3 stories left",
        "  1-2-login   ready-for-dev: dev → code-review",
        "  1-3-logout  backlog: create-story → dev → code-review",
        "  workflow  lean",
        "  agents    claude (sm, dev) · claude opus (qa)",
        "  checks    npm run lint, npm test",
        "  branch    main, in this work tree",
        "  cost      no cap on cost is set (--max-cost)",
    ]


def test_caps_and_an_estimate() -> None:
    view = PREFACE._replace(max_cost=5.0, max_hours=8.0, estimate=Estimate(2.1, 5, 12))
    assert shown(view, 120)[-1] == (
        "  cost      $5.00 at most, then you are asked; 8 hours at most; about $2.10 for 5 calls, "
        "by 12 earlier calls here"
    )


def test_no_checks_is_said_plainly() -> None:
    assert any("checks    no check commands were found" in line for line in shown(PREFACE._replace(checks=())))


def test_a_long_epic_is_not_a_long_preface() -> None:
    stories = tuple(Planned(f"1-{n}-x", "backlog", ("dev",)) for n in range(200))
    assert "  … 180 more" in shown(PREFACE._replace(stories=stories))


@given(st.text(max_size=80), st.integers(40, 120))
def test_it_fits_and_steers_nothing(odd: str, width: int) -> None:
    view = PREFACE._replace(title=odd, checks=(odd,), branch=odd, stories=(Planned(odd, odd, (odd,)),))
    for line in shown(view, width):
        assert display_width(line) <= width
        assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in line)
