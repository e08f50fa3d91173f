"""Epics to merged pull requests with the real gh, both versions, and the real git, as people run it."""

from pathlib import Path

import pytest

from tests.real.delivery_bench import VERSIONS, DeliveryBench, use_gh
from tests.real.delivery_checks import check_delivered
from tests.real.delivery_people import settle

pytestmark = pytest.mark.real


@pytest.mark.parametrize("version", list(VERSIONS))
def test_an_epic_and_one_that_stands_on_it_are_merged(
    version: str, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, version, monkeypatch)
    bench = DeliveryBench(tmp_path, monkeypatch)
    maria = settle(bench.model)
    with bench.serve():
        first = bench.bmad("autopilot", "1")
        assert first.returncode == 3, first.stdout + first.stderr
        assert "asks you" in first.stdout
        (question,) = bench.questions()
        assert "disagrees with a reviewer" in question["question"]
        assert "matter of taste" in question["context"]
        assert bench.bmad("intervene", "epic-1", "leave").returncode == 0
        second = bench.bmad("autopilot", "--continue")
        assert second.returncode == 0, second.stdout + second.stderr
        assert "2 epics are merged" in second.stdout
        check_delivered(bench, 2, 3)
    first_merge, second_merge = bench.effects("merge", by=None)
    assert not bench.refs.contains(maria.stale, first_merge.data["head"])
    assert bench.refs.contains(first_merge.data["head"], maria.moved)
    assert maria.closed
    opened = {one.data["number"]: one.data["base_ref"] for one in bench.effects("open-pull")}
    assert opened == {1: "main", 2: "feature/epic-1"}
    assert second_merge.data["base"] == first_merge.data["merged"]
    failed = [one.conclusion for checks in bench.model.checks.values() for one in checks if one.is_bad]
    assert failed
