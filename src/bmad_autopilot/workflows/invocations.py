"""What a prompt begins with, and all that a dry run shows of it."""

from ..core.errors import UsageError

REVISION = "revision"
RETROSPECTIVE = "retrospective"
BUILD = "build-auto"


def first_line(
    step: str,
    story: str,
    invocation: str | None,
    *,
    version: str = "",
    spec: str | None = None,
    spec_folder: str | None = None,
) -> str:
    """A client starts a skill only where its name is the first thing it reads."""
    if invocation is None:
        return _own(step, story)
    if step == RETROSPECTIVE:
        return f"{invocation} {_epic(story, version)}"
    if step == BUILD and spec:
        return f"{invocation} {spec}"
    if step == BUILD and spec_folder:
        return f"{invocation} Spec folder: {spec_folder}. Story id: {story}."
    return f"{invocation} {story}"


def _own(step: str, story: str) -> str:
    if step != REVISION:
        raise UsageError(f"the step {step} has neither a skill nor a prompt", expected="an installed skill")
    return f"Revise story {story}: read its story file and the diff, fix what you find, change no status."


def _epic(key: str, version: str) -> str:
    """`epic-3` → `3`; from 6.11 on with the option for a run without a person."""
    from .versions import version_of  # a dry run needs none

    number = key.removesuffix("-retrospective").removeprefix("epic-")
    return f"-H {number}" if version_of(version) >= (6, 11) else number
