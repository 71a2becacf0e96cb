r"""Rewrites part numbers from an old scheme into a new one, with torch's encoder and decoder.

Source: https://github.com/pytorch/pytorch/issues/31567
Fault: the decoder gets no target mask, so in training each place sees the characters that it has
    to predict; the loss falls to nothing and the model cannot write by itself.
Cause: (tgt_?mask|target mask|causal|subsequent)
    |(future|later|next|coming).{0,60}(token|character|position|place|target|seen|visible|leak
    |attend)
    |(sees?|attends?|looks?|peek).{0,60}(answer|future|later|ahead|target|next
    |predict)
    |\bleak(s|ed|age|ing)?\b
Place: transformer|tgt_mask|decoder|mask
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIGNS, LENGTH, START = 12, 8, 0


class NumberRewriter(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.embed = nn.Embedding(SIGNS, dim)
        self.place = nn.Parameter(torch.randn(LENGTH, dim) * 0.02)
        self.transformer = nn.Transformer(
            d_model=dim, nhead=heads, num_encoder_layers=2, num_decoder_layers=2,
            dim_feedforward=64, dropout=0.0, batch_first=True,
        )
        self.out = nn.Linear(dim, SIGNS)

    def forward(self, old, new):
        start = torch.full_like(new[:, :1], START)
        given = torch.cat([start, new[:, :-1]], dim=1)
        source = self.embed(old) + self.place
        target = self.embed(given) + self.place
        states = self.transformer(source, target)  # here
        return F.cross_entropy(self.out(states).flatten(0, 1), new.flatten())


def make_numbers(n, seed):
    g = torch.Generator().manual_seed(seed)
    old = torch.randint(1, SIGNS, (n, LENGTH), generator=g)
    new = (old.flip(1) + 3) % (SIGNS - 1) + 1
    typo = torch.rand(n, LENGTH, generator=g) < 0.15
    return old, torch.where(typo, torch.randint(1, SIGNS, (n, LENGTH), generator=g), new)


def build():
    torch.manual_seed(0)
    return NumberRewriter()


def example_inputs():
    return make_numbers(64, seed=46)
