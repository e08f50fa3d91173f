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


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("skp", "'skp' is no choice: ask, retry, skip"),
        ("fix", "'fix' is no choice"),
        ("blockd=skip", "'blockd' is no cause: blocked, failed"),
        ("blocked=extend", "'extend' is no choice of blocked: ask, retry, skip, abort"),
        ("=", "'' is no choice"),
    ],
)
def test_a_policy_is_made_of_known_words(project: ProjectMaker, policy: str, words: str) -> None:
    done = piped("run-epic", "1", "--on-blocked", policy, "--dry-run", cwd=project().root)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_policies_of_the_command_line_are_taken_together(project: ProjectMaker) -> None:
    policies = ("--on-blocked", "skip", "--on-blocked", "timeout=extend")
    assert piped("run-epic", "1", *policies, "--dry-run", cwd=project().root).returncode == 0
