r"""Reader of recipes of different lengths, with attention written by hand.

Source: https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/57
Odd: The mask hides the padding as keys only; the padded words ask as queries all the same, and
    their answers are left out at the end. The shortcut is added before a norm with a small eps.
"""

import torch
from torch import nn
from torch.nn import functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, n_head, d_model, d_k, dropout=0.1):
        super().__init__()
        self.n_head, self.d_k = n_head, d_k
        self.w_qs = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_ks = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_vs = nn.Linear(d_model, n_head * d_k, bias=False)
        self.fc = nn.Linear(n_head * d_k, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, x, mask):
        n, length, _ = x.shape

        def split(y):
            return y.view(n, length, self.n_head, self.d_k).transpose(1, 2)

        q, k, v = split(self.w_qs(x)), split(self.w_ks(x)), split(self.w_vs(x))
        attn = torch.matmul(q / self.d_k**0.5, k.transpose(2, 3))
        attn = attn.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        out = torch.matmul(self.dropout(F.softmax(attn, dim=-1)), v)
        out = self.dropout(self.fc(out.transpose(1, 2).contiguous().view(n, length, -1)))
        return self.layer_norm(out + x)


class FeedForward(nn.Module):
    def __init__(self, d_in, d_hid, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_in, d_hid), nn.Linear(d_hid, d_in)
        self.layer_norm = nn.LayerNorm(d_in, eps=1e-6)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.layer_norm(self.dropout(self.w_2(F.relu(self.w_1(x)))) + x)


class RecipeReader(nn.Module):
    def __init__(self, words=120, d_model=32, n_head=4, layers=2, kitchens=7, length=40):
        super().__init__()
        self.words = nn.Embedding(words, d_model, padding_idx=0)
        self.places = nn.Embedding(length, d_model)
        self.dropout = nn.Dropout(0.1)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)
        self.attention = nn.ModuleList(
            MultiHeadAttention(n_head, d_model, 8) for _ in range(layers)
        )
        self.forwards = nn.ModuleList(FeedForward(d_model, 64) for _ in range(layers))
        self.kitchen = nn.Linear(d_model, kitchens)

    def forward(self, seq):
        keep = seq != 0
        places = torch.arange(seq.shape[1], device=seq.device)
        x = self.layer_norm(self.dropout(self.words(seq) + self.places(places)))
        for attention, feed in zip(self.attention, self.forwards):
            x = feed(attention(x, keep.unsqueeze(1)))
        weight = keep.unsqueeze(-1).to(x.dtype)
        return self.kitchen((x * weight).sum(1) / weight.sum(1).clamp(min=1))


def build():
    return RecipeReader()


def example_inputs():
    seq = torch.randint(1, 120, (5, 14))
    seq[1, 8:] = 0
    seq[4, 11:] = 0
    return (seq,)
