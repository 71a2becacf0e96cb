"""A model's snapshot in a folder, and what check says of the model once it was changed."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import HEAD, Result, run_cli


class Taken:
    """A folder with net.py and its checks.yaml."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder, self.source = folder, HEAD + source
        (folder / "net.py").write_text(self.source)
        self.made = run_cli("snapshot", "net.py", "-o", "checks.yaml", cwd=folder)
        assert self.made.status == 0, self.made.err
        self.text = (folder / "checks.yaml").read_text()

    def check(self, *changes: tuple[str, str]) -> Result:
        """Check what the source says with other code in the place of some."""
        source = self.source
        for old, new in changes:
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        (self.folder / "net.py").write_text(source)
        return run_cli("check", "-c", "checks.yaml", cwd=self.folder, COLUMNS="200")
