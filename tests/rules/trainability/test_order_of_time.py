"""Causal masks that do not hide later positions, and positions without effect."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli

IDS = torch.tensor([[1, 5, 2, 7, 3, 6], [4, 0, 8, 1, 7, 2], [2, 3, 5, 8, 0, 1]])


def finding(model, rule, *inputs):
    report = hookcli.check(model, inputs=inputs or (IDS,), rules=[rule])
    (row,) = report.checks
    return row


class Decoder(nn.Module):
    """One attention with a mask that each model makes, and logits of tokens."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.head = nn.Embedding(9, 8), nn.Linear(8, 9)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def mask(self, t):
        """Return which positions are hidden, or None."""

    def forward(self, ids):
        x = self.embedding(ids)
        mask = self.mask(ids.shape[1])
        return self.head(x + self.attention(x, x, x, attn_mask=mask, need_weights=False)[0])


class Late(Decoder):
    def mask(self, t):
        return torch.triu(torch.ones(t, t), diagonal=2).bool()


class Right(Decoder):
    def mask(self, t):
        return torch.triu(torch.ones(t, t), diagonal=1).bool()


class Band(Decoder):
    """Local attention, in both directions."""

    def mask(self, t):
        near = torch.ones(t, t)
        return (torch.triu(near, 2) + torch.tril(near, -2)).bool()


class Encoder(Decoder):
    """Attention in both directions, as it is meant."""


class Targets(Encoder):
    """Predicts the next token, without a mask."""

    def forward(self, ids):
        logits = super().forward(ids[:, :-1])
        return {"loss": F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()), "z": logits}


class MaskedTargets(Targets):
    mask = Right.mask


class CausalConv(nn.Module):
    """A convolution over time that is padded on one side or on both."""

    def __init__(self, *, left):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.left = nn.Conv1d(4, 4, 3), left

    def forward(self, x):
        return self.conv(F.pad(x, (2, 0) if self.left else (1, 1)))


@pytest.mark.parametrize(
    ("kind", "is_found"),
    [(Late, True), (Right, False), (Targets, True), (MaskedTargets, False)],
)
def test_a_mask_hides_later_positions(kind, is_found):
    row = finding(kind(), "causal_mask")
    assert row.status == ("fail" if is_found else "pass")
    model = kind().eval()
    other = torch.cat((IDS[:, :3], (IDS[:, 3:] + 1) % 9), 1)
    outputs = [one["z"] if isinstance(one, dict) else one for one in (model(IDS), model(other))]
    early = [one[:, :3] for one in outputs]  # by plain PyTorch
    assert torch.allclose(*early, atol=1e-6) != is_found


@pytest.mark.parametrize("kind", [Band, Encoder])
def test_attention_in_both_directions_is_not_judged(kind):
    assert finding(kind(), "causal_mask").status == "skip"


@pytest.mark.parametrize(("left", "status"), [(False, "fail"), (True, "pass")])
def test_the_name_of_a_class_tells_that_it_is_causal(left, status):
    assert finding(CausalConv(left=left), "causal_mask", torch.randn(2, 4, 9)).status == status


class Shifted(nn.Module):
    """A convolution over samples that are moved by one, padded on one side."""

    def __init__(self, *, left):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.left = nn.Conv1d(4, 4, 3), left
        self.start = nn.Parameter(torch.zeros(1, 4, 1))

    def forward(self, x):
        x = torch.cat([self.start.expand(x.size(0), -1, -1), x[:, :, :-1]], dim=2)
        return self.conv(F.pad(x, (2, 0) if self.left else (0, 2)))


class Differences(Shifted):
    """The change from one sample to the next, which may be seen from both sides."""

    def forward(self, x):
        before = torch.cat([x[:, :, :1], x[:, :, :-1]], dim=2)
        return self.conv(F.pad(x - before, (1, 1)))


@pytest.mark.parametrize(
    ("model", "status"),
    [
        (Shifted(left=False), "fail"),
        (Shifted(left=True), "pass"),
        (Differences(left=False), "skip"),
    ],
)
def test_an_input_that_is_moved_by_one_position_tells_that_later_ones_are_hidden(model, status):
    row = finding(model, "causal_mask", torch.randn(2, 4, 9))
    assert row.status == status
    if status == "fail":
        assert row.message.endswith("although forward moves its input by one position")
        assert row.advice.startswith("pad convolutions over time on the left only")


def test_the_line_of_the_mask_is_named():
    row = finding(Late(), "causal_mask")
    line = Late.mask.__code__.co_firstlineno + 1
    assert f"`triu` at {row.place}" in row.message
    assert row.place.endswith(f":{line}")


class Translator(Decoder):
    """An encoder that sees all, and a decoder with a mask; both inputs have one length."""

    mask = Right.mask

    def forward(self, source, target):
        memory = self.embedding(source)
        x = self.embedding(target)
        x = x + self.attention(x, x, x, attn_mask=self.mask(target.shape[1]))[0]
        return self.head(x + memory.mean(1, keepdim=True))


def test_the_input_of_an_encoder_may_be_seen_whole():
    assert finding(Translator(), "causal_mask", IDS, IDS.flip(1)).status == "pass"


class Positions(Encoder):
    """Adds positions, by a function of the table and the length."""

    def __init__(self, function, *, scale=1.0):
        super().__init__()
        self.pos_embed = nn.Parameter(scale * torch.randn(1, 10, 8))
        self.function = function

    def forward(self, ids):
        x = self.embedding(ids) + self.function(self.pos_embed, ids.shape[1])
        return self.head(x + self.attention(x, x, x, need_weights=False)[0])


class Pooled(Positions):
    def forward(self, ids):
        return super().forward(ids).mean(1)


@pytest.mark.parametrize(
    ("model", "is_found"),
    [
        (Positions(lambda table, t: table[:, t : t + 1]), True),
        (Pooled(lambda table, t: table[:, :1]), True),
        (Positions(lambda table, t: table[:, :t]), False),
        (Pooled(lambda table, t: table[:, :t]), False),
        (Positions(lambda table, t: table[:, :t], scale=0), False),  # they will be learnt
        (Encoder(), True),
    ],
)
def test_positions_have_an_effect(model, is_found):
    report = hookcli.check(model, inputs=IDS)
    rows = [row for row in report.checks
            if row.rule == "position_effect" and row.status == "fail"]  # fmt: skip
    assert [row.severity for row in rows] == (["note"] if is_found else [])


class TimeFirst(nn.Module):
    """Time is dimension 0, as in torch's own transformer layers and in the official example."""

    def __init__(self, mask, *, loss=False):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.head = nn.Embedding(9, 8), nn.Linear(8, 9)
        self.register_buffer("pe", torch.randn(20, 1, 8))
        self.attention = nn.MultiheadAttention(8, 2)
        self.mask, self.loss = mask, loss

    def forward(self, ids, targets=None):
        x = self.embedding(ids) + self.pe[: len(ids)]
        later = torch.triu(torch.ones(len(ids), len(ids)), diagonal=1).bool()
        x = self.head(x + self.attention(x, x, x, attn_mask=self.mask(later))[0])
        return F.cross_entropy(x.view(-1, 9), targets.view(-1)) if self.loss else x


FLIPPED, CAUSAL = (lambda later: later.T), (lambda later: later)


def test_time_may_be_the_first_dimension():
    columns = torch.randint(0, 9, (7, 4), generator=torch.Generator().manual_seed(0))
    for mask, status in ((FLIPPED, "fail"), (CAUSAL, "pass")):
        assert finding(TimeFirst(mask), "causal_mask", columns).status == status
        assert finding(TimeFirst(mask), "position_effect", columns).status == "pass"


def test_a_model_that_returns_only_its_loss_is_judged_by_what_the_loss_gets():
    columns = torch.randint(0, 9, (7, 4), generator=torch.Generator().manual_seed(0))
    row = finding(TimeFirst(FLIPPED, loss=True), "causal_mask", columns, columns.roll(-1, 0))
    assert row.status == "fail"
    assert row.message.startswith("output (input of cross_entropy) at position ")
    right = finding(TimeFirst(CAUSAL, loss=True), "causal_mask", columns, columns.roll(-1, 0))
    assert right.status == "pass"


class Tokens(nn.Module):
    """An attention to tokens, with or without positions."""

    def __init__(self, *, tells, pooled=False):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(30, 8), nn.Linear(8, 3)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        self.tells, self.pooled = tells, pooled

    def forward(self, ids):
        x = self.embed(ids)
        if self.tells:
            x = x + torch.linspace(-1, 1, ids.size(1))[:, None]
        y = self.encoder(x)
        return self.head(y.mean(1) if self.pooled else y)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("tells", [False, True])
def test_an_attention_to_tokens_gets_their_positions(tells, pooled):
    ids = torch.randint(0, 30, (4, 7), generator=torch.Generator().manual_seed(0))
    model = Tokens(tells=tells, pooled=pooled)
    report = hookcli.check(model, inputs=(ids,), rules=["position_effect"])
    rows = [row for row in report.checks if row.status == "fail"]
    assert [row.severity for row in rows] == ([] if tells else ["note"])
    assert all("'encoder' (TransformerEncoderLayer) attends to tokens" in r.message for r in rows)
    with torch.no_grad():  # as plain PyTorch shows
        before, after = model.eval()(ids), model(ids.flip(1))
    assert torch.allclose(before if pooled else before.flip(1), after, atol=1e-5) != tells


def sines(frequencies, dtype=torch.float32, *, rotary=False):
    """A table of the sines and cosines of 300 positions, which are numbers of `dtype`."""
    angles = torch.arange(300, dtype=dtype).float()[:, None] * frequencies
    return angles.cos() if rotary else torch.cat([angles.sin(), angles.cos()], -1)


class Table(nn.Module):
    def __init__(self, table):
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("waves", table)
        self.body, self.head = nn.Linear(8, table.shape[-1]), nn.Linear(table.shape[-1], 2)

    def forward(self, x):
        return self.head(self.body(x) + self.waves[: x.shape[1]])


WAVES = 100.0 ** -(torch.arange(8) / 8)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (sines(WAVES), None),
        (sines(WAVES, torch.bfloat16), "positions 256 and 257 have the same values"),
        (sines(WAVES, torch.bfloat16, rotary=True), "positions 256 and 257"),
        (sines(WAVES).to(torch.bfloat16), None),  # a cast of right values
        (sines(torch.ones(8)), "only 2 of its 16 columns differ"),
        (sines(WAVES).repeat(1, 2), None),  # as rotary tables are
        (torch.eye(300)[:, :16], None),
        (torch.ones(300, 16).tril(), None),
        ((torch.arange(300)[:, None] % 7 >= torch.arange(16) % 7).float().flip(1), None),  # a mask
        (torch.zeros(300, 16), None),
    ],
)
def test_a_table_of_sines_tells_positions_apart(table, message):
    x = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(0))
    report = hookcli.check(Table(table), inputs=(x,), rules=["position_effect"])
    rows = [row for row in report.checks if row.status == "fail"]
    assert len(rows) == (message is not None)
    assert all(message in row.message and row.target == "waves" for row in rows)


class Words(Tokens):
    """Time is in dimension 0, and the loss gets all words in one row."""

    def __init__(self, *, tells):
        super().__init__(tells=tells)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, 0.0)
        table = torch.randn(20, 1, 8, generator=torch.Generator().manual_seed(0))
        self.register_buffer("pe", table)

    def forward(self, ids, targets):
        x = self.embed(ids) + (self.pe[: len(ids)] if self.tells else 0)
        return F.cross_entropy(self.head(self.encoder(x)).view(-1, 3), targets)


def test_samples_in_dimension_1_are_not_taken_for_positions():
    ids = torch.randint(0, 30, (7, 4), generator=torch.Generator().manual_seed(0))
    inputs = ids, torch.arange(28) % 3
    report = hookcli.check(Words(tells=True), inputs=inputs, rules=["position_effect"])
    assert [row.message for row in report.checks if row.status == "fail"] == []
