r"""Topic of a message from a weighted sum of its words, where many weights are exactly zero.

Source: https://github.com/KrisKorrel/sparsemax-pytorch
Odd: The weights come from a projection on the simplex with a written backward pass; words with
    the weight zero get no gradient through it, and that is its use.
"""

import torch
from torch import nn


class SparsemaxFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x - x.max(dim=-1, keepdim=True).values
        z = x.sort(dim=-1, descending=True).values
        count = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        inside = 1 + count * z > z.cumsum(-1)
        k = inside.sum(-1, keepdim=True)
        tau = ((z * inside).sum(-1, keepdim=True) - 1) / k
        out = (x - tau).clamp(min=0)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        support = (out > 0).to(grad.dtype)
        mean = (grad * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return support * (grad - mean)


class SparseTopic(nn.Module):
    def __init__(self, vocab=100, dim=24, hidden=24, topics=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.score = nn.Sequential(
            nn.Linear(2 * hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1, bias=False)
        )
        self.out = nn.Linear(2 * hidden, topics)

    def forward(self, words):
        h, _ = self.rnn(self.embed(words))
        score = 6 * self.score(h).squeeze(-1)
        score = score.masked_fill(words == 0, -1e4)
        weight = SparsemaxFunction.apply(score)
        return self.out((weight[..., None] * h).sum(1)), weight


def build():
    return SparseTopic()


def example_inputs():
    words = torch.randint(1, 100, (6, 14))
    words[1, 9:], words[4, 6:] = 0, 0
    return (words,)
