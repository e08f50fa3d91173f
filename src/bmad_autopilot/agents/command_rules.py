"""Validates commands and user rules for clients that take permissions one by one."""

from collections.abc import Iterable

from ..core.errors import UsageError


def normalize_commands(client: str, commands: Iterable[str]) -> list[str]:
    """Command prefixes in a form that fits inside a client's rule, such as `shell(git commit:*)`."""
    return list(dict.fromkeys(_normalize_command(client, command) for command in commands))


def user_rules(client: str, rules: Iterable[str]) -> list[str]:
    """The user's rules in the client's syntax, each of which becomes one argument."""
    found = [rule.strip() for rule in rules]
    for rule in found:
        if not rule or not rule.isprintable():
            raise UsageError(f"this is no rule of {client}'s", found=rule, expected="one line of text")
    return found


def covers(wider: str, command: str) -> bool:
    """Whether a prefix covers a command: `git` covers `git push`."""
    return f"{command} ".startswith(f"{wider} ")


def _normalize_command(client: str, command: str) -> str:
    if not command.strip() or any(sign in "()*?," or not sign.isprintable() for sign in command):
        raise UsageError(
            f"{client} cannot be given this command as a permission",
            found=command,
            expected="a command without brackets, wildcards, commas and line breaks",
            hint="write it as a rule in the client's own words",
        )
    return " ".join(command.split())
