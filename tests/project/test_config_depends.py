"""The table [depends] of bmad-autopilot.toml."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from bmad_autopilot.core.errors import FileError, Location
from bmad_autopilot.project.config import Config
from bmad_autopilot.project.config_reader import read_config
from bmad_autopilot.project.config_tables import depends_location
from tests.conftest import REPOSITORY


def read(folder: Path, text: str) -> Config:
    path = folder / "bmad-autopilot.toml"
    path.write_text(text)
    return read_config(str(path))


def test_epics_by_their_numbers_however_they_are_written(tmp_path: Path) -> None:
    text = '[depends]\n"3" = ["1", "epic-2"]\n"2.5" = ["2", "02"]\nepic-4 = "2-5"\n7 = []\n1A = ["1b"]\n'
    expected = {"3": ("1", "2"), "2.5": ("2",), "4": ("2.5",), "7": (), "1a": ("1b",)}
    assert read(tmp_path, text).depends == expected


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[depends]\n\n"3 and 4" = ["1"]\n', 3, "no epic's number"),
        ('[depends]\n"3" = ["../x"]\n', 2, "no epic's number"),
        ('[depends]\n"3" = ["1"]\nepic-3 = ["2"]\n', 3, "twice"),
        ('[depends]\n"3" = [1]\n', 2, "list of texts"),
        ("[depends]\n2.5 = ['2']\n", 2, "list of texts"),
        ("depends = 3\n", 1, "must be a table"),
        ("[depends]\n" + "".join(f'{n} = ["1"]\n' for n in range(1001)), 1, "at most 1000 epics"),
        ('dependencies = "declare"\n', 1, "did you mean `declared`?"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(FileError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert caught.value.location == Location(str(tmp_path / "bmad-autopilot.toml"), line)


def test_more_than_fifty_epics_are_no_matter(tmp_path: Path) -> None:
    text = "[depends]\n" + "".join(f'{n} = ["1"]\n' for n in range(2, 302))
    assert len(read(tmp_path, text).depends) == 300


def test_the_line_of_each(tmp_path: Path) -> None:
    found = read(tmp_path, '[depends]\n"2.5" = ["1"]\n\nepic-4 = ["1"]\n3 = ["1"]\n')
    assert [depends_location(found, epic).line for epic in ("2.5", "4", "3", "9")] == [2, 4, 5, 1]
    assert depends_location(Config(path="main:bmad-autopilot.toml"), "3") == Location("main:bmad-autopilot.toml")


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "parallel.md").read_text()
    examples = re.findall(r"^ *```toml\n(.*?)```", page, flags=re.DOTALL | re.MULTILINE)
    (example,) = [one for one in examples if "[depends]" in one]
    assert read(tmp_path, dedent(example)).depends == {"3": ("1", "2"), "4": ("2.5",)}
