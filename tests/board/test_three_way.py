"""Lines of three versions: what one side alone changed is taken."""

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.three_way import Region, merge_lines

_LINES = st.lists(st.sampled_from("abcdef"), max_size=12)


def never(region: Region[str]) -> list[str] | None:
    assert region.ours != region.theirs
    assert region.base not in (region.ours, region.theirs)
    return None


@given(_LINES, _LINES)
def test_one_side_that_changed_is_taken_whole(base: list[str], side: list[str]) -> None:
    assert merge_lines(Region(base, side, base), never) == side
    assert merge_lines(Region(base, base, side), never) == side
    assert merge_lines(Region(base, side, side), never) == side


@given(_LINES, _LINES, _LINES)
def test_each_conflict_is_handed_over_once(base: list[str], ours: list[str], theirs: list[str]) -> None:
    conflicts: list[Region[str]] = []

    def mark(region: Region[str]) -> list[str]:
        conflicts.append(region)
        return [f"<{len(conflicts)}>"]

    merged = merge_lines(Region(base, ours, theirs), mark)
    assert merged is not None
    assert sum(line.startswith("<") for line in merged) == len(conflicts)


def test_changes_in_two_places_are_both_taken() -> None:
    region = Region(list("abcde"), list("aXcde"), list("abcdYe"))
    assert merge_lines(region, never) == list("aXcdYe")
