"""Caps that nothing can reach are none, and are not taken for some."""

import pytest

from tests.support import ProjectMaker
from tests.terminals import piped


@pytest.mark.parametrize("option", ["--max-cost", "--max-hours"])
@pytest.mark.parametrize("cap", ["nan", "inf", "1e999"])
def test_a_cap_is_a_number_that_can_be_reached(project: ProjectMaker, option: str, cap: str) -> None:
    done = piped("run-epic", "1", option, cap, "--dry-run", cwd=project().root)
    assert done.returncode == 2
    assert f"Invalid value for '{option}': {cap} is no cap" in done.stderr
