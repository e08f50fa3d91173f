"""The sample project of simulator, demo and tests: a Python ledger planned with BMAD, with nothing built yet."""

import os
from collections.abc import Iterator, Mapping, Sequence

BROKEN_FILE = "broken"  # while this file exists, the sample's check fails as on a defect in the code
NO_DATABASE_FILE = "environment"  # while this file exists, the check fails as if its database were down

PLANNING = "_bmad-output/planning-artifacts"
IMPLEMENTATION = "_bmad-output/implementation-artifacts"
BOARD = f"{IMPLEMENTATION}/sprint-status.yaml"

ERAS = {
    "classic": ("6.10.0", ("create-story", "dev-story", "code-review", "retrospective")),
    "build": ("6.12.0", ("build-auto", "code-review", "retrospective")),
}

_NOUNS = "accounts payments budgets invoices savings loans refunds taxes tips fees grants rents".split()
_VERBS = "list count search sort export import print compare group chart share track".split()

_MONEY = '''\
"""Amounts of money, in whole cents."""


def shown(cents: int) -> str:
    """As people write it: `12.50`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"


def rounded(cents: int, to: int = 5) -> int:
    """To the nearest coin there is."""
    return (cents + to // 2) // to * to


def shares(cents: int, people: int) -> list[int]:
    """As even as whole cents can be; the first ones pay what is left."""
    if people < 1:
        raise ValueError("nobody to share with")
    each, left = divmod(cents, people)
    return [each + (number < left) for number in range(people)]
'''
_TEST_MONEY = """\
import unittest

from ledger.money import shares, shown


class ShownTest(unittest.TestCase):
    def test_has_two_places(self) -> None:
        self.assertEqual(shown(1250), "12.50")

    def test_keeps_the_sign(self) -> None:
        self.assertEqual(shown(-5), "-0.05")


class SharesTest(unittest.TestCase):
    def test_nothing_is_lost(self) -> None:
        self.assertEqual(sum(shares(100, 3)), 100)

    def test_needs_somebody(self) -> None:
        with self.assertRaises(ValueError):
            shares(100, 0)
"""
_TEST_ROUNDING = """\
import unittest

from ledger.money import rounded


class RoundedTest(unittest.TestCase):
    def test_down(self) -> None:
        self.assertEqual(rounded(12), 10)

    def test_up(self) -> None:
        self.assertEqual(rounded(13), 15)
"""
_CHECK = '''\
"""Run the project's tests with nothing but the standard library."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
here = Path(__file__).resolve().parent
sys.path.insert(0, str(here / "src"))

if (here / "environment").exists():
    sys.exit("database: connect ECONNREFUSED 127.0.0.1:5432")
if (here / "broken").exists():
    sys.exit("FAILED tests: " + (here / "broken").read_text(encoding="utf-8"))
suite = unittest.defaultTestLoader.discover(str(here / "tests"))
result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
'''
_PYPROJECT = '[project]\nname = "ledger"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = []\n'
_README = "# Ledger\n\nKeeps track of small amounts of money.\n\nRun the tests: `python check.py`\n"
_AGENTS = "# For whoever works here\n\n- Amounts are whole cents.\n- Every change has a test.\n"
_BOARD_HEAD = f"""\
# STATUS DEFINITIONS
# Epics:   backlog, in-progress, done
# Stories: backlog, ready-for-dev, in-progress, review, done
# Retrospectives: optional, done

generated: 01-15-2026 09:00
last_updated: 01-15-2026 09:00
project: Ledger
project_key: NOKEY
tracking_system: file-system
story_location: "{{project-root}}/{IMPLEMENTATION}"

development_status:
"""


def sample_files(epics: int, stories: int) -> dict[str, bytes]:
    """Path → content; deterministic."""
    texts = {
        f"{PLANNING}/epics.md": _epics(epics, stories),
        BOARD: _board(epics, stories),
        "src/ledger/__init__.py": '"""A small ledger."""\n',
        "src/ledger/money.py": _MONEY,
        "tests/test_money.py": _TEST_MONEY,
        "tests/test_rounding.py": _TEST_ROUNDING,
        "check.py": _CHECK,
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        "AGENTS.md": _AGENTS,
        ".gitignore": "__pycache__/\nbuild/\n",
    }
    return {path: text.encode() for path, text in texts.items()}


def story_keys(epics: int, stories: int) -> list[str]:
    return [f"{epic}-{story}-{_slug(epic, story)}" for epic in _upto(epics) for story in _upto(stories)]


def scripted_agent_command(habit: str = "honest", seconds: float = 0.0) -> tuple[str, ...]:
    """The command line of the scripted agent, which reads its prompt from standard input."""
    import sys

    return (sys.executable, "-m", "bmad_autopilot.sim.agent", "--habit", habit, "--seconds", f"{seconds:g}")


def make_sample(
    folder: str, epics: int, stories: int, *, agent_command: Sequence[str] | None = None, era: str = "classic"
) -> None:
    """Write the sample as a real repository with BMAD's skills and our settings, committed."""
    import subprocess

    files = {**sample_files(epics, stories), **_bmad_files(era), "bmad-autopilot.toml": _settings(agent_command)}
    for path, data in files.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
    identity = (("user.name", "Sample"), ("user.email", "sample@example.invalid"), ("commit.gpgsign", "false"))
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        *(("config", name, value) for name, value in identity),
        ("add", "--all"),
        ("commit", "--quiet", "--no-verify", "--message", "Plan the ledger"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL)


def _settings(agent_command: Sequence[str] | None) -> bytes:
    import json
    import shlex
    import sys

    command = json.dumps(list(agent_command or scripted_agent_command()))
    check = json.dumps(f"{shlex.quote(sys.executable)} check.py")
    return (
        f'agent = "scripted"\n\n[agents.scripted]\ncommand = {command}\n\n[commands]\ntest = [{check}]\n'.encode()
    )


def _bmad_files(era: str) -> Mapping[str, bytes]:
    version, skills = ERAS[era]
    texts = {
        "_bmad/_config/manifest.yaml": f"installation:\n  version: {version}\nmodules:\n  - name: bmm\n",
        "_bmad/bmm/config.yaml": (
            "project_name: ledger\n"
            f'planning_artifacts: "{{project-root}}/{PLANNING}"\n'
            f'implementation_artifacts: "{{project-root}}/{IMPLEMENTATION}"\n'
        ),
    }
    for skill in skills:
        texts[f".claude/skills/bmad-{skill}/SKILL.md"] = (
            f"---\nname: bmad-{skill}\ndescription: A stub for rehearsals.\n---\n\nThe scripted agent knows it.\n"
        )
    return {path: text.encode() for path, text in texts.items()}


def _board(epics: int, stories: int) -> str:
    blocks = []
    for epic in _upto(epics):
        rows = "".join(f"  {epic}-{story}-{_slug(epic, story)}: backlog\n" for story in _upto(stories))
        blocks.append(f"  epic-{epic}: backlog\n{rows}  epic-{epic}-retrospective: optional\n")
    return _BOARD_HEAD + "\n".join(blocks)


def _epics(epics: int, stories: int) -> str:
    parts = ["---\nstepsCompleted: []\ninputDocuments: []\n---\n\n# Ledger - Epic Breakdown\n\n## Epic List\n"]
    parts += [f"### Epic {epic}: {_epic_title(epic)}\n" for epic in _upto(epics)]
    for epic in _upto(epics):
        parts.append(f"## Epic {epic}: {_epic_title(epic)}\n")
        parts += _stories(epic, stories)
    return "\n".join(parts)


def _stories(epic: int, stories: int) -> Iterator[str]:
    for story in _upto(stories):
        title = _slug(epic, story).replace("-", " ").capitalize()
        yield (
            f"### Story {epic}.{story}: {title}\n\n"
            f"As a keeper of a small ledger, I want to {title.lower()}, so that I know where the money is.\n\n"
            "**Acceptance Criteria:**\n\n**Given** some amounts\n**When** they are added up\n"
            "**Then** the sum is given in cents\n"
        )


def _epic_title(epic: int) -> str:
    return _nth(_NOUNS, epic).replace("-", " ").capitalize()


def _slug(epic: int, story: int) -> str:
    return f"{_nth(_VERBS, story)}-{_nth(_NOUNS, epic)}"


def _nth(words: Sequence[str], number: int) -> str:
    """Wraps around after the last word and appends a number, so that every result is unique."""
    again, index = divmod(number - 1, len(words))
    return words[index] if not again else f"{words[index]}-{again + 1}"


def _upto(count: int) -> range:
    return range(1, count + 1)
