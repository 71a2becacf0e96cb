"""The model classes of a file, found in its text."""

from __future__ import annotations

import pytest

from hookcli.models.sources.model_files import model_classes, model_files


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from torch import nn\nclass A(nn.Module): pass\nclass B(nn.ReLU): pass\n", ["A", "B"]),
        ("import torch\nclass A(torch.nn.Module): pass\n", ["A"]),
        ("import torch.nn as nn\nclass A(nn.Sequential): pass\nclass B(A): pass\n", ["A", "B"]),
        ("from torch.nn import Module\nclass A(Module): pass\nclass B: pass\n", ["A"]),
        ("import lightning as L\nclass A(L.LightningModule): pass\n", ["A"]),
        ("class A(LlamaPreTrainedModel): pass\n", ["A"]),
        ("class A(object): nn = 1\n", []),
        ("class A(nn.Module)\n", []),
        ("s = '''\nclass A(nn.Module): pass\n'''\n", []),
        ("def f():\n    class A(nn.Module): pass\n", []),
        ("class A(nn.Module):\n    '\\d'\n", ["A"]),
        ("", []),
        ("\0class nn", []),
    ],
)
def test_the_classes_of_a_file(source, names, tmp_path):
    path = tmp_path / "net.py"
    path.write_text(source)
    assert model_classes(path) == names
    assert model_files(tmp_path) == ([path] if names else [])


def test_tests_come_last_and_folders_are_passed_over(tmp_path):
    for name in ("test_net.py", "net.py", "b.py", "net.txt"):
        (tmp_path / name).write_text("class A(nn.Module): pass\n")
    (tmp_path / "a.py").mkdir()
    names = [path.name for path in model_files(tmp_path)]
    assert names == ["b.py", "net.py", "test_net.py"]


def test_a_file_that_is_not_there_has_no_classes(tmp_path):
    assert model_classes(tmp_path / "no.py") == []
    assert model_files(tmp_path / "no") == []
