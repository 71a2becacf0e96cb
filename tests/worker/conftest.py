from __future__ import annotations

import sys

import pytest

from tests.worker.running import Lab


@pytest.fixture
def lab(tmp_path):
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    lab = Lab(tmp_path)
    yield lab
    lab.close()
