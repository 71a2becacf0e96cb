"""The nodes of autograd that hookcli knows by name: torch has them, on a GPU too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch._C import _functions  # where torch puts the types of its nodes

import hookcli
from hookcli.engine.probes.activations.functions import NODES
from hookcli.engine.probes.activations.masks import FUSED, SOFTMAX
from hookcli.hooks.attach.graph import saved_tensor

PACKAGE = Path(hookcli.__file__).parent
NODE = re.compile(r'"([A-Z]\w*Backward\d)"')


def names():
    return sorted(
        {name for path in PACKAGE.rglob("*.py") for name in NODE.findall(path.read_text())}
    )


@pytest.mark.parametrize("name", names())
def test_torch_has_a_node_of_this_name(name):
    """A name that torch no longer has would never be found, and nobody would notice."""
    assert hasattr(_functions, name)


SAVED = {
    **FUSED,
    **dict.fromkeys(sorted(SOFTMAX), "result"),
    **{name: saved for name, (_, saved) in NODES.items()},
}


@pytest.mark.parametrize(("name", "saved"), SAVED.items(), ids=str)
def test_a_node_saves_the_tensor_that_is_read(name, saved):
    """Fused attention keeps its mask under another name on a GPU than on the CPU."""
    if hasattr(_functions, name):  # others are those of other versions
        assert hasattr(getattr(_functions, name), f"_raw_saved_{saved}")


def test_a_tensor_that_a_node_does_not_save_is_unknown():
    node = torch.ones(2, requires_grad=True).exp().grad_fn
    assert saved_tensor(node, "result") is not None
    assert saved_tensor(node, "attn_mask") is None
