"""A fixture for trainings in this process: only the file of the test is the user's.

The modules of other tests are imported too, and hookcli would search their code for mistakes, some
of which are there on purpose.
"""

from __future__ import annotations

import pytest

from hookcli.engine.probes.code import user_source
from hookcli.training.observers import script_source, weight_writes


@pytest.fixture(autouse=True)
def only_own_file(request, monkeypatch):
    own = [(str(request.path), request.path.read_text())]
    for module in (user_source, script_source, weight_writes):
        monkeypatch.setattr(module, "own_sources", lambda: own)
