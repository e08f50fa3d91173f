"""A look at the folder: what counts as there, and what the project is made of."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.project import source_scan
from bmad_autopilot.project.source_scan import FolderScan, has_sources, has_ui


def put(top: Path, *names: str, text: str = "x") -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def has(top: Path, glob: str, **more: object) -> bool:
    return FolderScan(str(top), [glob], **more).has(glob)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("_docs/a.md", True),
        ("_docs/A.md", False),
        ("_docs/empty.md", False),
        ("_docs/gone.md", False),
        ("_docs/deep", False),  # a folder is no file
        ("_docs/deep/", True),
        ("_docs/deep/er/", True),
        ("_docs/hollow/", False),
        ("_docs/notes/", True),  # a README is something
        ("_docs/notes/*.md", False),  # but nothing that a step has left
        ("_docs/notes/README.md", True),
        ("_docs/*.md", True),
        ("_docs/e*.md", False),
        ("_docs/?.md", True),
        ("_docs/*/b.md", False),
        ("_docs/**/b.md", True),
        ("_docs/deep/er/**/b.md", True),
        ("**/b.md", True),
        ("top.txt", True),
        ("*.txt", True),
        ("_docs/[a].md", False),
    ],
)
def test_what_counts_as_there(tmp_path: Path, glob: str, expected: bool) -> None:
    put(tmp_path, "_docs/a.md", "_docs/deep/er/b.md", "_docs/notes/README.md", "_docs/notes/_x.md", "top.txt")
    put(tmp_path, "_docs/empty.md", "_docs/hollow/empty.md", text="")
    assert has(tmp_path, glob) is expected
    # The same where everything is looked for at once.
    assert FolderScan(str(tmp_path), ["_docs/", glob, "_docs/*.md"]).has(glob) is expected


def test_a_folder_with_nothing_but_a_state_file_counts_as_missing(tmp_path: Path) -> None:
    put(tmp_path, "_docs/_state.md")
    assert has(tmp_path, "_docs/")
    assert not has(tmp_path, "_docs/", state_files=["_docs/_state.md"])
    put(tmp_path, "_docs/more.md")
    assert has(tmp_path, "_docs/", state_files=["_docs/_state.md"])


def test_folders_of_bmad_by_their_placeholders(tmp_path: Path) -> None:
    put(tmp_path, "project/x.md", "out/plans/prd.md")
    top = tmp_path / "project"
    places = {"planning": "../out/plans"}
    scan = FolderScan(str(top), ["{planning}/prd.md", "{planning}/", "{output}/x"], placeholders=places)
    assert [scan.has(glob) for glob in ("{planning}/prd.md", "{planning}/", "{output}/x")] == [True, True, False]


def test_links_are_followed_once(tmp_path: Path) -> None:
    put(tmp_path, "data/sample.csv", "elsewhere.md", "_docs/x.txt")
    (tmp_path / "_docs/input").symlink_to(tmp_path / "data")
    (tmp_path / "_docs/again").symlink_to(tmp_path / "_docs")
    (tmp_path / "_docs/link.md").symlink_to(tmp_path / "elsewhere.md")
    (tmp_path / "_docs/broken.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "_docs/loop").symlink_to(tmp_path / "_docs/loop")
    scan = FolderScan(str(tmp_path), ["_docs/"])
    assert scan.has("_docs/input/")
    assert scan.has("_docs/link.md")
    assert not scan.has("_docs/broken.md")
    assert len(scan.files) < 10


def test_the_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, *(f"_docs/{number}.md" for number in range(20)))
    monkeypatch.setattr(source_scan, "MAX_FILES", 10)
    assert [note.code for note in FolderScan(str(tmp_path), ["_docs/"]).diagnostics] == ["too-many-files"]
    monkeypatch.setattr(source_scan, "MAX_FLOW_DEPTH", 2)
    put(tmp_path, "deep/1/2/3/x.md")
    assert not has(tmp_path, "deep/")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look anywhere")
def test_a_folder_that_cannot_be_looked_into_is_said(tmp_path: Path) -> None:
    put(tmp_path, "_docs/secret/x.md")
    (tmp_path / "_docs/secret").chmod(0)
    scan = FolderScan(str(tmp_path), ["_docs/"])
    (tmp_path / "_docs/secret").chmod(0o700)
    assert [note.code for note in scan.diagnostics] == ["unreadable-folder"]


def test_a_path_that_is_no_folder(tmp_path: Path) -> None:
    put(tmp_path, "_docs")
    scan = FolderScan(str(tmp_path), ["_docs/a.md", "_docs/", "other/x.md"])
    assert (scan.has("_docs/a.md"), scan.has("_docs/"), scan.diagnostics) == (False, False, ())


@pytest.mark.parametrize(
    ("names", "sources", "ui"),
    [
        ((), False, False),
        (("README.md", "LICENSE", "bmad-autopilot.toml", "notes/todo.txt"), False, False),
        (("main.py",), True, False),
        (("Cargo.toml",), True, False),
        (("deep/down/there/x.rs",), True, False),
        (("App.csproj",), True, False),
        (("src/anything.xyz",), True, False),
        (("web/page.html",), True, True),
        (("app/View.TSX",), True, True),
        (("_docs/x.py", "docs/conf.py", ".hidden/y.py", "_bmad/z.js", "node_modules/a/b.js"), False, False),
        (("_docs/02_document/ui_mockups/a.html",), False, False),
        (("plans/x.py",), False, False),
    ],
)
def test_what_the_project_is_made_of(tmp_path: Path, names: tuple[str, ...], sources: bool, ui: bool) -> None:
    put(tmp_path, *names)
    put(tmp_path, "empty.py", "empty.html", text="")
    scan = FolderScan(str(tmp_path), [], placeholders={"planning": "plans"})
    assert (scan.sources, scan.ui) == (sources, ui)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("A.swift", "import Foundation\nimport SwiftUI\n", True),
        ("A.swift", "import Foundation\n", False),
        ("main.dart", "import 'package:flutter/material.dart';\n", True),
        ("main.dart", "import 'dart:io';\n", False),
        ("A.kt", "import androidx.compose.runtime.*\n", True),
        ("tool.py", "import tkinter as tk\n", True),
    ],
)
def test_languages_that_are_written_with_and_without_a_user_interface(
    tmp_path: Path, name: str, text: str, expected: bool
) -> None:
    put(tmp_path, name, text=text)
    assert has_ui(str(tmp_path)) is expected


def test_a_checkout_inside_is_another_project(tmp_path: Path) -> None:
    put(tmp_path, "part/.git", "part/x.py")
    assert not has_sources(str(tmp_path))


def test_the_search_for_sources_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, *(f"{number}.txt" for number in range(20)), "z.py")
    monkeypatch.setattr(source_scan, "MAX_ENTRIES", 10)
    assert not has_sources(str(tmp_path))
    assert not has_sources(str(tmp_path / "gone"))
