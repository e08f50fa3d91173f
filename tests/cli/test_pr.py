"""bmad pr: numbers as people write them, and a pull request or a repository that is not there."""

from types import SimpleNamespace
from typing import cast

import click
import pytest

from bmad_autopilot.cli.pr import _number, _pull
from bmad_autopilot.core.errors import AutopilotError, UsageError
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.github.forge import Forge, Pull
from tests.support.bmad_project import ProjectMaker
from tests.support.terminals import run_piped


class Hub:
    """Has no pull request at all."""

    def __init__(self, trouble: ForgeErrorKind) -> None:
        self._trouble = trouble

    def pull(self, number: int) -> Pull:
        raise ForgeError(self._trouble, "Could not resolve (AutopilotPull, repository.pullRequest)")

    def repository(self) -> SimpleNamespace:
        return SimpleNamespace(full_name="acme/widgets")


def test_a_pull_request_that_is_not_there_is_said_in_plain_words() -> None:
    with pytest.raises(AutopilotError) as found:
        _pull(cast(Forge, Hub(ForgeErrorKind.MISSING)), 99)
    assert found.value.message == "acme/widgets has no pull request #99"
    with pytest.raises(ForgeError, match="Could not resolve"):
        _pull(cast(Forge, Hub(ForgeErrorKind.UNAVAILABLE)), 99)


@pytest.mark.parametrize("number", ["x", "0", "-1", "1.5", "²", "9" * 50])
def test_what_is_no_pull_requests_number(number: str) -> None:
    with pytest.raises(UsageError, match="is no pull request's number") as found:
        _number(cast(click.Context, None), cast(click.Parameter, None), number)
    assert "bmad pr status" in str(found.value.hint)


def test_a_pull_requests_number_as_people_write_it() -> None:
    assert _number(cast(click.Context, None), cast(click.Parameter, None), "#12") == 12


def test_outside_a_repository_git_is_not_quoted(project: ProjectMaker) -> None:
    done = run_piped("pr", "status", cwd=project(with_git=False).root)
    assert done.returncode == 1
    assert "is under no git repository" in done.stderr
    assert "fatal" not in done.stderr
