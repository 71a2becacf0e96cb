"""Which object of a file is the model, and how the file is imported."""

from __future__ import annotations

import sys

import pytest

from hookcli.errors import ModelError, RequestError
from tests.conftest import HEAD, attempt

A = "class A(nn.ReLU): pass\n"
B = "class B(nn.ReLU): pass\n"
SIZED = "class C(nn.ReLU):\n    def __init__(self, size):\n        super().__init__()\n"


@pytest.fixture(autouse=True)
def _fresh_imports():
    """Files of one name in different folders are imported anew in each test."""
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("torch", "numpy", "hookcli", "transformers")):
            del sys.modules[name]
    assert sys.path == path


def chosen(tmp_path, source, name="net.py", attr="", args=()):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + source)
    report = attempt(f"{path}{attr}", "2x3", args=args)
    return report.model.type, report.warnings


@pytest.mark.parametrize(
    ("source", "type_"),
    [
        (A + B + "model = A()\n", "A"),
        (A + B + "def model(): return B()\n", "B"),
        (A + B + "def build_model(): return B()\n", "B"),
        (A + B + "def create_model(): return A()\n", "A"),
        (A + B + "def get_model(): return A()\n", "A"),
        (A + B + "def make_model(): return A()\n", "A"),
        (A, "A"),
        (A + "def build(): return nn.Sequential(A(), nn.ReLU())\n", "Sequential"),  # A is a part
        (A + "def build(): return nn.Sequential(nn.ReLU())\n", "A"),
        (A + "class C(nn.Sequential):\n    def __init__(self): super().__init__(A())\n", "C"),
        (A + SIZED + "def build(): return nn.Sequential(A(), C(2))\n", "Sequential"),
        (A + SIZED + "def build(): return C(2)\n", "C"),
        (A + "class C(A): pass\n", "C"),  # a base class is used by its heir
        (A + "from torch.nn import Linear as Z\n", "A"),  # an imported class is not of the file
        ("import abc\nclass A(nn.Module, abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\n"
         "    def forward(self, x): return x\n" + B, "B"),
        ("class A(nn.Module): pass\n" + B, "B"),  # no forward: nothing to call
    ],
)  # fmt: skip
def test_what_is_taken(tmp_path, source, type_):
    assert chosen(tmp_path, source)[0] == type_


@pytest.mark.parametrize(
    ("source", "name", "type_"),
    [
        (A + "class FocalLoss(nn.ReLU): pass\n", "net.py", "A"),
        (A + "class MyCriterion(nn.ReLU): pass\n", "net.py", "A"),
        (A + "class TheNet(nn.ReLU): pass\n", "the_net.py", "TheNet"),
        (A + "class B(nn.ReLU):\n    def __init__(self, size):\n        super().__init__()\n",
         "net.py", "A"),
    ],
)  # fmt: skip
def test_the_ranking_decides_and_is_said(tmp_path, source, name, type_):
    got, warnings = chosen(tmp_path, source, name)
    assert got == type_
    assert len(warnings) == 1
    assert warnings[0].startswith(f"chose {type_}; the file also defines ")


def test_arguments_decide_what_can_be_built(tmp_path):
    source = A + "class B(nn.ReLU):\n    def __init__(self, size):\n        super().__init__()\n"
    assert chosen(tmp_path, source, args=("size=3",))[0] == "B"


def test_several_that_nothing_tells_apart_give_a_command_for_each(tmp_path):
    with pytest.raises(RequestError) as caught:
        chosen(tmp_path, A + B, "my net.py")
    path = tmp_path / "my net.py"
    assert f"hookcli inspect '{path}:A'" in caught.value.hint
    assert f"hookcli inspect '{path}:B'" in caught.value.hint


def test_a_dotted_attribute(tmp_path):
    source = "class Space:\n    class Net(nn.ReLU): pass\n"
    assert chosen(tmp_path, source, attr=":Space.Net")[0] == "Net"


def test_call_builds_objects_inside_arguments(tmp_path):
    source = (
        "class Config:\n    def __init__(self, width, more): self.width, self.more = width, more\n"
        "class Net(nn.Sequential):\n    def __init__(self, config, parts):\n"
        "        super().__init__(nn.Linear(3, config.width + config.more['a'][0].numerator))\n"
    )
    (tmp_path / "net.py").write_text(HEAD + source)
    argument = (
        f'config={{call: "{tmp_path}/net.py:Config", args: {{width: 4, '
        'more: {a: [{call: "fractions:Fraction", args: [2, 3]}]}}}'
    )
    got = attempt(f"{tmp_path}/net.py:Net", "2x3", args=(argument, "parts=[1, 2]"))
    assert got.layers[0].outputs[0].shape == (2, 6)


def test_a_default_config_is_made_for_a_class_that_wants_one(tmp_path):
    source = (
        "class Config:\n    width = 5\n"
        "class Net(nn.Linear):\n    config_class = Config\n"
        "    def __init__(self, config): super().__init__(3, config.width)\n"
    )
    (tmp_path / "net.py").write_text(HEAD + source)
    assert attempt(f"{tmp_path}/net.py", "2x3").layers[0].outputs[0].shape == (2, 5)


def test_siblings_are_imported_as_under_python_file(tmp_path):
    (tmp_path / "parts.py").write_text(HEAD + "class Part(nn.Linear): pass\nFROM_NET = None\n")
    source = (
        "from parts import Part\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.part = Part(3, 2)\n"
        "    def forward(self, x):\n        import late\n        return late.double(self.part(x))\n"
    )
    (tmp_path / "late.py").write_text("def double(x): return 2 * x\n")
    assert chosen(tmp_path, source)[0] == "Net"


@pytest.mark.parametrize("packages", [True, False])
def test_relative_imports_work_inside_packages_and_plain_folders(tmp_path, packages):
    folder = tmp_path / "top" / "sub"
    folder.mkdir(parents=True)
    (tmp_path / "top" / "blocks.py").write_text(HEAD + "class Block(nn.Linear): pass\n")
    (folder / "near.py").write_text("SIZE = 3\n")
    if packages:
        (tmp_path / "top" / "__init__.py").write_text("")
        (folder / "__init__.py").write_text("")
    source = (
        "from ..blocks import Block\nfrom .near import SIZE\n"
        "class Net(nn.Sequential):\n    def __init__(self): super().__init__(Block(SIZE, 2))\n"
    )
    assert chosen(tmp_path, source, "top/sub/net.py")[0] == "Net"


def test_a_file_named_like_a_library_hides_nothing(tmp_path):
    source = "import random, json\nassert json.dumps([1]) == '[1]'\n" + A
    assert chosen(tmp_path, source, "json.py")[0] == "A"


def test_two_classes_of_one_file_are_one_class(tmp_path):
    """The batch function's module is the model's, not a second copy."""
    source = (
        "class Box:\n    def __init__(self, x): self.x = x\n"
        "class Net(nn.Module):\n    def forward(self, box):\n        assert isinstance(box, Box)\n"
        "        return box.x\n"
        "def batch(): return Box(torch.ones(2))\n"
    )
    path = tmp_path / "net.py"
    path.write_text(HEAD + source)
    report = attempt(path, f"{path}:batch")
    assert report.status == "complete"
    assert report.layers[0].inputs[0].path == "[0].x"
    assert report.layers[0].inputs[0].via == "attribute"


def test_pickling_finds_the_file_s_classes(tmp_path):
    source = "import pickle\n" + A + "model = pickle.loads(pickle.dumps(A()))\n"
    assert chosen(tmp_path, source)[0] == "A"


def test_dataclasses_and_annotations_resolve_in_the_file(tmp_path):
    source = (
        "from __future__ import annotations\nimport typing\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass C:\n    a: int = 3\n" + A + "typing.get_type_hints(C)\n"
    )
    (tmp_path / "net.py").write_text(source.replace("from __future__", "from __future__", 1))
    text = "from __future__ import annotations\n" + HEAD + source.split("\n", 1)[1]
    (tmp_path / "net.py").write_text(text)
    assert attempt(tmp_path / "net.py", "2x3").model.type == "A"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys\nsys.exit(3)\n", r"called sys.exit\(3\) during import"),
        ("raise RuntimeError('x')\n", "cannot import .*: RuntimeError: x"),
        ("def f(:\n", "is not valid Python"),
        ("from .missing import x\n", "cannot import .*: ModuleNotFoundError"),
    ],
)
def test_a_file_that_fails_is_the_model_s_fault(tmp_path, source, message):
    with pytest.raises(ModelError, match=message) as caught:
        chosen(tmp_path, source)
    assert "net.py:" in caught.value.place
