"""The table of docs/board.md: git's merge of the same boards beside ours."""

from pathlib import Path

from scripts.board_triples import make_triple
from scripts.merge_triples import ROWS, count_results, git_merge_file, merge_ours, table


def test_a_table_that_the_page_can_quote() -> None:
    lines = table(50).split("\n")
    assert len(lines) == 2 + len(ROWS)
    figures = {line.split(" | ")[0].strip("| "): line.rstrip(" |").split(" | ")[1:] for line in lines[2:]}
    assert sum(int(figures[words][0]) for _, words in ROWS[:3]) == 50
    assert figures["merged, and right"][1] == "50"
    assert int(figures["conflict, left to a person"][0]) > 0


def test_git_merges_what_it_can_and_we_all_of_it(tmp_path: Path) -> None:
    triples = [make_triple(seed) for seed in range(20)]
    theirs, mine = count_results(triples, git_merge_file(tmp_path)), count_results(triples, merge_ours)
    assert theirs["clean"] + theirs["conflict"] + theirs["wrong"] == 20
    assert mine["clean"] == 20


def test_the_page_has_the_table_as_it_is_made() -> None:
    page = (Path(__file__).parents[2] / "docs/board.md").read_text(encoding="utf-8")
    head = "| of 1,000 | `git merge-file` | by what they mean |"
    assert head in page
    assert all(f"| {words} |" in page for _, words in ROWS)
