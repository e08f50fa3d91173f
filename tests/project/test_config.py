"""bmad-autopilot.toml: defaults, every key, refusals with the line, and the texts made from the table."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError, Place
from bmad_autopilot.files import Text
from bmad_autopilot.project.config import ROLES, Commands, Config, Role, load_config
from bmad_autopilot.project.config_text import render_config, render_table
from bmad_autopilot.project.root import Root
from bmad_autopilot.project.schema import KEYS
from bmad_autopilot.project.settings_file import read_config
from bmad_autopilot.project.toml import load_toml
from tests.conftest import REPOSITORY
from tests.project.trees import write

FULL = """\
board = "plans/sprint-status.yaml"
workflow = "full"
agent = "codex"
base_branch = "develop"
stale_days = 14

[roles.dev]
agent = "claude"
model = "large"

[commands]
install = "npm ci"
check = ["npm run lint", "npm run typecheck"]
test = ["npm test"]
build = []
"""


def config(folder: Path, text: str | None = None) -> Config:
    if text is not None:
        write(folder, "bmad-autopilot.toml", text)
    return load_config(Root(str(folder), str(folder), None))


def refused(folder: Path, text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        config(folder, text)
    assert caught.value.exit_code == 4
    return caught.value


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert config(tmp_path) == Config()
    assert Config()[1:6] == (None, "auto", "claude", None, 7)
    assert Config().roles == dict.fromkeys(ROLES, Role())


def test_an_empty_file_changes_nothing_but_the_path(tmp_path: Path) -> None:
    assert config(tmp_path, "# nothing\n")._replace(path=None) == Config()


def test_every_key_is_read(tmp_path: Path) -> None:
    found = config(tmp_path, FULL)
    assert found.board is not None
    assert (found.board.value, found.board.place.line) == ("plans/sprint-status.yaml", 1)
    assert found[2:6] == ("full", "codex", "develop", 14)
    assert found.roles == {**dict.fromkeys(ROLES, Role()), "dev": Role("claude", "large")}
    assert found.commands == Commands("npm ci", ("npm run lint", "npm run typecheck"), ("npm test",), ())


def test_the_owners_file_counts_not_the_lanes(tmp_path: Path) -> None:
    write(tmp_path / "owner", "bmad-autopilot.toml", 'agent = "codex"\n')
    write(tmp_path / "lane", "bmad-autopilot.toml", 'agent = "gemini"\n')
    root = Root(str(tmp_path / "owner"), str(tmp_path / "lane"), None)
    assert load_config(root).agent == "codex"


@pytest.mark.parametrize(
    ("text", "line", "suggestion"),
    [
        ('agnet = "claude"\n', 1, "`agent`"),
        ("\nstale_day = 3\n", 2, "`stale_days`"),
        ('[commands]\ntests = ["x"]\n', 2, "`commands.test`"),
        ('[role.dev]\nagent = "claude"\n', 1, "`roles"),
        ('[roles.developer]\nmodel = "x"\n', 1, "`roles.dev"),
        ('[roles.dev]\nmodle = "x"\n', 2, "`roles.dev.model`"),
        ('# a\n\n[commands]\ninstall = "x"\nzzzzzz = 1\n', 5, "here stand: install, check, test, build"),
        ("roles.dev.color = 1\n", 1, ""),
        ('test = ["x"]\n', 1, "`commands.test`"),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_a_suggestion(
    tmp_path: Path, text: str, line: int, suggestion: str
) -> None:
    error = refused(tmp_path, text)
    assert "unknown key" in error.message
    assert error.place == (str(tmp_path / "bmad-autopilot.toml"), line, None)
    assert suggestion in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("agent = 3\n", 1, "must be a text"),
        ('\nagent = "clude"\n', 2, "did you mean `claude`?"),
        ('workflow = "huge"\n', 1, '"auto", "lean", "full", "build"'),
        ('stale_days = "7"\n', 1, "from 1 to 3650"),
        ("stale_days = 0\n", 1, "from 1 to 3650"),
        ("stale_days = true\n", 1, "from 1 to 3650"),
        ("stale_days = 7.5\n", 1, "from 1 to 3650"),
        ("commands = 3\n", 1, "must be a table"),
        ("[commands]\ntest = [1]\n", 2, "list of texts"),
        ('[commands]\ntest = [""]\n', 2, "list of texts"),
        ('[commands]\ncheck = ["a\\u0000b"]\n', 2, "list of texts"),
        ('[[roles]]\nagent = "claude"\n', 1, "must be a table"),
        ('board = ""\n', 1, "must be a text"),
        ('board = "x\n', 1, "not valid TOML"),
        ('board = "a"\nboard = "b"\n', 2, "not valid TOML"),
        (f'board = "{"x" * 5000}"\n', 1, "must be a text"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    error = refused(tmp_path, text)
    assert words in str(error)
    assert error.place is not None
    assert error.place.line == line


def test_one_command_may_stand_without_a_list(tmp_path: Path) -> None:
    assert config(tmp_path, '[commands]\ntest = "make test"\n').commands.test == ("make test",)


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bmad-autopilot.toml").mkdir()
    with pytest.raises(FileError, match="a directory"):
        config(tmp_path)


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(raw)
    place: Place | None = Place("read")
    try:
        assert isinstance(read_config(str(path)), Config)
    except FileError as error:
        place = error.place
    assert place is not None


# The texts

texts = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20).filter(str.strip)
lists = st.lists(texts, max_size=3).map(tuple)


@given(st.builds(Commands, st.none() | texts, lists, lists, lists))
def test_the_written_file_reads_back_as_what_was_detected(
    tmp_path_factory: pytest.TempPathFactory, detected: Commands
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.toml"
    path.write_text(render_config(detected))
    assert read_config(str(path)) == Config(path=str(path), commands=detected)


def test_every_default_in_the_written_file_is_a_valid_setting() -> None:
    shown = re.sub(r"^# (\w+ = )", r"\1", render_config(Commands()), flags=re.MULTILINE)
    data = load_toml(Text("shown", shown.encode()))
    names = {key for key in data if key not in ("roles", "commands")}
    assert names == {key.name for key in KEYS if not key.table}


def test_every_key_has_a_sentence() -> None:
    for key in KEYS:
        assert key.doc[0].isupper()
        assert key.doc.endswith(".")


def test_the_documentation_holds_the_current_table() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text()
    assert render_table() in page, "put the output of config_text.render_table() into docs/configuration.md"
