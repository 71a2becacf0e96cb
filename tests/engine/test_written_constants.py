"""The function that makes a tensor of values is named as its line names it."""

from __future__ import annotations

import pytest

from tests.conftest import HEAD, run_cli

CALLS = {
    "torch.tensor([INF])": "`torch.tensor`",
    "torch.as_tensor([INF])": "`torch.as_tensor`",
    "torch.asarray([INF])": "`torch.asarray`",
    "torch.from_numpy(np.array([INF], 'float32'))": "it is in an array that torch did not make",
    "x.new_tensor([INF])": "`Tensor.new_tensor`",
    "torch.full((1,), INF)": "`torch.full`",
    "make([INF])": "`aten.lift_fresh`",
}


@pytest.mark.parametrize("text", CALLS)
def test_the_line_names_the_function(text, tmp_path):
    path = tmp_path / "net.py"
    path.write_text(
        f"import numpy as np\n{HEAD}\nINF = float('inf')\nmake = torch.tensor\n"
        "class Net(nn.Module):\n    def forward(self, x):\n"
        f"        return x + {text}\n"
    )
    result = run_cli("check", str(path), "-i", "2x4", cwd=tmp_path)
    [line] = [line for line in (result.out + result.err).splitlines() if "first appears" in line]
    assert CALLS[text] in line
