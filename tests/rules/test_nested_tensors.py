"""Models whose inputs or outputs are strided nested tensors, which have no shape."""

from __future__ import annotations

import pytest

from hookcli.rules.catalogue import CATALOGUE
from tests.conftest import HEAD, run_cli

MODEL = """
class Out(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(torch.nested.nested_tensor([row for row in x]))

class In(Out):
    def forward(self, x):
        return self.fc(x)

def batch():
    return torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)])
"""
ALL = [
    name
    for name, rule in CATALOGUE.items()
    if name != "budget" and not any(option.required for option in rule.options)
]


@pytest.mark.parametrize(("model", "batch"), [("Out", "3x2x4"), ("In", "m.py:batch")])
def test_no_rule_fails_on_a_tensor_without_a_shape(model, batch, tmp_path):
    quiet = "import warnings\nwarnings.simplefilter('ignore')\n"
    (tmp_path / "m.py").write_text(quiet + HEAD + MODEL)
    rules = "".join(f"  - {{rule: {name}, severity: warning}}\n" for name in ALL)
    (tmp_path / "c.yaml").write_text(f"checks:\n{rules}")
    done = run_cli("check", f"m.py:{model}", "-i", batch, "-c", "c.yaml", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "raised" not in done.out
    done = run_cli("snapshot", f"m.py:{model}", "-i", batch, cwd=tmp_path)
    assert done.status == 0, done.err
