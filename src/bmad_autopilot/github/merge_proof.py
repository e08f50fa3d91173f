"""Merges that git has made, compared with what the two sides mean: that the driver was called is not taken for
granted, nor that its program was there."""

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..board.meanings import Meaning, difference, merge
from ..files import MAX_TEXT_BYTES
from .git import Git
from .hands import merge_as_meant
from .merges_made import INDEX, WORK_TREE, Made
from .paths import is_inside


class Objection(NamedTuple):
    path: str
    where: str  # a commit, the index, the work tree
    why: str
    hint: str


class _Blob(NamedTuple):
    sha: str
    size: int


def object_to(git: Git, made: Iterable[Made], files: Mapping[str, Meaning]) -> list[Objection]:
    """What is not as it should be; files that only one side changed, and merges that a person has to make, are
    none of ours."""
    paths = {path: meaning for path, meaning in files.items() if is_inside(path) and "\n" not in path}
    proof = _Proof(git, list(made), paths)
    found = [*proof.unmerged(), *proof.merged()]
    return list({(one.path, one.where): one for one in found}.values())


class _Proof:
    def __init__(self, git: Git, made: list[Made], files: Mapping[str, Meaning]) -> None:
        self._git = git
        self._made = made
        self._files = files

    def merged(self) -> Iterable[Objection]:
        blobs = self._blobs({revision for one in self._made for revision in _revisions(one)})
        for one in self._made:
            for path, meaning in self._files.items():
                why = self._wrong(one, path, meaning, blobs)
                if why:
                    where = {INDEX: "the index", WORK_TREE: "the work tree"}.get(one.result, one.result[:12])
                    see = "diff HEAD" if one.result in (INDEX, WORK_TREE) else f"show -m {one.result[:12]}"
                    yield Objection(path, where, why, f"git {see} -- {shlex.quote(path)}")

    def _wrong(self, one: Made, path: str, meaning: Meaning, blobs: dict[str, _Blob]) -> str:
        result = self._work_tree(path) if one.result == WORK_TREE else blobs.get(f"{one.result}:{path}")
        if one.result == INDEX and result is None:
            return ""  # unmerged, or deleted
        why = ""
        for way in one.ways:
            base, ours, theirs = (blobs.get(f"{revision}:{path}") for revision in way)
            if ours is None or theirs is None or ours == theirs or base in (ours, theirs):
                return ""
            wanted = self._merged(path, base, ours, theirs, among=way.theirs)
            found = self._read(result) if result else b""
            if not wanted or found in wanted:
                return ""
            why = why or difference(meaning, wanted[0], found)
        return why

    def unmerged(self) -> Iterable[Objection]:
        rows = self._git.ask("ls-files", "--unmerged", "-z", "--", *self._files).fields if self._files else []
        stages: dict[str, dict[str, str]] = {}
        for row in rows:
            head, _, path = row.partition("\t")
            _, sha, stage = head.split()
            stages.setdefault(path, {})[stage] = sha
        sizes = self._sizes({sha for found in stages.values() for sha in found.values()})
        for path, found in stages.items():
            base, ours, theirs = (sizes.get(found.get(stage, "")) for stage in "123")
            if ours is None or theirs is None:
                continue  # deleted on one side: git says so and keeps the other
            hint = f"git checkout --merge -- {shlex.quote(path)}"
            if self._merged(path, base, ours, theirs):
                yield Objection(path, "the index", "left unmerged, although its sides can be merged", hint)
            elif self._is_one_side(path, ours, theirs):
                yield Objection(path, "the work tree", "one side alone, without conflict marks", hint)

    def _is_one_side(self, path: str, ours: _Blob, theirs: _Blob) -> bool:
        now = self._work_tree(path)
        return now is not None and now in (ours, theirs)

    def _merged(
        self, path: str, base: _Blob | None, ours: _Blob, theirs: _Blob, *, among: str = "HEAD"
    ) -> list[bytes]:
        """What may have come of it; nothing: only a person can tell. Who set a row is seen differently after a
        merge than before it: that the further status stands is right too."""
        if max(blob.size for blob in (base, ours, theirs) if blob is not None) > MAX_TEXT_BYTES:
            return []
        versions = [self._read(blob) if blob else b"" for blob in (base, ours, theirs)]
        meaning = self._files[path]
        found = merge_as_meant(self._git, path, meaning, *versions, among=(among,)), merge(meaning, *versions)
        return [merged.data for merged in found if merged is not None]

    def _work_tree(self, path: str) -> _Blob | None:
        """As git would store it: line ends and filters are undone."""
        if not os.path.isfile(os.path.join(self._git.top, path)):
            return None
        sha = self._git.ask("hash-object", "-w", "--", path).text
        return self._sizes({sha}).get(sha)

    def _read(self, blob: _Blob) -> bytes:
        return self._git.ask("cat-file", "blob", blob.sha).out

    def _blobs(self, revisions: set[str]) -> dict[str, _Blob]:
        """By `revision:path`; what is no file is left out."""
        return self._sizes({f"{revision}:{path}" for revision in revisions if revision for path in self._files})

    def _sizes(self, names: set[str]) -> dict[str, _Blob]:
        listed = sorted(names)
        if not listed:
            return {}
        feed = "\n".join(listed).encode("utf-8", "surrogateescape") + b"\n"
        answer = self._git.ask("cat-file", "--batch-check=%(objecttype) %(objectname) %(objectsize)", feed=feed)
        found = {}
        for name, line in zip(listed, answer.text.split("\n"), strict=True):
            kind, _, rest = line.partition(" ")
            if kind == "blob" and not line.endswith(" missing"):
                sha, size = rest.split()
                found[name] = _Blob(sha, int(size))
        return found


def _revisions(made: Made) -> set[str]:
    return {made.result, *(revision for way in made.ways for revision in way)}
