"""What the search reads in the code of a model: names, attributes, assertions, error messages."""

from __future__ import annotations

import pytest

from hookcli.engine.batch import candidates
from hookcli.errors import NoBatchError
from tests.conftest import HEAD

from .test_infer import found, net

CONV = "self.a = nn.Conv2d(3, 4, 3)"
CONV1D = "self.a = nn.Conv1d(4, 4, 3)"
LINEAR = "self.a = nn.Linear(3, 2)"
TABLE = "self.e = nn.Embedding(9, 4)"


@pytest.fixture(autouse=True)
def _undeclared(monkeypatch):
    monkeypatch.setattr(candidates, "declarations", lambda *_, **__: iter(()))


def config(layer, **values):
    """The code of a layer and of a configuration beside it."""
    named = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"self.a = {layer}\nself.config = SimpleNamespace({named})"


NAMES = {
    "edge features": (
        "self.a = nn.Linear(5, 2)\nself.e = nn.Linear(3, 2)", "x, edge_index, edge_attr",
        "return self.a(x)[edge_index[0]] + self.e(edge_attr)",
        "-i 8x5 -i 2x16:int64:0..8 -i 16x3",
    ),
    "padding": (
        "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "x, key_padding_mask",
        "return self.a(x, x, x, key_padding_mask=key_padding_mask)[0]",
        "-i 2x16x8 -i 2x16:bool:zeros",
    ),
    "dense features": (
        f"self.a = nn.Linear(13, 4)\n{TABLE}", "dense, ids",
        "return self.a(dense) + self.e(ids).mean(1)", "-i 2x13 -i 2x16:int64:0..9",
    ),
    "frames": (
        "self.a = nn.Conv3d(3, 4, 3)\nself.num_frames, self.image_size = 4, 16", "pixel_values",
        "return self.a(pixel_values.transpose(1, 2))", "-i 2x4x3x16x16",
    ),
    "two sizes of an image": (
        f"{CONV}\nself.image_size = (40, 24)", "image", "return self.a(image)", "-i 2x3x24x24",
    ),
    "a spectrogram in place of a waveform": (
        config("nn.Linear(40, 2)", num_mel_bins=40, max_length=96), "input_values",
        "return self.a(input_values)", "-i 2x96x40",
    ),
    "a waveform with channels": (
        config("nn.Conv1d(2, 2, 8)", audio_channels=2), "input_values",
        "return self.a(input_values)", "-i 2x2x16000",
    ),
    "features of a spectrogram": (
        config("nn.Linear(20, 2)", input_feat_per_channel=20), "input_features",
        "return self.a(input_features)", "-i 2x128x20",
    ),
    "a spectrogram": (
        config("nn.Conv1d(40, 2, 8)", num_mel_bins=40, max_source_positions=50), "mel",
        "return self.a(mel)", "-i 2x40x100",
    ),
    "a time series": (
        config("nn.Linear(3, 2)", context_length=24, num_input_channels=3), "past_values",
        "return self.a(past_values)", "-i 2x24x3",
    ),
    "type hints": (
        LINEAR, "x, flag: bool, n: int, name: str", "return self.a(x)",
        "-i 2x3 -i value:false -i value:1 -i value:text",
    ),
    "codes without a table": (LINEAR, "codes", "return self.a(codes)", "-i 2x3"),
    "labels of tokens": (
        f"{TABLE}\nself.a = nn.Linear(4, 9)", "input_ids, labels",
        "return F.cross_entropy(self.a(self.e(input_ids)).transpose(1, 2), labels)",
        "-i 2x16:int64:0..9 -i 2x16:int64:0..2",
    ),
    "what an encoder made": (
        TABLE, "tgt, memory", "return self.e(tgt) + memory.mean(1, keepdim=True)",
        "-i 2x16:int64:0..9 -i 2x16x4",
    ),
    "the size of the noise": (
        "self.a = nn.Linear(24, 4)\nself.latent_dim = 24", "z", "return self.a(z)", "-i 2x24",
    ),
    "the main input": (
        f"{TABLE}\nself.main_input_name = 'ids'", "x=None, ids=None",
        "return x if ids is None else self.e(ids)", "-i ids=2x16:int64:0..9",
    ),
    "the state of a cell": (
        "self.a = nn.LSTMCell(6, 4)", "x, h, c", "return self.a(x, (h, c))",
        "-i 2x6 -i 2x4 -i 2x4",
    ),
    "the state of another number of samples": (
        "self.a = nn.GRUCell(6, 4)", "x, hidden", "return self.a(x[:1], hidden)",
        "-i 2x6 -i 1x4",
    ),
    "the state for an input without samples": (
        "self.a = nn.LSTM(6, 4)", "x, state", "return self.a(x[:, 0], state)",
        "-i 16x2x6 -i '[1x4, 1x4]'",
    ),
}  # fmt: skip

FAILURES = {
    "torch._assert": (
        CONV, "x", "torch._assert(x.shape[2] == 48, 'size')\n"
        "torch._assert(x.shape[3] == 48, 'size')\nreturn self.a(x)", "-i 2x3x48x48",
    ),
    "a condition that raises": (
        CONV1D, "x", "if x.shape[-1] != 48:\n    raise ValueError('size')\nreturn self.a(x)",
        "-i 2x4x48",
    ),
    "more than": (CONV1D, "x", "assert x.size(2) > 100\nreturn self.a(x)", "-i 2x4x112"),
    "less than": (CONV1D, "x", "assert x.size(2) < 50\nreturn self.a(x)", "-i 2x4x32"),
    "two sizes at once": (
        CONV, "x", "assert x.shape[2:] == (48, 48)\nreturn self.a(x)", "-i 2x3x48x48",
    ),
    "a product": (
        f"{CONV1D}\nself.sizes = [6, 8]", "x",
        "assert x.shape[-1] == self.sizes[0] * self.sizes[1]\nreturn self.a(x)", "-i 2x4x48",
    ),
    "a length": (
        f"{CONV1D}\nself.steps = [0] * 48", "x",
        "assert x.shape[-1] == len(self.steps)\nreturn self.a(x)", "-i 2x4x48",
    ),
    "the number of dimensions": (
        "self.a = nn.Linear(6, 2)", "x", "assert x.shape == (2, 16, 6), 'three dimensions'\n"
        "return self.a(x)", "-i 2x16x6",
    ),
    "a step of one token": (
        f"{TABLE}\nself.a = nn.GRU(4, 4)", "input, hidden",
        "return self.a(self.e(input).view(1, 1, -1), hidden)", "-i 1:int64:0..9 -i 1x1x4",
    ),
    "floats instead of indices": (
        "self.w = nn.Parameter(torch.zeros(16, 4))", "ids", "return torch.matmul(ids, self.w)",
        "-i 2x16",
    ),
    "indices instead of floats": (
        "self.w = nn.Parameter(torch.zeros(100, 4))", "x", "return self.w[x]",
        "-i 2x16:int64:0..100",
    ),
    "an integer": (
        LINEAR, "x, steps", "return [self.a(x) for _ in range(steps)]", "-i 2x3 -i value:1",
    ),
    "None": (LINEAR, "x=None, y=None", "return self.a(x + y)", "-i 2x3 -i y=2x3"),
    "the input of a decoder": (
        LINEAR, "x, decoder_x=None", "if decoder_x is None:\n"
        "    raise ValueError('you must pass decoder_x')\nreturn self.a(x + decoder_x)",
        "-i 2x3 -i decoder_x=2x3",
    ),
    "a key": (
        LINEAR, "batch", "key = 'x' + '2'\nreturn self.a(batch['x']) + self.a(batch[key])",
        "-i '{x: 2x3, x2: 2x3}'",
    ),
    "a whole shape": (
        CONV1D, "x", "if x.shape != (2, 4, 50):\n    raise ValueError(f'expected shape "
        "(2, 4, 50), got ({x.shape[0]}, {x.shape[1]}, {x.shape[2]})')\nreturn self.a(x)",
        "-i 2x4x50",
    ),
    "a view of an image": (
        "self.a = nn.Conv2d(1, 2, 3)", "x", "return self.a(x.view(-1, 1, 28, 28))",
        "-i 2x1x28x28",
    ),
    "a view of a coloured image": (
        CONV, "x", "return self.a(x.view(2, 3, 20, 20))", "-i 2x3x20x20",
    ),
    "a large kernel": ("self.a = nn.Conv2d(3, 4, 100)", "x", "return self.a(x)", "-i 2x3x128x128"),
    "an equation": (
        "self.w = nn.Parameter(torch.zeros(6, 4))", "x",
        "return torch.einsum('btf,fg->btg', x, self.w)", "-i 2x16x6",
    ),
    "two products": (
        "self.w = nn.Parameter(torch.zeros(7, 4))\nself.v = nn.Parameter(torch.zeros(9, 4))",
        "x, y", "return x @ self.w + y @ self.v", "-i 2x7 -i 2x9",
    ),
    "features of a cube": (
        "self.a = nn.Conv3d(3, 4, 2)\nself.b = nn.Linear(4 * 5 * 5 * 5, 2)", "x",
        "return self.b(self.a(x).flatten(1))", "-i 2x3x6x6x6",
    ),
    "channels of a norm": (
        "self.a = nn.BatchNorm1d(6)\nself.b = nn.BatchNorm1d(5)", "x, y",
        "return self.a(x).sum() + self.b(y).sum()", "-i 2x6 -i 2x5",
    ),
    "channels of groups": (
        "self.a = nn.GroupNorm(2, 6)\nself.b = nn.GroupNorm(1, 5)", "x, y",
        "return self.a(x).sum() + self.b(y).sum()", "-i 2x6x64x64 -i 2x5x64x64",
    ),
    "a grid that is not square, of wide strides": (  # 84 // 5 = 16, 64 // 5 = 12
        "self.a = nn.Conv2d(1, 4, 5, 5)", "x", "return self.a(x).view(len(x), 4, 16, 12)",
        "-i 2x1x84x64",
    ),
}  # fmt: skip

GROWING = "n = x.shape[-1]\nif {bad}:\n    raise ValueError(f'got {{{got}}}, expected {want}')\n"
WITHOUT_SOLUTION = {
    "smaller and larger sizes are worse": (
        CONV1D, GROWING.format(bad="True", got="102 if n == 128 else 105", want=100),
    ),
    "larger sizes are slowly better": (
        CONV1D, GROWING.format(bad="True", got="10**9 - n", want=100),
    ),
    "the smallest size is too large": (
        CONV1D, GROWING.format(bad="True", got="n + 1000", want=100),
    ),
    "no two sides have this product": (
        CONV, GROWING.format(bad="True", got="n * x.shape[-2]", want=10007),
    ),
    "a view has no free size": (LINEAR, "return self.a(x.view(20))"),
    "a function of a size": (CONV1D, "assert x.shape[2] == max(3, 48)\nreturn self.a(x)"),
    "sizes in a loop": (CONV1D, "assert all(n == 48 for n in (*x.shape, 7))\nreturn self.a(x)"),
    "the size of another object": (
        f"{CONV1D}\nself.f = SimpleNamespace(size=lambda: 48)",
        "assert x.shape[2] == self.f.size()\nreturn self.a(x)",
    ),
}  # fmt: skip


def write(folder, init, signature, body):
    path = folder / "net.py"
    path.write_text("from types import SimpleNamespace\n" + HEAD + net(init, signature, body))
    return path


@pytest.mark.parametrize(
    ("case", "most"),
    [
        *(pytest.param(case, 12, id=name) for name, case in NAMES.items()),
        *(pytest.param(case, 64, id=name) for name, case in FAILURES.items()),
    ],
)
def test_a_name_an_attribute_or_a_failure_tells_the_input(case, most, tmp_path):
    init, signature, body, flags = case
    got, result = found(write(tmp_path, init, signature, body))
    assert got == flags
    assert len(result.trials) <= most


@pytest.mark.parametrize("name", WITHOUT_SOLUTION)
def test_the_search_ends_if_no_size_fits(name, tmp_path):
    init, body = WITHOUT_SOLUTION[name]
    with pytest.raises(NoBatchError, match="inferred batches failed"):
        found(write(tmp_path, init, "x", body))


@pytest.mark.parametrize("file", ["<made>", "notes.txt"])
def test_an_assertion_without_source_tells_nothing(file, tmp_path):
    """The text of the assertion is unknown, or is not Python."""
    (tmp_path / "notes.txt").write_text("The size is 48.\n")
    name = file if file == "<made>" else str(tmp_path / file)
    code = f"""
MADE = {{}}
exec(compile("def check(x):\\n    assert x.shape[2] == 48", {name!r}, "exec"), MADE)
"""
    path = write(tmp_path, CONV1D, "x", "MADE['check'](x)\nreturn self.a(x)")
    path.write_text(path.read_text() + code)
    with pytest.raises(NoBatchError, match="AssertionError without a message"):
        found(path)


def test_a_forward_without_source_is_tried_with_its_layers(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(7, 2)\n"
        "    exec('def forward(self, batch):\\n    return self.a(batch)')\n"
    )
    assert found(path)[0] == "-i 2x7"


def test_a_layer_whose_sizes_raise_gives_no_clue(tmp_path):
    layer = """
class Odd(nn.Linear):
    @property
    def in_features(self):
        raise RuntimeError("not yet")
    @in_features.setter
    def in_features(self, value):
        pass
    def forward(self, x):
        return x
"""
    path = write(tmp_path, "self.o, self.a = Odd(3, 3), nn.Linear(7, 2)", "x",
                 "return self.a(self.o(x))")  # fmt: skip
    path.write_text(path.read_text() + layer)
    assert found(f"{path}:Net")[0] == "-i 2x7"
