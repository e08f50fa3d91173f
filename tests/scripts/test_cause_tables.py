"""The tables of docs/humans.md."""

from scripts.cause_tables import PAGE, causes_table, page, triggers_table


def test_the_page_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert causes_table() in text, "python -m scripts.cause_tables"
    assert triggers_table() in text, "python -m scripts.cause_tables"


def test_an_old_table_is_replaced_and_the_rest_stays() -> None:
    text = PAGE.read_text(encoding="utf-8")
    old = text.replace(causes_table(), causes_table().split("\n")[0] + "\n|---|---|---|---|\n| `old` | | | |\n")
    assert page(old) == text
