"""BMAD's settings: TOML layers with their merge rules, YAML files, and where they disagree."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import FileError
from bmad_autopilot.project.bmad_settings import merge_layers, read_settings


def write(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def values(folder: str) -> dict[str, str]:
    return {key: setting.value for key, setting in read_settings(folder).values.items()}


def bmm(key: str, value: str) -> str:
    return f'[modules.bmm]\n{key} = "{value}"\n'


def test_the_last_of_four_layers_wins(tmp_path: Path) -> None:
    names = ["config.toml", "config.user.toml", "custom/config.toml", "custom/config.user.toml"]
    for count, name in enumerate(names):
        folder = write(tmp_path, {name: bmm("planning_artifacts", f"layer{count}")})
        setting = read_settings(folder).values["planning_artifacts"]
        assert setting.value == f"layer{count}"
        assert setting.location == (f"{tmp_path}/{name}", 2, None)


def test_a_layer_that_says_nothing_leaves_the_rest(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        {
            "config.toml": '[core]\noutput_folder = "out"\n' + bmm("planning_artifacts", "plans"),
            "custom/config.toml": bmm("implementation_artifacts", "work"),
        },
    )
    assert values(folder) == {
        "output_folder": "out",
        "planning_artifacts": "plans",
        "implementation_artifacts": "work",
    }


def test_the_module_speaks_before_the_core(tmp_path: Path) -> None:
    folder = write(
        tmp_path, {"config.toml": '[core]\noutput_folder = "core"\n[modules.bmm]\noutput_folder = "bmm"\n'}
    )
    assert values(folder) == {"output_folder": "bmm"}
    folder = write(
        tmp_path / "yaml",
        {"core/config.yaml": "output_folder: core\n", "bmm/config.yaml": "output_folder: bmm\n"},
    )
    assert values(folder) == {"output_folder": "bmm"}


def test_toml_wins_over_yaml_and_the_difference_is_kept(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        {
            "config.toml": bmm("planning_artifacts", "toml"),
            "bmm/config.yaml": "planning_artifacts: yaml\nimplementation_artifacts: work\n",
        },
    )
    settings = read_settings(folder)
    assert settings.values["planning_artifacts"].value == "toml"
    assert settings.values["implementation_artifacts"].value == "work"
    assert settings.shadowed["planning_artifacts"].location == (f"{tmp_path}/bmm/config.yaml", 1, None)


def test_v4_names_its_story_folder_and_its_plans(tmp_path: Path) -> None:
    text = (
        "markdownExploder: true\nprd:\n  prdFile: docs/plan/prd.md\nlist:\n  - a\ndevStoryLocation: docs/stories\n"
    )
    folder = write(tmp_path, {"core-config.yaml": text})
    assert values(folder) == {"dev_story_location": "docs/stories", "planning_artifacts": "docs/plan"}


@pytest.mark.parametrize("text", ["planning_artifacts: [a, b]\n", "planning_artifacts:\n  a: b\n"])
def test_a_setting_of_the_wrong_type_is_ignored_and_said(tmp_path: Path, text: str) -> None:
    settings = read_settings(write(tmp_path, {"bmm/config.yaml": f"user_name: x\n{text}"}))
    assert not settings.values
    assert [(note.code, note.location.line) for note in settings.diagnostics] == [("wrong-type", 2)]


def test_a_number_in_toml_is_no_folder(tmp_path: Path) -> None:
    settings = read_settings(write(tmp_path, {"config.toml": "[core]\noutput_folder = 3\n"}))
    assert not settings.values
    assert settings.diagnostics[0].location.line == 2


@pytest.mark.parametrize("text", ["", "# only a comment\n", "output_folder:\n", 'output_folder: ""\n', "null\n"])
def test_nothing_said_is_nothing_read(tmp_path: Path, text: str) -> None:
    settings = read_settings(write(tmp_path, {"bmm/config.yaml": text}))
    assert (dict(settings.values), settings.diagnostics) == ({}, ())


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("bmm/config.yaml", "a: b\nc: d: e\n", 2),
        ("core/config.yaml", "- a\n- b\n", 1),
        ("config.toml", '[core]\noutput_folder = "x\n', 2),
        ("custom/config.toml", "x\n", 1),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    with pytest.raises(FileError) as caught:
        read_settings(write(tmp_path, {name: text}))
    assert caught.value.location is not None
    assert caught.value.location[:2] == (f"{tmp_path}/{name}", line)


def test_a_folder_in_place_of_the_settings_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bmm" / "config.yaml").mkdir(parents=True)
    with pytest.raises(FileError, match="a directory"):
        read_settings(str(tmp_path))


# Merging

scalars = st.integers() | st.text(max_size=3) | st.booleans()
rows = st.fixed_dictionaries({"id": st.sampled_from("abc"), "x": scalars})
data = st.recursive(
    scalars | st.lists(scalars, max_size=3) | st.lists(rows, max_size=3, unique_by=lambda row: row["id"]),
    lambda inner: st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(st.sampled_from("pqrs"), data, max_size=4)


@given(tables, tables)
def test_merging_follows_bmads_four_rules(base: dict[str, Any], over: dict[str, Any]) -> None:
    merged = merge_layers([base, over])
    assert set(merged) == set(base) | set(over)
    for key, value in merged.items():
        if key not in over or key not in base:
            assert value == (over if key in over else base)[key]
        else:
            check(value, base[key], over[key])


def check(value: Any, base: Any, over: Any) -> None:
    if isinstance(base, dict) and isinstance(over, dict):
        assert value == merge_layers([base, over])
    elif not (isinstance(base, list) and isinstance(over, list)):
        assert value == over
    elif base + over and all(isinstance(row, dict) for row in base + over):
        assert [row["id"] for row in value] == list(dict.fromkeys(row["id"] for row in base + over))
        assert {row["id"]: row for row in value} == {row["id"]: row for row in base + over}
    else:
        assert value == base + over


@given(tables)
def test_an_empty_layer_changes_nothing(table: dict[str, Any]) -> None:
    assert merge_layers([table, {}]) == merge_layers([{}, table]) == table


@given(tables, tables)
def test_merging_changes_no_layer(base: dict[str, Any], over: dict[str, Any]) -> None:
    before = repr((base, over))
    merge_layers([base, over])
    assert repr((base, over)) == before


def test_rows_are_matched_by_code_before_id() -> None:
    base: dict[str, Any] = {"r": [{"code": "a", "id": "1"}, {"code": "b", "id": "2"}]}
    over: dict[str, Any] = {"r": [{"code": "b", "id": "1", "x": 1}]}
    assert merge_layers([base, over]) == {"r": [{"code": "a", "id": "1"}, {"code": "b", "id": "1", "x": 1}]}


def test_rows_without_a_shared_key_append() -> None:
    assert merge_layers([{"r": [{"code": "a"}]}, {"r": [{"id": "a"}]}]) == {"r": [{"code": "a"}, {"id": "a"}]}


@pytest.mark.parametrize(
    ("files", "language"),
    [
        ({}, ""),
        ({"core/config.yaml": "communication_language: Русский\n"}, "Русский"),
        (
            {
                "bmm/config.yaml": "communication_language: French\n",
                "core/config.yaml": "communication_language: X\n",
            },
            "French",
        ),
        (
            {
                "config.toml": '[core]\ncommunication_language = "PT-BR"\n',
                "bmm/config.yaml": "communication_language: X\n",
            },
            "PT-BR",
        ),
        (
            {"config.toml": "[core]\n", "config.user.toml": '[core]\ncommunication_language = "Deutsch"\n'},
            "Deutsch",
        ),
    ],
)
def test_the_language_people_are_asked_in(tmp_path: Path, files: dict[str, str], language: str) -> None:
    settings = read_settings(write(tmp_path, files))
    assert settings.language == language
    assert not settings.shadowed  # no folder, which BMAD's skills could disagree on


def test_a_language_that_is_none_is_said(tmp_path: Path) -> None:
    settings = read_settings(write(tmp_path, {"bmm/config.yaml": "communication_language: [a]\n"}))
    assert settings.language == ""
    assert "must be a language" in settings.diagnostics[0].message
