"""An isolated PATH for tests: linked real programs, and small scripts in place of others."""

import os
import shutil
from pathlib import Path


class IsolatedPath:
    def __init__(self, folder: Path) -> None:
        self.bin = folder
        self.outer = os.environ["PATH"]
        self.bin.mkdir()

    def add(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def link(self, name: str) -> None:
        real = shutil.which(name, path=self.outer)
        assert real is not None, f"these tests need {name}"
        (self.bin / name).symlink_to(real)

    def remove(self, name: str) -> None:
        (self.bin / name).unlink()
