"""The bash autopilot's `.autopilot/config`: known keys, nothing executed."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.project.config import MAX_PARALLEL, Config, GitHubSettings, load_config
from bmad_autopilot.project.config_schema import KEYS
from bmad_autopilot.project.legacy_config import BOUNDS, MAX_NUMBER, NUMBERS, LegacyConfig, read_legacy_config
from bmad_autopilot.project.root import Root
from tests.project.trees import opened, write


def read(folder: Path, text: str) -> LegacyConfig:
    return read_legacy_config(str(write(folder, ".autopilot/config", text)))


def base_branch(folder: Path) -> str | None:
    return load_config(Root(str(folder), str(folder), None)).base_branch


def test_every_known_key_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, "".join(f"{name}={count}\n" for count, name in enumerate(NUMBERS)))
    assert found.values == {name: count for count, name in enumerate(NUMBERS)}
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    "line",
    [
        "MAX_TURNS=80",
        "export MAX_TURNS=80",
        "  MAX_TURNS = 80  ",
        'MAX_TURNS="80"',
        "MAX_TURNS='80'  # turns",
        "MAX_TURNS=80 # turns",
        "# MAX_TURNS=1\n\nMAX_TURNS=80\r",
        "MAX_TURNS=1\nMAX_TURNS=80",
    ],
)
def test_all_ways_to_write_a_number(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, f"{line}\n")
    assert (found.values, found.diagnostics) == ({"MAX_TURNS": 80}, ())


@pytest.mark.parametrize(
    "value",
    ["$(touch owned)", "`touch owned`", "1; touch owned", "$HOME", "-1", "8e1", "", "٣", "9999999", "99999999"],
)
def test_what_is_no_number_is_refused_and_never_run(
    tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = read(tmp_path, f"CHECK_INTERVAL=30\nMAX_TURNS={value}\n")
    assert found.values == {"CHECK_INTERVAL": 30}
    assert [(note.code, note.location.line) for note in found.diagnostics] == [("not-a-number", 2)]
    assert os.listdir(tmp_path) == [".autopilot"]


@pytest.mark.parametrize("value", ["$(git x)", "`x`", "-delete", "a..b", "a b", "../x", "a;b"])
def test_what_is_no_branch_is_refused(tmp_path: Path, value: str) -> None:
    found = read(tmp_path, f"AUTOPILOT_BASE_BRANCH={value}\n")
    assert found.base_branch is None
    assert [note.code for note in found.diagnostics] == ["not-a-branch"]


@pytest.mark.parametrize(
    ("line", "code"), [("PATH=/bin", "unknown-key"), ("rm -rf /", "not-a-setting"), ("=3", "not-a-setting")]
)
def test_an_unknown_line_is_a_warning_with_its_place(tmp_path: Path, line: str, code: str) -> None:
    found = read(tmp_path, f"\n{line}\n")
    assert found.values == {}
    assert [(note.code, note.location.line) for note in found.diagnostics] == [(code, 2)]


@pytest.mark.parametrize(
    ("value", "branch"), [("develop", "develop"), ("auto", None), ("", None), ('"main"', "main")]
)
def test_the_base_branch_is_taken_over(tmp_path: Path, value: str, branch: str | None) -> None:
    read(tmp_path, f"AUTOPILOT_BASE_BRANCH={value}\n")
    assert base_branch(tmp_path) == branch


def test_our_own_file_speaks_first(tmp_path: Path) -> None:
    read(tmp_path, "AUTOPILOT_BASE_BRANCH=old\n")
    write(tmp_path, "bmad-autopilot.toml", 'base_branch = "new"\n')
    assert base_branch(tmp_path) == "new"


def test_its_warnings_reach_the_project(tmp_path: Path) -> None:
    read(tmp_path, "WHAT=1\n")
    assert [note.code for note in opened(tmp_path).diagnostics] == ["unknown-key"]


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".autopilot" / "config").mkdir(parents=True)
    with pytest.raises(FileError, match="a directory"):
        base_branch(tmp_path)


@given(st.text(max_size=300))
def test_any_text_is_read_without_surprise(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any-config"
    path.write_bytes(text.replace("\0", "").encode("utf-8", "ignore"))
    found = read_legacy_config(str(path))
    assert found.values.keys() <= {*NUMBERS, "AUTOPILOT_BASE_BRANCH"}
    lines = [line for line in path.read_bytes().decode().splitlines() if line.strip()[:1] not in ("", "#")]
    assert len(found.diagnostics) + len(found.values) <= len(lines)


@given(st.dictionaries(st.sampled_from(NUMBERS), st.integers(0, MAX_NUMBER)), st.sampled_from(["", '"', "'"]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, int], quote: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "known-config"
    path.write_text("".join(f"{key}={quote}{value}{quote}\n" for key, value in values.items()))
    assert read_legacy_config(str(path)) == LegacyConfig(values, ())


def test_what_both_files_have_to_say_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "bmad-autopilot.toml", '[workflows.bare]\nsteps = ["dev"]\n')
    write(tmp_path, ".autopilot/config", "NO_SUCH_KEY=1\n")
    found = load_config(Root(str(tmp_path), str(tmp_path), None)).diagnostics
    assert len(found) == 2
    assert found[0].code == "no-review"


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", {}),
        ("MAX_TURNS=80\nPARALLEL_MODE=1\nPARALLEL_CHECK_INTERVAL=60\n", {"check_interval": 60}),
        ("PARALLEL_MODE=0\nPARALLEL_CHECK_INTERVAL=60\n", {}),
        (
            "PARALLEL_MODE=3\nPARALLEL_CHECK_INTERVAL=60\nCHECK_INTERVAL=20\n",
            {"check_interval": 60, "review_patience": 20, "check_patience": 20},
        ),
        ("CHECK_INTERVAL=20\n", {"check_interval": 20, "review_patience": 20, "check_patience": 20}),
        ("MAX_CHECK_WAIT=120\n", {"review_patience": 60, "check_patience": 60}),
        ("MAX_COPILOT_WAIT=20\n", {"review_patience": 10}),
        ("MAX_COPILOT_WAIT=20\nMAX_CHECK_WAIT=40\nCHECK_INTERVAL=60\n", None),
        ("MAX_PENDING_PRS=2\n", {"max_pending": 2}),
        ("CHECK_INTERVAL=0\nMAX_COPILOT_WAIT=0\nMAX_PENDING_PRS=0\n", {}),
        ("CHECK_INTERVAL=1\n", {"check_interval": 5, "review_patience": 1, "check_patience": 1}),
        ("MAX_PENDING_PRS=1000000\n", {"max_pending": 100}),
        ("CHECK_INTERVAL=1000000\n", {"check_interval": 3600, "review_patience": 10080, "check_patience": 10080}),
    ],
)
def test_what_its_keys_do(tmp_path: Path, text: str, settings: dict[str, int] | None) -> None:
    if settings is None:
        settings = {"check_interval": 60, "review_patience": 20, "check_patience": 40}
    found = read(tmp_path, text).apply_to(Config())
    assert found.github == GitHubSettings(**settings)  # type: ignore[arg-type]


def test_our_own_settings_speak_first(tmp_path: Path) -> None:
    old = read(tmp_path, "CHECK_INTERVAL=20\nMAX_PENDING_PRS=2\n")
    found = old.apply_to(Config(github=GitHubSettings(check_interval=15, max_pending=9)))
    assert (found.github.check_interval, found.github.max_pending, found.github.review_patience) == (15, 9, 20)


def test_a_key_that_our_own_file_sets_to_its_default_stands(tmp_path: Path) -> None:
    write(tmp_path, ".autopilot/config", "PARALLEL_MODE=3\nCHECK_INTERVAL=20\nMAX_PENDING_PRS=2\n")
    write(tmp_path, "bmad-autopilot.toml", "parallel = 0\n[github]\ncheck_interval = 10\n")
    found = load_config(Root(str(tmp_path), str(tmp_path), None))
    assert (found.parallel, found.github.check_interval, found.github.max_pending) == (0, 10, 2)


@pytest.mark.parametrize(
    ("text", "own", "parallel", "interval"),
    [
        ("PARALLEL_MODE=0\n", 0, 0, 10),
        ("PARALLEL_MODE=1\n", 0, 1, 10),
        ("PARALLEL_MODE=900\n", 0, MAX_PARALLEL, 10),
        ("PARALLEL_MODE=2\n", 4, 4, 10),
        ("PARALLEL_MODE=0\nPARALLEL_CHECK_INTERVAL=60\n", 4, 4, 60),
        ("PARALLEL_MODE=2\nPARALLEL_CHECK_INTERVAL=0\n", 0, 2, 10),
    ],
)
def test_how_many_at_once(tmp_path: Path, text: str, own: int, parallel: int, interval: int) -> None:
    found = read(tmp_path, text).apply_to(Config(parallel=own))
    assert (found.parallel, found.github.check_interval) == (parallel, interval)


def test_its_values_keep_our_bounds() -> None:
    ours = {key.name: (key.least, key.most) for key in KEYS if key.table == "github"}
    assert {name: ours[name] for name in BOUNDS} == BOUNDS
