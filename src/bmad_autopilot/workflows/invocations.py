"""What a prompt begins with, and all that a dry run shows of it."""

from collections.abc import Mapping

from ..core.errors import UsageError
from ..project.placeholders import fill
from .pipelines import BUILD, RETROSPECTIVE, Step


def first_line(
    step: Step,
    story: str,
    invocation: str | None,
    *,
    version: str = "",
    spec: str | None = None,
    spec_folder: str | None = None,
) -> str:
    """A client starts a skill only where its name is the first thing it reads."""
    if step.skill is None:
        return own_text(step, {"story": story}).partition("\n")[0]
    if invocation is None:
        raise UsageError(f"the step {step.name} needs a skill that is not installed", found=step.skill)
    if step.skill == RETROSPECTIVE.skill:
        return f"{invocation} {_epic(story, version)}"
    if step.skill == BUILD.skill and spec:
        return f"{invocation} {spec}"
    if step.skill == BUILD.skill and spec_folder:
        return f"{invocation} Spec folder: {spec_folder}. Story id: {story}."
    return f"{invocation} {story}"


def own_text(step: Step, values: Mapping[str, str]) -> str:
    """The step's own prompt with its placeholders filled in one pass; one without a value stays as it is."""
    if not step.prompt:
        raise UsageError(f"the step {step.name} has neither a skill nor a prompt", expected="one of them")
    return fill(step.prompt, lambda name: values.get(name, f"{{{name}}}")).strip()


def _epic(key: str, version: str) -> str:
    """`epic-3` → `3`; from 6.11 on with the option for a run without a person."""
    from .versions import version_of  # a dry run needs none

    number = key.removesuffix("-retrospective").removeprefix("epic-")
    return f"-H {number}" if version_of(version) >= (6, 11) else number
