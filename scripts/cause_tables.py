"""Write the tables of docs/humans.md from core/stop_causes.py: `python -m scripts.cause_tables`."""

import re
from pathlib import Path

from bmad_autopilot.core.stop_causes import CAUSE_MENUS, TRIGGERS, allowed_choices

PAGE = Path(__file__).resolve().parent.parent / "docs" / "humans.md"


def causes_table() -> str:
    """The table of causes in docs/humans.md."""
    rows = ["| cause | when | choices | unattended |", "|---|---|---|---|"]
    for cause, offer in CAUSE_MENUS.items():
        offered = ", ".join(offer.options) or "the agent's own"
        rows.append(f"| `{cause}` | {offer.meaning} | {offered} | {', '.join(allowed_choices(cause))} |")
    return "\n".join(rows) + "\n"


def triggers_table() -> str:
    """The table of triggers in docs/humans.md."""
    rows = ["| said by | what | becomes | cause | `blockReason` |", "|---|---|---|---|---|"]
    rows += [
        f"| {one.source} | {one.condition} | {one.kind} | `{one.cause}` | `{one.reason}` |" for one in TRIGGERS
    ]
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """The page with both tables replaced by their current version."""
    for table in (causes_table(), triggers_table()):
        head = re.escape(table.split("\n")[0])
        text = re.sub(rf"{head}\n(?:\|.*\n)+", lambda _, table=table: table, text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
