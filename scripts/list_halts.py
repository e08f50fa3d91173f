"""List every place where the BMAD skills of a project stop, ask or wait, with the standing answer each one gets.

`python -m scripts.list_halts PROJECT [--skill NAME] [--json]`; exit 1 when one has none."""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.io.files import read_text
from bmad_autopilot.project.project import open_project
from bmad_autopilot.project.skills import MAX_SKILL, Skill, find_skills
from bmad_autopilot.workflows.standing_answers import HaltRule
from bmad_autopilot.workflows.standing_answers.lookup import SKILL_ANSWERS
from scripts.halts import Halt, find_halts, stop_of

MAX_FILES = 500
_TEXTS = (".md", ".xml", ".yaml", ".yml", ".toml", ".txt")

# Files that an entry file refers to: the engine, and workflows below `_bmad`.
_SENT_TO = re.compile(r"\{project-root\}/(_bmad/[\w./-]+\.(?:md|xml)|_bmad/[\w./-]+/workflow\.yaml)")
# Reviewers that are separate skills. Other skills are only recommended to the user.
_REVIEWERS = re.compile(r"`bmad-(review[\w-]*)`")


class ListedHalt(NamedTuple):
    skill: str
    halt: Halt
    stop: HaltRule | None


def list_halts(project: str, *skills: str) -> list[ListedHalt]:
    """The halts of the named skills, or of all that we drive, as Claude Code has them in this project."""
    version = open_project(project).bmad.version or ""
    installed = find_skills(project, "claude", None)
    listed = []
    for name in skills or SKILL_ANSWERS:
        if name in installed:
            halts = find_halts(skill_texts(project, installed, name))
            listed += [ListedHalt(name, halt, stop_of(halt, name, version)) for halt in halts]
    return listed


def skill_texts(project: str, installed: dict[str, Skill], name: str) -> dict[str, str]:
    """The files that an agent reads when it runs this skill: path in the project → text."""
    files = dict.fromkeys(_files_of(project, installed[name].path))
    texts = {file: _read(project, file) for file in files}
    for reviewer in sorted({found for text in texts.values() for found in _REVIEWERS.findall(text)}):
        if reviewer in installed:
            texts |= {file: _read(project, file) for file in _files_of(project, installed[reviewer].path)}
    return texts


def _files_of(project: str, entry: str) -> Iterator[str]:
    start = os.path.relpath(entry, project)
    yield from _folder(project, os.path.dirname(start)) if entry.endswith("SKILL.md") else [start]
    for part in _SENT_TO.findall(_read(project, start)):
        if "/workflows/" in part:
            yield from _folder(project, os.path.dirname(part))
        elif os.path.isfile(f"{project}/{part}"):
            yield part


def _folder(project: str, folder: str) -> Iterator[str]:
    count = 0
    for parent, folders, files in os.walk(f"{project}/{folder}"):
        folders[:] = sorted(name for name in folders if name != "tests")
        for file in sorted(files):
            if file.endswith(_TEXTS) and count < MAX_FILES:
                count += 1
                yield os.path.relpath(f"{parent}/{file}", project)


def _read(project: str, file: str) -> str:
    return read_text(f"{project}/{file}", limit=MAX_SKILL).text


def _line(item: ListedHalt) -> str:
    halt, stop = item.halt, item.stop
    answer = "UNMAPPED" if stop is None else stop.answer or f"not a stop: {stop.why}"
    return f"{item.skill}  {halt.id}  {halt.file}:{halt.line}\n    {halt.sentence[:300]}\n    → {answer}"


def _record(item: ListedHalt) -> dict[str, object]:
    halt, stop = item.halt, item.stop
    return {
        "skill": item.skill,
        "id": halt.id,
        "file": halt.file,
        "line": halt.line,
        "where": halt.where,
        "sentence": halt.sentence,
        "answer": stop.answer or None if stop else None,
        "not_a_stop": stop.why or None if stop else None,
        "mapped": stop is not None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="list_halts", description=__doc__.partition("\n")[0])
    parser.add_argument("project")
    parser.add_argument("--skill", action="append", choices=list(SKILL_ANSWERS), default=[])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        listed = list_halts(os.path.abspath(options.project), *options.skill)
    except AutopilotError as error:
        print(f"list_halts: {error}", file=sys.stderr)
        return error.exit_code
    if options.json:
        print(json.dumps([_record(item) for item in listed], indent=2, ensure_ascii=False))
    else:
        for item in listed:
            print(_line(item))
    unmapped = sum(item.stop is None for item in listed)
    print(f"{len(listed)} places, {unmapped} without an answer", file=sys.stderr)
    return 1 if unmapped else 0


if __name__ == "__main__":
    raise SystemExit(main())
