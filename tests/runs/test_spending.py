"""What a run has cost, whatever else its journal says."""

from pathlib import Path

from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.spending import Spent, spent


def test_every_call_that_ended_counts_once(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), lambda value: value)
    journal.append("run", note='"kind":"ended"')
    journal.append("ended", dollars=0.5, tokens=100)
    journal.append("ended", dollars=None, tokens=7)
    journal.append("call", dollars=9)
    journal.append("ended", dollars="much", tokens=True)
    journal.append("ended", dollars=1)
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"kind":"ended","n":1\n{"n":9,"at":1,"kind":"ended","da')
    assert spent(str(tmp_path)) == Spent(1.5, 2, 107, 4)


def test_no_journal_cost_nothing(tmp_path: Path) -> None:
    assert spent(str(tmp_path)) == Spent()
    (tmp_path / "journal.jsonl").mkdir()
    assert spent(str(tmp_path)) == Spent()


def test_what_a_fork_took_over_was_paid_by_another(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), lambda value: value)
    journal.append("ended", dollars=0.5, tokens=100)
    journal.append("forked", run="b", **{"from": "a"})
    journal.append("ended", dollars=0.25, tokens=10)
    assert spent(str(tmp_path)) == Spent(0.25, 0, 10, 1)
