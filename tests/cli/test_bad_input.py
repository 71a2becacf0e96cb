"""Each thing that a user can get wrong: the status, three lines, a hint, no file left behind."""

from __future__ import annotations

import pytest

from tests.conftest import HEAD

NET = """
class Net(nn.Module):
    def __init__(self, width: int = 4):
        super().__init__()
        self.fc = nn.Linear(width, 3)
    def forward(self, x, scale=1.0):
        return self.fc(x) * scale
"""
FILES = {
    "ok.py": HEAD + NET,
    "syntax.py": "import torch\nclass Net(\n",
    "imports.py": "import torch\nimport no_such_thing\n",
    "raises.py": "import torch\n\nraise ValueError('one\\ntwo \\x1b[31m')\n",
    "empty.py": "",
    "nothing.py": "x = 1\nmodel = 3\n",
    "several.py": HEAD + "class A(nn.ReLU): pass\nclass B(nn.ReLU): pass\n",
    "needs.py": HEAD
    + "class Net(nn.Module):\n    def __init__(self, hidden, depth, drop=0.1):\n"
    + "        super().__init__()\n    def forward(self, x): return x\n",
    "breaks.py": HEAD
    + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    + "        self.fc = nn.Linear(-1, 2)\n    def forward(self, x): return x\n",
    "modules.py": HEAD
    + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    + "        self._modules['x'] = 3\n    def forward(self, x): return x\n",
    "parameters.py": HEAD
    + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    + "        self._parameters['x'] = 3\n    def forward(self, x): return x\n",
    "buffers.py": HEAD
    + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    + "        self._buffers['x'] = 3\n    def forward(self, x): return x\n",
    "factory.py": "def build_model():\n    return 3\n",
    "picky.py": HEAD
    + "class Net(nn.Module):\n    def forward(self, question):\n"
    + "        if not isinstance(question, str):\n            raise TypeError('words, please')\n",
    "weights.bin": "\x00\x01garbage",
    "notes.json": "{}",
    "broken.safetensors": "garbage",
    "broken.pt": "garbage",
    "cut.pt": "PK\x03\x04garbage",
}

# arguments, status, in the message, the place, in the hint
CASES = {
    "missing file": (["nope.py"], 2, "file not found: nope.py", "nope.py", ""),
    "missing file, near": (["okk.py"], 2, "not found: okk.py", "okk.py", "hookcli inspect ok.py"),
    "directory": (["."], 2, "is a directory", ".", "run `hookcli inspect breaks.py"),
    "not a model file": (["notes.json"], 2, "a configuration", "notes.json", "Python file"),
    "no known kind": (["weights.bin"], 2, "not a kind of file", "weights.bin", "Python file"),
    "a cut archive": (["cut.pt"], 3, "cannot be read", "cut.pt", "complete"),
    "syntax error": (["syntax.py"], 3, "'(' was never closed", "syntax.py:2", "syntax"),
    "import error": (["imports.py"], 3, "no_such_thing", "imports.py:2", "install no_such_thing"),
    "raises at import": (["raises.py"], 3, "ValueError: one two \\x1b[31m", "raises.py:3", "-v"),
    "empty": (["empty.py"], 2, "defines no model", "empty.py", "build_model()"),
    "no model": (["nothing.py"], 2, "defines no model", "nothing.py", "build_model()"),
    "several": (["several.py"], 2, "several models", "several.py", "inspect several.py:B"),
    "no such attribute": (["ok.py:Nett"], 2, "'Nett' not found", "ok.py:Nett", "ok.py:Net "),
    "not a module": (["nothing.py:x"], 2, "got int", "nothing.py:x", "name an nn.Module"),
    "returns none": (["factory.py"], 2, "must return an nn.Module", "factory.py", "function"),
    "no such module": (["no_such:Net"], 2, "not found: no_such", "no_such:Net", "package.module"),
    "constructor needs": (["needs.py"], 2, "hidden, depth", "needs.py", "--arg hidden="),
    "constructor still needs": (
        ["needs.py", "--arg", "hidden=3"], 2, "requires argument depth", "needs.py", "--arg depth=",
    ),
    "constructor raises": (["breaks.py"], 3, "RuntimeError", "breaks.py:6", "-v"),
    "a number among modules": (
        ["modules.py", "-i", "2x4"], 3, "_modules['x'] of Net must be a Module, got int",
        "modules.py:3", "plain attribute",
    ),
    "a number among parameters": (
        ["parameters.py", "-i", "2x4"], 3, "_parameters['x'] of Net must be a Tensor, got int",
        "parameters.py:3", "plain attribute",
    ),
    "a number among buffers": (
        ["buffers.py", "-i", "2x4"], 3, "_buffers['x'] of Net must be a Tensor, got int",
        "buffers.py:3", "plain attribute",
    ),
    "unknown argument": (["ok.py", "--arg", "widht=3"], 2, "'widht'", "--arg widht=3", "`width`"),
    "malformed argument": (["ok.py", "--arg", "x=[1"], 2, "invalid YAML", "--arg x=[1", "--arg"),
    "argument twice": (
        ["ok.py", "--arg", "x=1", "--arg", "x=2"], 2, "'x' is given twice", "--arg x=2", "remove",
    ),
    "bad call": (
        ["ok.py", "--arg", "width={call: nope}"], 2, "malformed", "--arg width=", "{call:",
    ),
    "a call of no module": (
        ["ok.py", "--arg", "width={call: ':x'}"], 2, "not found", "--arg width=", "{call:",
    ),
    "a call of a relative module": (
        ["ok.py", "--arg", "width={call: '.a:b'}"], 2, "not found", "--arg width=", "{call:",
    ),
    "a call of a name with a NUL": (
        ["ok.py", "--arg", 'width={call: "a\\0.py:f"}'], 2, "not found", "--arg width=",
        "{call:",
    ),
    "an endless number": (
        ["ok.py", "--arg", "width=" + 5000 * "9"], 2, "invalid number", "--arg width=", "--arg",
    ),
    "a tag that does not fit": (
        ["ok.py", "--arg", "width=!!bool maybe"], 2, "not a YAML bool", "--arg width=", "--arg",
    ),
    "a range of no generator": (
        ["ok.py", "-i", "2x4:uint64:0..18446744073709551615"], 2, "cannot create", "--input",
        "range",
    ),
    "too many elements": (
        ["ok.py", "-i", "4294967296x4294967296"], 2, "below 2^63", "--input 4294", "smaller",
    ),
    "too many steps": (
        ["ok.py", "--batch-size", 20 * "9"], 2, "at most", "--batch-size 999", "--batch-size 2",
    ),
    "no name": ([""], 2, "directory", "''", "pass a file in it"),
    "malformed input": (["ok.py", "-i", "2x"], 2, "'2x' is not an input", "--input 2x", "2x3x224"),
    "unknown dtype": (
        ["ok.py", "-i", "2x4:flaot32"], 2, "unknown dtype", "--input 2x4:", "`float32`",
    ),
    "empty range": (["ok.py", "-i", "2:int64:5..5"], 2, "is empty", "--input 2:int64", "HIGH"),
    "an unclosed bracket": (
        ["ok.py", "-i", "{a: [2x3, 2x4}"], 2, "not closed", "--input {a:", "`[2x3, 2x4]`",
    ),
    "a mapping without keys": (
        ["ok.py", "-i", "{2x3}"], 2, "'2x3' is not a key", "--input {2x3}", "{image: ",
    ),
    "a number as a batch": (
        ["ok.py", "-i", "nothing.py:x"], 2, "a loader or a batch, got int", "--input nothing.py:x",
        "DataLoader",
    ),
    "malformed target": (["ok.py", "--target", "2xx"], 2, "is not an input", "--target 2xx", ""),
    "a loss with an unknown argument": (
        ["ok.py", "--loss", "mse(red=1)"], 2, "unknown argument of mse", "--loss mse", "reduction",
    ),
    "a loss with a call in it": (
        ["ok.py", "--loss", "mse(reduction=print())"], 2, "must be a number", "--loss mse", "write",
    ),
    "keyword twice": (["ok.py", "-i", "x=2x4", "-i", "x=2x4"], 2, "given twice", "--input x", ""),
    "too many inputs": (
        ["ok.py", "-i", "2x4", "-i", "value:1", "-i", "3"], 2, "does not accept", "--input 2x4",
        "(x,",
    ),
    "unknown keyword": (["ok.py", "-i", "y=2x4"], 2, "does not accept", "--input y=2x4", "(x,"),
    "contradictory": (
        ["ok.py", "-i", "2x4", "-i", "x=2x4"], 2, "multiple values", "--input 2x4", "(x,",
    ),
    "no input file": (["ok.py", "-i", "no.pt"], 2, "not found: no.pt", "--input no.pt", ".npy"),
    "corrupt input file": (["ok.py", "-i", "broken.pt"], 3, "cannot read", "--input", "complete"),
    "no such function": (["ok.py", "-i", "ok.py:make"], 2, "'make' not", "--input ok.py:make", ""),
    "no input to be found": (
        ["picky.py"], 2, "none was given; ", "picky.py", "in the form of `-i 2x",
    ),
    "does not fit": (["ok.py", "-i", "2x5"], 3, "'fc' (Linear)", "ok.py:9", "try `-i 2x4`"),
    "unknown format": (["ok.py", "-f", "jsn"], 2, "unknown format 'jsn'", "-f jsn", "`json`"),
    "the suffix of a format": (["ok.py", "-f", "md"], 2, "format 'md'", "-f md", "try `markdown`"),
    "unknown column": (["ok.py", "--columns", "inputs"], 2, "'inputs'", "--columns", "`input`"),
    "unknown flag": (["ok.py", "--inptu", "3"], 2, "--inptu", "hookcli inspect", "`--input`"),
    "no folder": (["ok.py", "-o", "no/x.txt"], 2, "folder not found: no", "no/x.txt", "folder"),
    "folder as file": (["ok.py", "-o", "."], 2, "is a directory", ".", "folder"),
    "two on stdout": (["ok.py", "-f", "json", "-f", "tree"], 2, "share", "-f json -f tree", "file"),
    "no weights": (["ok.py", "--weights", "no.pt", "-i", "2x4"], 2, "not found", "--weights", ""),
    "corrupt weights": (
        ["ok.py", "--weights", "broken.safetensors", "-i", "2x4"], 3, "cannot read",
        "--weights broken.safetensors", "complete",
    ),
    "device gpu": (["ok.py", "--device", "gpu"], 2, "unknown device", "--device gpu", "`cuda`"),
    "unknown device": (["ok.py", "--device", "cdua"], 2, "'cdua'", "--device cdua", "`cuda`"),
    "integer model": (["ok.py", "--dtype", "int8"], 2, "floating", "--dtype int8", "float"),
    "what-if key": (["ok.py", "--what-if", "bacth=3"], 2, "key 'bacth'", "--what-if", "`batch`"),
    "what-if amp": (["ok.py", "--what-if", "amp=float16"], 2, "'amp'", "--what-if", "`autocast`"),
    "what-if value": (["ok.py", "--what-if", "batch=0"], 2, "between 1", "--what-if", "batch=1"),
    "what-if dtype": (["ok.py", "--what-if", "dtype=int8"], 2, "'int8'", "--what-if", "float"),
    "what-if optimizer": (
        ["ok.py", "--what-if", "optimizer=adamx"], 2, "'adamx'", "--what-if optimizer=adamx",
        "`Adam",
    ),
    "what-if option": (["ok.py", "--what-if", "momentum=1"], 2, "optimizer", "--what-if", "=sgd"),
    "what-if no value": (["ok.py", "--what-if", "batch"], 2, "no value", "--what-if", "batch="),
    "what-if twice": (["ok.py", "--what-if", "batch=1,batch=2"], 2, "twice", "--what-if", "remove"),
    "what-if of nothing": (["ok.py", "--what-if", ","], 2, "empty", "--what-if ,", "batch="),
    "what-if without autograd": (
        ["ok.py", "--no-grad", "--what-if", "batch=3"], 2, "autograd", "--what-if batch=3",
        "`--no-grad`",
    ),
    "what-if of no batch": (
        ["ok.py", "-i", "4", "--what-if", "batch=3,batch_dim=1"], 2, "are none",
        "--what-if batch=3,batch_dim=1", "`-i`",
    ),
    "endless memory": (
        ["ok.py", "--max-memory", "1e300"], 2, "at most", "--max-memory 1e+300", "60",
    ),
    "an alias": (["ok.py", "--arg", "x=&a [*a]"], 2, "aliases are not", "--arg x=&a", "--arg"),
    "a seed too large": (
        ["ok.py", "--seed", "18446744073709551616"], 2, "--seed must be at most", "--seed 18446",
        "--seed 2",
    ),
    "a name too long": (["ok.py", "-o", 300 * "x"], 2, "too long", "xxx", "folder"),
    "no time": (["ok.py", "--timeout", "0"], 2, "above 0", "--timeout 0", "60"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_said_in_three_lines(case, cli, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    arguments, status, message, place, hint = CASES[case]
    output = [] if {"-o", "-f"} & set(arguments) else ["-f", "json=report.json"]
    result = cli("inspect", *arguments, *output)
    said, where, what = result.error()
    assert message in said
    assert where.startswith(place)
    assert hint in what
    assert result.status == status
    fits = case == "does not fit"  # it ran: a partial report is what a gate wants to keep
    left = {path.name for path in tmp_path.iterdir()} - set(FILES)
    assert left == ({"report.json"} if fits else set())
    assert result.out == ""


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["inspekt", "x"], "unknown command 'inspekt'", "try `hookcli inspect x`"),
        (["inspect"], "missing MODEL", "`hookcli inspect model.py`"),
        (["render", "no.json"], "cannot read no.json", "hookcli inspect MODEL -f json"),
        (
            ["schema", "nothing"],
            "'document' must be one of config, report, diff, run, rundiff, weights, weights_diff, "
            "got 'nothing'",
            "choose from config",
        ),
        (
            ["list", "hoks"],
            "one of hooks, actions, rules, formats, got 'hoks'",
            "try `hooks`",
        ),
        (["inspect", "x.py", "--depth", "-1"], "'--depth' must be at least 0, got '-1'", "--help"),
        (["inspect", "x.py", "--depth"], "requires a value", "hookcli inspect --help"),
        (["inspect", "x.py", "--seed", "1.5"], "'--seed' must be an integer, got '1.5'", "--help"),
        (
            ["inspect", "x.py", "--mode", "evil"],
            "one of train, eval, as-is, got 'evil'",
            "`eval`",
        ),
        (["inspect", "x.py", "--colums", "name"], "unknown option '--colums'", "`--columns`"),
        (["grads", "x.py", "--loss", "smu"], "unknown loss 'smu'", "try `sum`"),
        (["inspect", "x.py", "--zzz"], "unknown option '--zzz'", "hookcli inspect --help"),
    ],
)
def test_usage_errors_look_like_all_others(arguments, message, hint, cli):
    result = cli(*arguments)
    said, _, what = result.error()
    assert message in said
    assert hint in what
    assert result.status == 2


def test_a_report_that_is_none_is_refused_with_the_place_in_it(cli, tmp_path):
    (tmp_path / "r.json").write_text('{"schema": "hookcli.report/1", "command": 3}')
    said, where, _ = (result := cli("render", "r.json")).error()
    assert "not a hookcli report: command" in said
    assert where == "r.json"
    assert result.status == 2


def test_verbose_adds_the_traceback_before_the_three_lines(cli, tmp_path):
    (tmp_path / "m.py").write_text(FILES["raises.py"])
    result = cli("inspect", "m.py", "-v")
    assert "Traceback (most recent call last)" in result.err
    assert result.err.splitlines()[-3].startswith("error: ")


def test_what_stood_in_the_output_file_stays_when_the_run_fails(cli, tmp_path):
    (tmp_path / "m.py").write_text(FILES["raises.py"])
    (tmp_path / "out.json").write_text("precious")
    cli("inspect", "m.py", "-f", "json", "-o", "out.json")
    assert (tmp_path / "out.json").read_text() == "precious"
