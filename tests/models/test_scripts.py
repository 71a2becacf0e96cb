"""Files that do more than define a model when they are imported: they train, write, read, exit."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models.python.import_watch import ImportWatch
from hookcli.models.python.importing import import_file
from hookcli.spec.request import ModelSpec, parse_argv, script_argv
from tests.conftest import HEAD, attempt

NET = "class Net(nn.Module):\n    def __init__(self, out=2):\n        super().__init__()\n"
NET += "        self.fc = nn.Linear(3, out)\n    def forward(self, x): return self.fc(x)\n"
STEP = "net(torch.ones(2, 3)).sum().backward(); opt.step()\n"
TRAIN = NET + "net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=1.0)\n"
GUARD = 'put this code below `if __name__ == "__main__":`'


@pytest.fixture(autouse=True)
def _fresh_imports(tmp_path):
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def report(tmp_path, monkeypatch):
    def run(source, attr="", inputs=("2x3",), **more):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("hookcli.models.places.START", tmp_path.resolve())
        path = tmp_path / "script.py"
        path.write_text(HEAD + source)
        return attempt(f"{path}{attr}", *inputs, **more)

    return run


def note_of(result):
    (note,) = (w for w in result.warnings if w.startswith("importing "))
    return note


@pytest.mark.parametrize("steps", [1, 60, 1200])
def test_optimizer_steps_are_counted(report, steps):
    result = report(TRAIN + f"for i in range({steps}):\n    " + STEP)
    count = f"{steps:,} optimizer step" + ("s" if steps > 1 else "")
    assert f"ran {count}: {GUARD}" in note_of(result)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        ("torch.save(net.state_dict(), 'net_final.pth')", "net_final.pth"),
        ("import pathlib; torch.save(net, pathlib.Path('whole.pt'))", "whole.pt"),
        ("open('log.csv', 'w').close()", "log.csv"),
        ("open('log.txt', 'ab').close()", "log.txt"),
        ("import os; os.close(os.open('raw', os.O_CREAT | os.O_WRONLY))", "raw"),
        ("import os; os.mkdir('out'); torch.save(net.state_dict(), 'out/last.pth')", "last.pth"),
    ],
)
def test_files_that_the_import_writes_are_named(report, write, name):
    note = note_of(report(TRAIN + STEP + write + "\n"))
    assert note.endswith(f"{name}: {GUARD}")
    assert "ran 1 optimizer step and wrote " in note


@pytest.mark.parametrize(
    "source",
    [
        "open(__file__).close()\n",
        "import os; open(os.devnull, 'w').close()\n",
        "open('gone', 'w').close()\nimport os; os.remove('gone')\n",
        "import os; os.mkdir('.cache'); open('.cache/x', 'w').close()\n",
        "import io; torch.save(torch.ones(3), io.BytesIO())\n",
        "opt = torch.optim.SGD(Net().parameters(), lr=1.0)\n",
    ],
)
def test_an_import_that_trains_nothing_and_leaves_nothing_gets_no_note(report, source):
    assert report(NET + source).warnings == ()


def test_what_is_written_after_the_import_is_not_the_imports(tmp_path):
    watch = ImportWatch()
    with watch.watching():
        pass
    (tmp_path / "late").write_text("x")
    torch.save(nn.Linear(1, 1).state_dict(), tmp_path / "late.pt")
    assert watch.note("x") is None


def test_the_trained_instance_is_the_model_and_not_a_new_one(report):
    result = report(
        TRAIN + STEP + "with torch.no_grad(): net.fc.weight.fill_(7.0)\n", "", mode=None
    )
    assert "chose net, which the file creates" in result.warnings
    assert result.model.type == "Net"


def test_the_instance_keeps_its_weights(tmp_path):
    from hookcli.models.load import load

    path = tmp_path / "script.py"
    path.write_text(HEAD + NET + "net = Net()\nnn.init.constant_(net.fc.weight, 7.0)\n")
    loaded = load(ModelSpec(str(path)), phase=lambda _: None)
    assert loaded.root.fc.weight.eq(7.0).all()


OTHERS = "loss = nn.CrossEntropyLoss(torch.ones(2))\nrelu = nn.ReLU()\nproj = nn.Linear(3, 3)\n"


@pytest.mark.parametrize(
    ("source", "attr", "args", "chosen"),
    [
        (NET + "net = Net(5)\n" + OTHERS, "", (), 5),  # the instance of the file's class
        (NET + "net = Net(5)\n", "", ("out=4",), 4),  # arguments build the class
        (NET + "net = Net(5)\n", ":Net", (), 2),  # the class, if it is named
        (NET + "a = Net(5)\nb = Net(6)\n", "", (), 2),  # nothing tells the two apart
        (NET + "net = Net(5)\nwrapped = nn.Sequential(net)\n", "", (), 5),  # the outermost
        (NET + "net = Net(5)\nalso = net\n", "", (), 5),
        ("net = nn.Sequential(nn.Linear(3, 5))\n", "", (), 5),  # a notebook: no class at all
        (NET + "teacher = Net(4)\nnet = Net(5)\nopt = torch.optim.SGD(net.parameters(), lr=1.0)\n"
         + STEP, "", (), 5),  # the one that an optimizer has changed
        (NET + "if True:\n    net = Net(5)\n", "", (), 5),
        (NET + "def make():\n    net = Net(5)\n    return net\n", "", (), 2),
    ],
)  # fmt: skip
def test_which_instance_is_the_model(report, source, attr, args, chosen):
    assert report(source, attr, args=args).layers[0].outputs[0].shape == (2, chosen)


def test_two_trained_models_give_a_command_for_each(report):
    source = NET + "g = Net()\nd = Net()\nopt = torch.optim.SGD([*g.parameters(), "
    source += "*d.parameters()], lr=1.0)\ng(torch.ones(1, 3)).sum().backward(); opt.step()\n"
    with pytest.raises(RequestError) as caught:
        report(source)
    assert "script.py:g` or `" in caught.value.hint
    assert caught.value.hint.endswith("script.py:d`")


ARGPARSE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('data')\n"
ARGPARSE += "p.add_argument('-w', '--width', required=True)\n"


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        (ARGPARSE + "p.parse_args()\n",
         "called sys.exit(2) during import: the following arguments are required: data, -w/--width",
         'pass the arguments of the script: `--argv "DATA --width …"`'),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\n"
         "p.parse_args(['--n', 'x'])\n", "argument --n: invalid int value: 'x'",
         'correct the arguments of the script in `--argv "…"`'),
        ("import sys\nsys.exit()\n", "called sys.exit(None) during import", "put the script's"),
        ("import sys\nsys.exit(2)\n", "called sys.exit(2) during import", 'with `--argv "…"`'),
        ("def error(message): raise SystemExit(1)\nerror('mine')\n",
         "called sys.exit(1) during import", "put the script's code below"),
        ("import sys\nwidth = int(sys.argv[1])\n", "IndexError: list index out of range",
         "`--argv"),
        ("def input(_): raise EOFError\nname = input('name? ')\n", "EOFError",
         "put the code that reads stdin below"),
    ],
)  # fmt: skip
def test_a_script_that_needs_something_gets_a_hint_that_fits(
    tmp_path, monkeypatch, source, message, hint
):
    monkeypatch.setattr(sys, "argv", ["script.py"])
    path = tmp_path / "script.py"
    path.write_text(source)
    with pytest.raises(ModelError) as caught:
        import_file(path)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_syntax_error_is_that_of_the_file_that_has_it(tmp_path):
    (tmp_path / "helpers.py").write_text("x = 1\ndef broken(:\n")
    (tmp_path / "net.py").write_text("import helpers\n")
    with pytest.raises(ModelError) as caught:
        import_file(tmp_path / "net.py")
    assert caught.value.message.startswith(f"{tmp_path}/helpers.py is not valid Python: ")
    assert caught.value.place == f"{tmp_path}/helpers.py:2"


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("pytorch_lightning", "install pytorch-lightning in the environment that runs the model"),
        ("cv2.dnn", "install opencv-python in"),
        ("nowhere_at_all", "install nowhere_at_all in"),
    ],
)
def test_a_missing_package_is_named_as_pip_knows_it(tmp_path, module, hint):
    path = tmp_path / "net.py"
    path.write_text(f"raise ModuleNotFoundError(\"No module named '{module}'\", name='{module}')\n")
    with pytest.raises(ModelError) as caught:
        import_file(path)
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("--lr 0.1", ("--lr", "0.1")),
        ("--name 'a b' \"c d\"", ("--name", "a b", "c d")),
        (r"a\ b", ("a b",)),
        ("--empty ''", ("--empty", "")),
    ],
)
def test_argv_is_split_as_a_shell_does(text, words):
    assert parse_argv(text, "--argv") == words


def test_sys_argv_begins_with_the_file():
    assert script_argv(ModelSpec("a/net.py:Net", argv=("-x",))) == ["a/net.py", "-x"]
    assert script_argv(ModelSpec("a/net.py")) == ["a/net.py"]
    assert script_argv(ModelSpec("package.module:Net")) == ["package.module:Net"]
