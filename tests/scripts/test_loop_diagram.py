"""The page about the loop is made from the table."""

from bmad_autopilot.core.transitions import TABLE, RuleAction
from scripts.loop_diagram import PAGE, WORDS, groups, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "the table has changed: .venv/bin/python -m scripts.loop_diagram"


def test_every_row_stands_in_a_group_and_every_action_has_words() -> None:
    assert [rule for _, rules in groups() for rule in rules] == list(TABLE)
    assert set(WORDS) == set(RuleAction)


def test_every_row_is_on_the_page() -> None:
    text = page()
    assert all(f"\n| {rule.name} | " in text for rule in TABLE)
