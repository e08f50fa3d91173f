"""Six epics beside each other, with the real gh and the real git: all merged, and sooner than one at a time."""

from pathlib import Path

import pytest

from tests.real.delivery_bench import use_gh
from tests.real.parallel_bench import SETTINGS, ParallelBench
from tests.real.parallel_checks import check_flown

EPICS, STORIES, AGENTS = 6, 4, 3
SPEED_UP = 2.5


def flown(folder: Path, patch: pytest.MonkeyPatch, *arguments: str, epics: int = EPICS) -> tuple[float, float]:
    """Seconds of development (from the first call to the hand-over of the last epic), and of the whole command."""
    folder.mkdir()
    bench = ParallelBench(folder, patch, epics=epics, stories=STORIES, settings=SETTINGS)
    bench.people()
    with bench.serve():
        done = bench.bmad("autopilot", *arguments, seconds=600.0)
        assert done.returncode == 0, done.stdout + done.stderr
        check_flown(bench, epics, STORIES)
        return bench.development(), bench.whole()


@pytest.mark.soak
def test_all_epics_are_merged_and_developed_two_and_a_half_times_as_fast(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 stories of three calls, each of a second, with three agents. What it is compared with is one lane in the
    checkout, on the same machine in the same minute, over one epic of the six: its stories take as long as the
    others (the whole of it: `make soak`). Merging is not in it: that goes one by one, however many agents."""
    use_gh(real, "2.102", monkeypatch)
    alone, _ = flown(tmp_path / "alone", monkeypatch, "--parallel", "0", epics=1)
    beside, _ = flown(tmp_path / "beside", monkeypatch, "--parallel", str(AGENTS))
    told = f"{EPICS} × {alone:.1f} s one by one, {beside:.1f} s beside: {EPICS * alone / beside:.2f} times as fast"
    print(f"\n{told}")
    assert EPICS * alone / beside >= SPEED_UP, told


@pytest.mark.soak
def test_the_whole_command_is_faster_too(real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All six epics both ways, to the last merge. Merges happen one at a time either way, and how long depends
    on the forge, so most of the seconds saved in development must be saved in the whole command, too."""
    use_gh(real, "2.102", monkeypatch)
    alone, all_alone = flown(tmp_path / "alone", monkeypatch, "--parallel", "0")
    beside, all_beside = flown(tmp_path / "beside", monkeypatch, "--parallel", str(AGENTS))
    figures = f"development {alone:.1f} s and {beside:.1f} s, all {all_alone:.1f} s and {all_beside:.1f} s"
    print(f"\n{figures}")
    assert alone / beside >= SPEED_UP, figures
    assert all_alone - all_beside >= 0.8 * (alone - beside), figures
