"""Common mistakes of models, each beside the model that it resembles."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import hookcli


def found(model, inputs, rule):
    report = hookcli.check(model, inputs=inputs)
    return [row for row in report.checks if (row.rule, row.status) == (rule, "fail")]


# Linear maps


@pytest.mark.parametrize(
    ("layers", "is_found"),
    [
        ([nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)], True),
        ([nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)], False),
        ([nn.Linear(8, 2), nn.Linear(2, 8)], False),  # a bottleneck: an autoencoder
        ([nn.Linear(8, 3)], False),
        ([nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 3)], False),
        ([nn.Linear(8, 16), nn.Softmax(1), nn.Linear(16, 3)], False),
    ],
)
def test_a_model_without_an_activation_is_a_note(layers, is_found):
    rows = found(nn.Sequential(*layers), torch.randn(4, 8), "linear_after_linear")
    assert [row.severity for row in rows] == ["note"] * is_found
    if is_found:
        assert rows[0].message == (
            "the model has no activation: its 3 layers, from '0' to '2', compute one linear map"
        )


def test_convolutions_without_an_activation_are_a_note():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(128, 3))
    [row] = found(model, torch.randn(2, 3, 8, 8), "linear_after_linear")
    assert row.message.startswith("the model has no activation: its 3 layers")


# Attention


class Attention(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) * self.factor
        return scores.softmax(-1) @ self.v(x)


@pytest.mark.parametrize(("factor", "is_found"), [(4.0, True), (1 / 4, False), (2.0, False)])
def test_scores_that_are_multiplied_by_the_root_of_their_terms_are_named(factor, is_found):
    rows = found(Attention(factor), torch.randn(2, 6, 16), "softmax_dimension")
    assert [
        "multiplies its scores, products of 16 terms, by sqrt(16)" in r.message for r in rows
    ] == ([True] * is_found)


# Padding


class Bag(nn.Module):
    def __init__(self, *, masked=False, padding=0):
        super().__init__()
        self.words, self.head = nn.Embedding(20, 8, padding_idx=padding), nn.Linear(8, 2)
        self.masked = masked

    def forward(self, ids):
        vectors = self.words(ids)
        if self.masked:
            return self.head(vectors.sum(1) / (ids != 0).sum(1, keepdim=True))
        return self.head(vectors.mean(1))


PADDED = torch.tensor([[3, 4, 5, 6, 7, 8], [9, 2, 3, 0, 0, 0], [5, 1, 2, 3, 4, 0]])


@pytest.mark.parametrize(
    ("model", "ids", "is_found"),
    [
        (Bag(), PADDED, True),
        (Bag(), PADDED.flip(1), True),
        (Bag(masked=True), PADDED, False),
        (Bag(padding=None), PADDED, False),
        (Bag(), PADDED.clamp(min=1), False),
        (Bag(), PADDED[:, torch.tensor([0, 5, 1, 4, 2, 3])], False),  # tokens by chance
    ],
)
def test_a_mean_that_counts_padding_is_a_note(model, ids, is_found):
    rows = found(model, ids, "padding_tokens")
    assert [row.severity for row in rows] == ["note"] * is_found
    if is_found:
        assert rows[0].message == (
            "a mean counts the vectors of padding: 22% of the tokens are padding_idx=0"
        )


# Code


class Lost(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        shortcut = x  # noqa: F841
        return self.b(torch.relu(self.a(x))) + self.a(x)


class Kept(Lost):
    def forward(self, x):
        shortcut = x
        return self.b(torch.relu(self.a(x))) + shortcut


def test_a_name_that_a_forward_never_reads_is_a_note():
    [row] = found(Lost(), torch.randn(4, 8), "discarded_result")
    assert (row.severity, row.message.partition(" at ")[0]) == (
        "note", "nothing reads `shortcut` after `shortcut = x`",
    )  # fmt: skip
    assert found(Kept(), torch.randn(4, 8), "discarded_result") == []


# Samples


class Flat(nn.Module):
    """A convolution whose result is cut into rows of `columns` values."""

    def __init__(self, columns, back=None):
        super().__init__()
        self.conv, self.columns, self.back = nn.Conv2d(3, 8, 3, padding=1), columns, back
        self.head = nn.Linear(columns, 5)

    def forward(self, x):
        x = self.head(torch.relu(self.conv(x)).view(-1, self.columns))
        return x if self.back is None else x.view(self.back, -1)


class Patches(Flat):
    def forward(self, x):
        x = torch.relu(self.conv(x)).permute(0, 2, 3, 1).contiguous()
        return self.head(x.view(-1, self.columns))


@pytest.mark.parametrize(
    ("model", "effect"),
    [
        (Flat(1024), "[4, 8, 8, 8] into [2, 1024]: it puts 2 samples into one row"),
        (Flat(128), "[4, 8, 8, 8] into [16, 128]: it cuts each sample into 4 rows"),
        (Flat(512), None),  # a sample in each row
        (Flat(64), None),  # a channel in each row
        (Flat(8), None),
        (Flat(128, back=4), None),  # groups of channels, which the model joins again
        (Patches(128), None),  # patches of pixels
    ],
)
def test_a_view_that_joins_or_cuts_samples_is_a_note(model, effect):
    rows = found(model, torch.randn(4, 3, 8, 8), "reshaped_axes")
    assert [row.severity for row in rows] == ["note"] * (effect is not None)
    if effect is not None:
        assert f"a view turns {effect}, and the model returns" in rows[0].message


# Plain tensors


class Slope(nn.Module):
    """An activation with a tensor in an attribute."""

    def __init__(self, slope):
        super().__init__()
        self.fc, self.slope = nn.Linear(8, 8), slope

    def forward(self, x):
        return self.fc(x) * self.slope


class OnDevice(Slope):
    def forward(self, x):
        return self.fc(x) * self.slope.to(x.device)


class Cache(Slope):
    def forward(self, x):
        self.slope = self.fc(x).detach().mean(0)
        return self.fc(x) + self.slope


class Unread(Slope):
    def forward(self, x):
        return self.fc(x)


class Underscore(Slope):
    def __init__(self):
        super().__init__(None)
        self._slope = torch.ones(8)

    def forward(self, x):
        return self.fc(x) * self._slope


class Registered(Slope):
    def __init__(self):
        super().__init__(None)
        del self.slope
        self.register_buffer("slope", torch.ones(8))


def test_plain_tensors_that_a_forward_reads_are_one_note():
    model = nn.Sequential(Slope(torch.ones(8)), nn.ReLU(), Slope(torch.ones(1, 8)))
    [row] = found(model, torch.randn(4, 8), "unregistered_parameters")
    assert (row.severity, row.message) == (
        "note", "'0.slope', '2.slope' are plain tensors, neither parameters nor buffers: no step "
        "trains them, and state_dict() and to() ignore them",
    )  # fmt: skip
    [row] = found(Slope(torch.ones(8)), torch.randn(4, 8), "unregistered_parameters")
    assert row.message.startswith("'slope' is a plain tensor, neither a parameter nor a buffer")


@pytest.mark.parametrize(
    "model",
    [
        Slope(torch.tensor(2.0)), Slope(torch.arange(8)), Slope(torch.ones(8) > 0),
        Slope(nn.Parameter(torch.ones(8))), Slope(2.0), OnDevice(torch.ones(8)),
        Cache(torch.ones(8)), Unread(torch.ones(8)), Underscore(), Registered(),
    ],
)  # fmt: skip
def test_other_attributes_are_no_plain_tensors(model):
    assert found(model, torch.randn(4, 8), "unregistered_parameters") == []


# Shared modules


class Heads(nn.Module):
    """Heads of several layers, which `layers` makes."""

    def __init__(self, layers):
        super().__init__()
        self.fits = [nn.ReLU()] * 2  # a list that is multiplied
        self.heads = nn.ModuleList(nn.Sequential(*layers(), nn.Linear(8, 3)) for _ in range(2))

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads])


def alternating():
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)
    return [first, second, first, second]


def test_lists_inside_of_lists_that_have_one_module_in_a_row_are_notes():
    rows = found(Heads(lambda: [nn.Linear(8, 8)] * 2), torch.randn(4, 8), "repeated_module")
    assert [(row.severity, row.target, row.value) for row in rows] == [
        ("note", "heads.0", 2), ("note", "heads.1", 2),
    ]  # fmt: skip
    assert rows[0].message.startswith("2 of the 3 entries of 'heads.0' are one module, since")


@pytest.mark.parametrize(
    "layers",
    [
        lambda: [nn.Linear(8, 8) for _ in range(2)],
        lambda: [nn.Linear(8, 8), nn.ReLU(), nn.ReLU()],
        alternating,
    ],
)
def test_lists_without_one_module_in_a_row_are_fine(layers):
    assert found(Heads(layers), torch.randn(4, 8), "repeated_module") == []


# Means over padding


class Sentences(nn.Module):
    """One vector for each sequence: a mean of its vectors, `how` it is taken."""

    def __init__(self, how):
        super().__init__()
        self.mix, self.head, self.how = nn.Linear(8, 8), nn.Linear(8, 3), how

    def forward(self, x, mask):
        return self.head(self.how(torch.tanh(self.mix(x)), mask))


def of_known(x, mask):
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


LENGTHS = torch.arange(6) < torch.tensor([6, 4, 2])[:, None]


@pytest.mark.parametrize(
    ("how", "mask", "is_found"),
    [
        (lambda x, mask: x.mean(1), LENGTHS.long(), True),
        (lambda x, mask: x.mean(1), ~LENGTHS, True),
        (lambda x, mask: x.mean(1), torch.ones(3, 6), False),  # no padding
        (lambda x, mask: x.mean(1), LENGTHS.flip(0).roll(2, 1), False),  # no mask of sequences
        (of_known, LENGTHS.float(), False),
        (lambda x, mask: (x * mask[..., None]).mean(1), LENGTHS.float(), False),
        (lambda x, mask: x.mean(2, keepdim=True).expand(3, 6, 8)[:, 0], LENGTHS, False),
    ],
)
def test_a_mean_that_counts_what_a_mask_hides_is_a_note(how, mask, is_found):
    rows = found(Sentences(how), (torch.randn(3, 6, 8), mask), "padding_tokens")
    assert [row.severity for row in rows] == ["note"] * is_found
    if is_found:
        assert rows[0].message == (
            "a mean counts the vectors of padding: 33% of the positions, by a mask that the model "
            "gets"
        )


# Decoders


class Translator(nn.Module):
    """A decoder of tokens, whose `masks` are its arguments beside target and memory."""

    def __init__(self, pooled=False, chain=False, batch_first=True, **masks):
        super().__init__()
        self.words, self.pooled, self.masks = nn.Embedding(20, 8), pooled, masks
        layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=batch_first)
        self.decoder = layer if chain else nn.TransformerDecoder(layer, 2)
        self.head = nn.Linear(8, 20)

    def forward(self, memory, ids):
        out = self.head(self.decoder(self.target(ids), memory, **self.masks))
        return out.mean(1) if self.pooled else out

    def target(self, ids):
        return self.words(ids) * 8**0.5


class Queries(Translator):
    """A decoder of learned queries, as that of DETR."""

    def __init__(self):
        super().__init__()
        self.queries = nn.Embedding(5, 8)

    def target(self, ids):
        return self.queries(torch.arange(5).expand(len(ids), 5))


IDS = torch.randint(0, 20, (3, 5), generator=torch.Generator().manual_seed(1))
HIDE = torch.ones(5, 5).triu(1).bool()


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (Translator(), "TransformerDecoder"),
        (Translator(chain=True), "TransformerDecoderLayer"),
        (Translator(tgt_mask=HIDE), None),
        (Translator(tgt_mask=None), None),  # an argument for other batches
        (Translator(pooled=True), None),
        (Queries(), None),
    ],
)
def test_a_decoder_of_tokens_without_a_mask_is_a_note(model, kind):
    rows = found(model, (torch.randn(3, 7, 8), IDS), "causal_mask")
    assert [row.severity for row in rows] == ["note"] * (kind is not None)
    if kind is not None:
        assert rows[0].message == (
            f"'decoder' ({kind}) gets no tgt_mask: each position of the target sees later ones"
        )


def test_a_decoder_with_time_first_is_a_note_too():
    model = Translator(batch_first=False)
    assert len(found(model, (torch.randn(7, 5, 8), IDS), "causal_mask")) == 1


# Outputs


class Ends(nn.Module):
    def __init__(self, end, bias=0.0):
        super().__init__()
        self.body, self.fc = nn.Linear(8, 8), nn.Linear(8, 5)
        nn.init.constant_(self.fc.bias, bias)
        self.end = end

    def forward(self, x):
        return self.end(self.fc(torch.relu(self.body(x))))


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Ends(torch.relu), True),
        (Ends(nn.ReLU(inplace=True)), True),
        (Ends(lambda x: x), False),
        (Ends(torch.relu, bias=5.0), False),  # no value is cut off
        (Ends(lambda x: (torch.relu(x), x)), False),
        (Ends(lambda x: torch.relu(x).mean(1, keepdim=True)), False),
        (Ends(lambda x: torch.relu(x)[:, None]), False),
        (Ends(nn.functional.leaky_relu), False),
    ],
)
def test_a_relu_at_the_end_of_a_model_is_a_note(model, is_found):
    torch.manual_seed(1)
    rows = found(model, torch.randn(64, 8), "clipped_logits")
    assert [row.severity for row in rows] == ["note"] * is_found
    if is_found:
        assert rows[0].message.startswith(
            "the model ends with a ReLU behind 'fc': none of its 5 outputs is negative, and the "
        )


@pytest.mark.parametrize(
    ("end", "is_found"),
    [
        (lambda x: x.clamp(0, 1), True),
        (nn.Hardtanh(-0.1, 0.1), True),
        (lambda x: x.clamp(-9, 9), False),
        (lambda x: x.clamp(min=0), False),
        (lambda x: x.sigmoid().clamp(0, 1), False),
    ],
)
def test_a_clamp_at_the_end_of_a_model_is_a_note(end, is_found):
    torch.manual_seed(1)
    rows = found(Ends(end), torch.randn(64, 8), "clipped_logits")
    assert [row.severity for row in rows] == ["note"] * is_found
    assert all(row.message.startswith("the model ends with a clamp behind 'fc'") for row in rows)


# Weights


def stages(std):
    layers = []
    for size in (3, *[32] * 8):
        conv = nn.Conv2d(size, 32, 3, padding=1)
        if std is not None:
            nn.init.normal_(conv.weight, std=std)
        layers += [conv, nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(32, 2, 1))


def test_weights_from_the_unit_normal_explain_large_gradients():
    torch.manual_seed(1)
    model, inputs = stages(1.0), torch.randn(2, 3, 24, 24)
    [row] = found(model, inputs, "grad_norm")
    # 1 / sqrt(3 * 32 * 9) is 0.034
    assert re.fullmatch(
        r"the norm over all gradients is above 1e\+08: the values of '\d+\.weight' have a root "
        r"mean square of 1, (29|30) times that of torch's initialization; 8 more weights are "
        r"more than 5 times as large",
        row.message,
    )


def test_large_gradients_of_small_weights_have_another_cause():
    torch.manual_seed(1)
    model = nn.Sequential(Ends(lambda x: x * 1e9))
    [row] = found(model, torch.randn(4, 8), "grad_norm")
    assert row.message == "the norm over all gradients is above 1e+08"
    assert found(stages(None), torch.randn(2, 3, 24, 24), "grad_norm") == []


# Last blocks


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.on, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = torch.tanh(self.body(x))
        return self.on(x), self.out(x)


class Chain(nn.Module):
    """Blocks that pass one result on, and add up the other one."""

    def __init__(self, blocks=3, used=None):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.used = blocks if used is None else used

    def forward(self, x):
        total = 0
        for i, block in enumerate(self.blocks):
            x, part = block(x)
            total = total + part if i < self.used else total
        return total


class Cut(Chain):
    """No block passes its result on."""

    def forward(self, x):
        return sum(block(x)[1] for block in self.blocks)


def test_a_result_that_only_the_last_block_passes_to_nobody_is_a_note():
    rows = found(Chain(), torch.randn(4, 8), "grad_exists")
    assert [(row.severity, row.target) for row in rows] == [("note", "blocks.2.on")]
    assert rows[0].message.endswith("; those of 'blocks.1' got one")


@pytest.mark.parametrize("model", [Chain(1), Chain(3, used=2), Cut()])
def test_other_missing_gradients_of_blocks_are_warnings(model):
    rows = found(model, torch.randn(4, 8), "grad_exists")
    assert rows
    assert {row.severity for row in rows} == {"warning"}


class Whole(nn.Module):
    def __init__(self, **masks):
        super().__init__()
        self.words, self.head, self.masks = nn.Embedding(20, 8), nn.Linear(8, 20), masks
        self.net = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

    def forward(self, memory, ids):
        return self.head(self.net(memory, self.words(ids), **self.masks))


@pytest.mark.filterwarnings("ignore")
def test_a_whole_transformer_without_a_mask_is_a_note_once():
    inputs = (torch.randn(3, 7, 8), IDS)
    [row] = found(Whole(), inputs, "causal_mask")
    assert row.message.startswith("'net' (Transformer) gets no tgt_mask")
    assert found(Whole(tgt_mask=HIDE), inputs, "causal_mask") == []


class Overwritten(Lost):
    def forward(self, x):
        h = torch.relu(self.a(x))
        y = self.drop(h)
        y = torch.relu(self.b(h))
        return y + x

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)


class Read(Overwritten):
    def forward(self, x):
        y = self.drop(x)
        y = torch.relu(self.b(y)) + self.a(x)
        return y + x


class Added(Lost):
    def forward(self, x):
        y = self.a(x)
        y.add(x)
        return self.b(y)


class Collected(Lost):
    def forward(self, x):
        seen = set()
        seen.add("a")
        return self.b(self.a(x))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Overwritten, ["the result of `self.drop` at "]),
        (Read, []),
        (Added, ["`add` at "]),
        (Collected, []),
    ],
)
def test_results_that_are_lost_in_a_forward_are_found(kind, words):
    rows = found(kind(), torch.randn(4, 8), "discarded_result")
    assert len(rows) == len(words)
    assert all(row.message.startswith(text) for row, text in zip(rows, words, strict=True))


# Softmaxes over one element


class Softmax(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.first, self.function = nn.Conv1d(4, 1, 1), function
        self.second = nn.Conv1d(4, 4, 1)

    def forward(self, x):
        return self.second(x) * self.function(self.first(x), self.second(x))


ONE = {
    "one channel": lambda one, many: one.softmax(1),
    "the last element": lambda one, many: many[..., -1:].softmax(-1),
    "a part": lambda one, many: (many.split([4, 1], -1)[1] / 3).softmax(-1),
    "a mean": lambda one, many: many.mean(1, keepdim=True).softmax(1),
    "a new dimension": lambda one, many: many.unsqueeze(1).softmax(1).squeeze(1),
    "transposed": lambda one, many: one.transpose(1, 2).softmax(-1).transpose(1, 2),
}
SEVERAL = {
    "one channel, along the positions": lambda one, many: one.softmax(-1),
    "one query": lambda one, many: (many[:, :1] @ many.transpose(1, 2)).softmax(-1),
    "one product": lambda one, many: (many[:, :, :1].mT @ many[:, :, :1]).softmax(-1),
}


@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_a_softmax_over_a_dimension_that_always_has_one_element(name):
    function = {**ONE, **SEVERAL}[name]
    rows = found(Softmax(function), torch.randn(4, 4, 5), "normalizes_one_value")
    assert ["is over one element" in row.message for row in rows] == [True] * (name in ONE)


# Masks in front of a softmax


class Masked(Attention):
    def __init__(self, fill, by_where):
        super().__init__(0.25)
        self.fill, self.by_where = fill, by_where

    def forward(self, x):
        hidden = torch.arange(x.shape[1]) >= torch.arange(1, len(x) + 1)[:, None, None]
        scores = self.q(x) @ self.k(x).transpose(1, 2) * self.factor
        if self.by_where:
            scores = torch.where(hidden, self.fill, scores)
        else:
            scores = scores.masked_fill(hidden, self.fill)
        return scores.softmax(-1) @ self.v(x)


@pytest.mark.parametrize("by_where", [False, True])
@pytest.mark.parametrize(("fill", "is_found"), [(-1e-9, True), (-1e9, False), (-torch.inf, False)])
def test_masked_scores_that_keep_their_weight(fill, by_where, is_found):
    rows = found(Masked(fill, by_where), torch.randn(4, 5, 16), "softmax_dimension")
    assert [row.message.startswith("softmax in") for row in rows] == [True] * is_found
    if is_found:
        assert "gives masked scores" in rows[0].message


# Shortcuts that are added twice


class Residual(nn.Module):
    def __init__(self, *, twice):
        super().__init__()
        self.layer, self.twice = nn.Linear(8, 8), twice

    def forward(self, x):
        out = torch.relu(self.layer(x))
        out = out + x
        return x + out if self.twice else out


class Nested(nn.Module):
    """A long shortcut around a block that has its own."""

    def __init__(self):
        super().__init__()
        self.first, self.block = nn.Linear(8, 8), Residual(twice=False)

    def forward(self, x):
        x = self.first(x)
        return x + self.block(x)


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (nn.Sequential(nn.Linear(8, 8), Residual(twice=True)), True),
        (nn.Sequential(nn.Linear(8, 8), Residual(twice=False)), False),
        (Nested(), False),
    ],
)
def test_a_shortcut_that_is_added_twice_is_a_note(model, is_found):
    rows = found(model, torch.randn(4, 8), "shortcuts")
    assert ["it is added twice" in row.message for row in rows] == [True] * is_found


class Relaxed(nn.Module):
    """Gates of a relaxed distribution, which are to be nearly 0 or 1."""

    def __init__(self, temperature):
        super().__init__()
        self.layer, self.gate, self.temperature = nn.Linear(8, 8), nn.Linear(8, 8), temperature

    def forward(self, x):
        scores = 20 * self.gate(x)
        return self.layer(x) * torch.sigmoid(scores / self.temperature)


@pytest.mark.parametrize(("temperature", "is_found"), [(0.1, False), (1.0, True)])
def test_a_sigmoid_with_a_temperature_may_be_saturated(temperature, is_found):
    torch.manual_seed(0)
    rows = found(Relaxed(temperature), torch.randn(64, 8), "saturated_activation")
    assert len(rows) == is_found


# Scales of noise


class Coder(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.mean, self.spread, self.scale = nn.Linear(8, 4), nn.Linear(8, 4), scale


class ByVariance(Coder):
    def forward(self, x):
        mu, logvar = self.mean(x), self.spread(x)
        return mu + torch.randn_like(mu) * logvar.exp()


class ByNamedVariance(Coder):
    def forward(self, x):
        mu, log_var = self.mean(x), self.spread(x)
        std = torch.exp(log_var)
        eps = torch.randn_like(std)
        return eps * std + mu


class ByDeviation(Coder):
    def forward(self, x):
        mu, logvar = self.mean(x), self.spread(x)
        return mu + torch.randn_like(mu) * (0.5 * logvar).exp()


class ByLogDeviation(Coder):
    def forward(self, x):
        mu, log_std = self.mean(x), self.spread(x)
        return mu + torch.randn_like(mu) * log_std.exp()


class Precision(Coder):
    def forward(self, x):
        mu, logvar = self.mean(x), self.spread(x)
        return mu * logvar.exp()


@pytest.mark.parametrize(
    ("kind", "is_found"),
    [
        (ByVariance, True), (ByNamedVariance, True), (ByDeviation, False), (ByLogDeviation, False),
        (Precision, False),
    ],
)  # fmt: skip
def test_noise_that_is_scaled_by_the_variance(kind, is_found):
    rows = found(kind(None), torch.randn(4, 8), "noise_scale")
    assert ["which is the variance by its name" in row.message for row in rows] == [True] * is_found


# Ranges of values


class Narrow(nn.Module):
    def __init__(self, hidden, gate):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 16), nn.Linear(16, hidden), nn.Linear(hidden, 4)
        self.gate = gate

    def forward(self, x):
        x = torch.relu(self.a(x))
        y = self.c(torch.relu(self.b(x)))
        return y + x[:, :4] if self.gate else y


@pytest.mark.parametrize(
    ("hidden", "gate", "is_found"), [(1, False, True), (2, False, False), (1, True, False)]
)
def test_all_inputs_pass_through_one_unit(hidden, gate, is_found):
    rows = found(Narrow(hidden, gate), torch.randn(4, 8), "linear_after_linear")
    assert [row.message for row in rows] == is_found * [
        "'b' has one unit with a ReLU for 16 inputs: all that the next layer gets is one number, "
        "often 0"
    ]


class Encoder(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.mean, self.spread, self.back = (nn.Linear(8, 8) for _ in range(3))
        self.limit = limit

    def forward(self, x):
        spread = self.limit(self.spread(x))
        return self.back(self.mean(x) + torch.exp(0.5 * spread) * torch.randn(4, 8))


@pytest.mark.parametrize(
    ("limit", "is_found"), [(nn.Softplus(), True), (nn.ReLU(), True), (nn.Tanh(), False)]
)
def test_noise_with_a_deviation_of_at_least_one(limit, is_found):
    rows = found(Encoder(limit), torch.randn(4, 8), "noise_scale")
    assert ["never negative: the deviation is 1 or more" in row.message for row in rows] == (
        [True] * is_found
    )


class ScaledHeads(nn.Module):
    def __init__(self, width, before):
        super().__init__()
        self.qkv, self.width, self.before = nn.Linear(32, 96), width, before

    def forward(self, x):
        q, k, v = self.qkv(x).view(2, 6, 3, 4, 8).permute(2, 0, 3, 1, 4)
        scale = self.width**-0.5
        scores = (q * scale) @ k.mT if self.before else q @ k.mT * scale
        return scores.softmax(-1) @ v


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(("width", "is_found"), [(32, True), (8, False), (20, False)])
def test_scores_that_are_scaled_by_the_size_of_all_heads(width, before, is_found):
    rows = found(ScaledHeads(width, before), torch.randn(2, 6, 32), "softmax_dimension")
    assert [row.severity for row in rows] == ["note"] * is_found
    if is_found:
        assert "products of 8 terms, by sqrt(32), the size of all 4 heads" in rows[0].message


class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Reverse(Multiply):
    @staticmethod
    def forward(ctx, x, factor):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -0.5 * gradient, None


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(8, 8), function

    def forward(self, x):
        return self.function.apply(self.layer(x), 30.0)


@pytest.mark.parametrize(("function", "is_found"), [(Multiply, True), (Reverse, False)])
def test_a_function_that_multiplies_and_returns_its_gradient_as_it_is(function, is_found):
    rows = found(Applied(function), torch.randn(4, 8), "wrong_backward")
    assert len(rows) == is_found


# Choices, convolutions, and squashed values


class Neighbours(nn.Module):
    def __init__(self, axis):
        super().__init__()
        self.layer, self.axis = nn.Linear(8, 8), axis

    def forward(self, x):
        x = self.layer(x).transpose(1, 2)  # [batch, features, points]
        index = torch.zeros(len(x), 8, 6, 2, dtype=torch.long)
        size = [1, 1, 1, 1]
        size[self.axis] = 6
        return torch.gather(x.unsqueeze(self.axis).repeat(size), -1, index)


@pytest.mark.parametrize(("axis", "is_found"), [(3, True), (2, False)])
def test_a_gather_along_the_repeated_dimension(axis, is_found):
    rows = found(Neighbours(axis), torch.randn(2, 6, 8), "equal_choices")
    assert [row.message for row in rows] == is_found * [
        "gather in the model (Neighbours) chooses along dimension 3 of [2, 8, 6, 6], where a "
        "tensor is repeated: whatever the index is, the values are the same"
    ]


@pytest.mark.parametrize(
    ("between", "kernel", "groups", "is_found"),
    [
        (nn.Identity, 3, 1, True),
        (nn.ReLU, 3, 1, False),
        (nn.Identity, 1, 1, False),
        (nn.Identity, 3, 4, False),
    ],
)
def test_convolutions_that_follow_each_other(between, kernel, groups, is_found):
    layers = [nn.Conv2d(4, 4, kernel, padding="same", groups=groups) for _ in range(3)]
    parts = [part for layer in layers for part in (layer, between())]
    model = nn.Sequential(*parts, nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    rows = found(model, torch.randn(2, 4, 6, 6), "linear_after_linear")
    assert [row.message for row in rows] == is_found * [
        "3 convolutions from '0' to '4' follow each other without an activation: they compute one "
        "linear map"
    ]


class Actor(nn.Module):
    def __init__(self, squash):
        super().__init__()
        self.head, self.squash = nn.Linear(8, 2), squash

    def forward(self, x):
        return torch.tanh(self.squash(self.head(x)) + 0.1 * torch.randn(4, 2))


@pytest.mark.parametrize(("squash", "is_found"), [(torch.tanh, True), (torch.sin, False)])
def test_a_tanh_of_a_tanh(squash, is_found):
    rows = found(Actor(squash), torch.randn(4, 8), "clipped_logits")
    assert [row.message for row in rows] == is_found * [
        "tanh gets the result of tanh: the result is at most 0.762, however large the values are"
    ]


class Rewriter(nn.Module):
    """Writes tokens anew, and returns its loss; its positions have a fixed length."""

    def __init__(self, *, masked):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.place = nn.Embedding(20, 8), nn.Parameter(torch.randn(6, 8))
        self.transformer = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
        self.head, self.masked = nn.Linear(8, 20), masked

    def forward(self, old, new):
        given = torch.cat([torch.zeros_like(new[:, :1]), new[:, :-1]], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        target = self.embed(given) + self.place
        options = {"tgt_mask": mask} if self.masked else {}
        states = self.transformer(self.embed(old) + self.place, target, **options)
        return nn.functional.cross_entropy(self.head(states).flatten(0, 1), new.flatten())


@pytest.mark.parametrize("masked", [False, True])
def test_a_decoder_without_a_mask_in_a_model_that_returns_its_loss(masked):
    generator = torch.Generator().manual_seed(3)
    old, new = torch.randint(1, 20, (2, 4, 6), generator=generator)
    rows = found(Rewriter(masked=masked), (old, new), "causal_mask")
    assert [row.severity for row in rows] == ([] if masked else ["warning"])


class Offers(nn.Module):
    """Scores several offers for each guest, as rows of one matrix, and returns its loss."""

    def __init__(self, spread):
        super().__init__()
        torch.manual_seed(0)
        self.score, self.spread = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)), spread

    def forward(self, guest, offers, taken):
        rows = torch.cat([self.spread(guest), offers.flatten(0, 1)], dim=1)
        scores = self.score(rows).view(len(guest), offers.shape[1])
        return nn.functional.cross_entropy(scores, taken)


@pytest.mark.parametrize(
    ("spread", "count"),
    [(lambda guest: guest.tile((4, 1)), 1), (lambda guest: guest.repeat_interleave(4, 0), 0)],
)
def test_rows_of_several_samples_in_a_model_that_returns_its_loss(spread, count):
    generator = torch.Generator().manual_seed(3)
    batch = torch.randn(5, 3, generator=generator), torch.randn(5, 4, 3, generator=generator)
    rows = found(Offers(spread), (*batch, torch.arange(5) % 4), "batch_independent")
    assert len(rows) == count
