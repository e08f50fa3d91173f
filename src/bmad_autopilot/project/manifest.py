"""The installer's manifest: version, modules, and whether the old skills came along as shims."""

import os
from typing import NamedTuple

from .. import yamls
from ..files import Text, read_text

MANIFESTS = ("_config/manifest.yaml", "_cfg/manifest.yaml", "manifest.yaml", "install-manifest.yaml")
MAX_MODULES = 100


class Manifest(NamedTuple):
    version: str | None = None
    shims: bool | None = None
    modules: tuple[str, ...] = ()


def read_manifest(folder: str) -> Manifest:
    """Read what is there; an empty Manifest where there is none."""
    path = next((path for name in MANIFESTS if os.path.isfile(path := f"{folder}/{name}")), None)
    if path is None:
        return Manifest()
    lines = read_text(path).text.splitlines()
    # Only the blocks that are needed: flat ones are scanned, a whole manifest would cost PyYAML's import.
    fields = _fields(path, lines, "installation") or _fields(path, lines, "version")
    version, shims = fields.get("version"), fields.get("installShims")
    modules = filter(None, map(_module, _block(lines, "modules")[1:]))
    return Manifest(
        version if isinstance(version, str) else None,
        None if shims is None else shims == "true",
        tuple(modules)[:MAX_MODULES],
    )


def _module(line: str) -> str:
    """`- name: bmm`, or `- bmm` in the alphas; "" for any other line."""
    item = line.strip()
    if not item.startswith("- "):
        return ""
    name = item[2:].strip().removeprefix("name:").strip(" \"'")
    return name if name.replace("-", "").replace("_", "").replace(".", "").isalnum() else ""


def _fields(path: str, lines: list[str], key: str) -> dict[str, object]:
    block = _block(lines, key)
    if not block:
        return {}
    before = "\n" * lines.index(block[0])  # so that an error names the right line
    data = yamls.load(Text(path, f"{before}{chr(10).join(block)}\n".encode()))
    fields = data.get(key) if isinstance(data, dict) else None
    return fields if isinstance(fields, dict) else {key: fields}


def _block(lines: list[str], key: str) -> list[str]:
    """A top-level key with everything below it."""
    for start, line in enumerate(lines):
        if line.startswith(f"{key}:"):
            end = start + 1
            while end < len(lines) and lines[end][:1] in ("", " ", "\t", "#", "-"):
                end += 1
            return lines[start:end]
    return []
