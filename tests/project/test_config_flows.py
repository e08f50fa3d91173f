"""[flows]: the files it names are read from where the settings are."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import FileError, Location
from bmad_autopilot.project.config import Config, FlowFile
from bmad_autopilot.project.config_reader import config_from_bytes, read_config
from tests.project.trees import write


def from_base(text: str, files: dict[str, bytes]) -> Config:
    def read(path: str) -> bytes:
        if path not in files:
            raise FileError("no such file", location=Location(path))
        return files[path]

    return config_from_bytes(text.encode(), "main:bmad-autopilot.toml", read)


def test_the_files_are_read_from_where_the_settings_are(tmp_path: Path) -> None:
    text = '[flows]\nfiles = ["flows/a.yaml", "flows/a.yaml", "b.yml"]\n'
    found = from_base(text, {"flows/a.yaml": b"a", "b.yml": b"b"})
    assert found.flows == (FlowFile("flows/a.yaml", b"a"), FlowFile("b.yml", b"b"))
    for name, content in {"bmad-autopilot.toml": text, "flows/a.yaml": "here", "b.yml": "x"}.items():
        write(tmp_path, name, content)
    assert read_config(str(tmp_path / "bmad-autopilot.toml")).flows[0] == FlowFile("flows/a.yaml", b"here")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ('["/etc/x.yaml"]', "`flows.files` is outside the project"),
        ('["../x.yaml"]', "`flows.files` is outside the project"),
        ('["x.md"]', "`flows.files` names what is no flow's file"),
        ('["gone.yaml"]', "`flows.files`: no such file"),
        ('["latin.yaml"]', "`flows.files`: is not UTF-8"),
        (str([f"{number}.yaml" for number in range(21)]), "`flows.files` names too many files"),
        ("3", "`flows.files` is no list of texts"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(files: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        from_base(f'agent = "codex"\n[flows]\nfiles = {files}\n', {"latin.yaml": b"\xe9"})
    assert (caught.value.message, caught.value.location and caught.value.location.line) == (message, 3)


def test_a_link_may_not_lead_out_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, "outside.yaml", "x")
    write(tmp_path, "top/bmad-autopilot.toml", '[flows]\nfiles = ["x.yaml"]\n')
    (tmp_path / "top/x.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(FileError) as caught:
        read_config(str(tmp_path / "top/bmad-autopilot.toml"))
    assert caught.value.message == "`flows.files`: leads out of the project"
