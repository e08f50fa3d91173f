"""`bmad install`: the user meant npm's program of the same name."""

import pytest

from tests.support.bmad_project import ProjectMaker, run_bmad


@pytest.mark.parametrize("verb", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("arguments", "repeated"),
    [
        ([], ""),
        (["--directory", "my app", "--yes"], " --directory 'my app' --yes"),
        (["--help"], " --help"),
        (["--set", "bmm.x=$(touch y)"], " --set 'bmm.x=$(touch y)'"),
        (["--", "-h"], " -h"),
    ],
)
def test_it_says_which_command_was_meant(
    project: ProjectMaker, verb: str, arguments: list[str], repeated: str
) -> None:
    ran = run_bmad(verb, *arguments, cwd=project(with_git=False).root)
    assert ran.code == 2
    assert "this bmad is BMAD Autopilot" in ran.err
    assert ran.err.endswith(f"npx bmad-method {verb}{repeated}\n")


def test_the_two_are_not_in_the_help(project: ProjectMaker) -> None:
    ran = run_bmad("--help", cwd=project(with_git=False).root)
    assert "doctor" in ran.out
    assert "install" not in ran.out
