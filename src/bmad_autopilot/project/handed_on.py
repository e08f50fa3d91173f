"""Which variables a project may hand on to its agents."""

import re

_NAME = re.compile(r"[A-Za-z_]\w{0,99}|[A-Za-z]\w{1,98}_\*", re.ASCII)

# Nobody may hand these on: pushes and pull requests are made by us, and agents' settings of git are ours.
_FORGE = re.compile(r"GH_\w*|GITHUB_(?:\w*_)?(?:TOKEN|PAT)|GIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\w*|VALUE_\w*)")


def is_name(name: str) -> bool:
    """A variable's name, or how several begin: `AWS_*`."""
    return _NAME.fullmatch(name) is not None


def is_forges(name: str) -> bool:
    return _FORGE.fullmatch(name.removesuffix("*")) is not None
