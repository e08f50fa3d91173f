"""Who wrote a commit, and who made it."""

from typing import NamedTuple


class Identity(NamedTuple):
    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"

    def as_environment(self, role: str) -> dict[str, str]:
        """`role`: AUTHOR or COMMITTER."""
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email}


# By this committer our commits are told from all others. The author stays the user.
AGENT_MARK = " (BMAD Autopilot) <"  # in the committer of every commit that an agent makes
OURS = Identity("BMAD Autopilot", "autopilot@bmad-autopilot.invalid")
