"""Boards as two branches leave them: no row lost, none with the wrong status, none twice, every comment kept."""

import pytest

from bmad_autopilot.board.merge import merge_boards
from scripts.board_triples import Faults, make_triple


@pytest.mark.parametrize(
    "seeds", [range(1_000), pytest.param(range(1_000, 10_000), marks=pytest.mark.soak)], ids=len
)
def test_boards_of_two_branches(seeds: range) -> None:
    left = 0  # to a person; such as a row put back into a board that an editor gave other line ends
    for seed in seeds:
        triple = make_triple(seed)
        merged = merge_boards(*triple.raws)
        left += merged is None
        assert merged is None or not triple.faults(merged.data), f"seed {seed}: {triple.faults(merged.data)}"
    assert left <= len(seeds) // 1_000


@pytest.mark.parametrize("seed", range(20))
def test_the_other_way_round_the_same_rows_stand(seed: int) -> None:
    triple = make_triple(seed)
    base, ours, theirs = triple.raws
    merged = merge_boards(base, theirs, ours)
    assert merged is not None
    faults = triple.faults(merged.data)
    # Of two parked words none is further: the one that is here stands.
    assert faults == Faults(back=faults.back)
    assert all(triple.rows()[key] in ("blocked", "deferred") for key in faults.back)


def test_what_a_merge_does_wrong_is_seen() -> None:
    triple = make_triple(0)
    base, ours, theirs = triple.raws
    assert triple.faults(ours).back
    assert triple.faults(b"development_status:\n  x: done\n").lost == tuple(triple.rows())
    assert triple.faults(b"development_status: [").broken
    merged = merge_boards(base, ours, theirs)
    assert merged is not None
    row = next(line for line in merged.data.split(b"\n") if b"epic-1:" in line)
    assert triple.faults(merged.data + row + b"\n").twice == ("epic-1",)
    assert triple.faults(b"\n".join(line.partition(b"#")[0] for line in merged.data.split(b"\n"))).notes
