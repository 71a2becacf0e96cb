"""Skips a test that an older torch cannot run; docs/versions.md lists the reasons."""

from __future__ import annotations

import pytest
import torch

from hookcli.torch_private import as_numbers


def needs_torch(version: str, why: str) -> pytest.MarkDecorator:
    """A marker: the test, or its parameter, needs this version of torch for the reason `why`."""
    return pytest.mark.skipif(_older(version), reason=_reason(version, why))


def require_torch(version: str, why: str) -> None:
    """Skip the test that runs, from a helper or a fixture of several tests."""
    if _older(version):
        pytest.skip(_reason(version, why))


def _older(version: str) -> bool:
    return as_numbers(torch.__version__) < as_numbers(version)


def _reason(version: str, why: str) -> str:
    return f"needs torch {version} or newer: {why}"
