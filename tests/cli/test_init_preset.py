"""`hookcli init --preset` writes what the command does without it: the two reports are the same."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.conftest import SAMPLES

# Each is run by its command with the preset, and with the file that init wrote.
CASES = [
    ("inspect", "tiny_gpt"), ("inspect", "siamese"), ("inspect", "detector"),
    ("grads", "tiny_gpt"), ("grads", "siamese"), ("grads", "detector"),
    ("trace", "tiny_gpt"), ("trace", "siamese"), ("trace", "detector"),
]  # fmt: skip


def outside_environment(text):
    assert text.count('\n  "environment": {') == 1
    return re.sub(r'\n  "environment": \{.*\},\n', "\n", text)


@pytest.mark.slow  # two processes each
@pytest.mark.parametrize(("command", "name"), CASES)
def test_the_file_that_init_writes_gives_the_preset_s_report_byte_by_byte(
    command, name, cli, tmp_path
):
    shutil.copy(SAMPLES / f"{name}.py", tmp_path)
    written = cli("init", f"{name}.py", "--preset", command, "-o", "hooks.yaml")
    assert (written.status, written.out, written.err) == (0, "", "")
    preset = cli(command, f"{name}.py", "-f", "json")
    config = cli(command, "-c", "hooks.yaml", "-f", "json")
    assert (preset.status, config.status) == (0, 0), config.err
    assert outside_environment(preset.out) == outside_environment(config.out)
