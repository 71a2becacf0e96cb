r"""Text classifier with one attention query for each label.

Source: https://github.com/InseeFrLab/torchTextClassifiers/pull/92
Fault: The mask of scaled_dot_product_attention is True at padding, but True means "attend" there,
    so words are hidden and padding is read.
Cause: mask\w*.*(invert|negat|opposite|every|all|fully|padding|nan)
    |(only|attends?|reads?|weights?) .*padding|padding.*(attend|read|reach|changes|depend)
    |(nan|not a number).*(attention|softmax)|(attention|softmax).*\bnan
Place: attn_mask|scaled_dot_product|label_attention|LabelAttention
"""

import torch
import torch.nn.functional as F
from torch import nn


class LabelAttention(nn.Module):
    def __init__(self, dim, labels, heads=2):
        super().__init__()
        self.heads = heads
        self.queries = nn.Parameter(torch.randn(labels, dim) * 0.1)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, tokens, is_padding):
        b, _, dim = tokens.shape
        split = (b, -1, self.heads, dim // self.heads)
        k, v = self.key_value(tokens).chunk(2, dim=-1)
        q = self.queries.expand(b, -1, -1).reshape(split).transpose(1, 2)
        k, v = (t.reshape(split).transpose(1, 2) for t in (k, v))
        mask = is_padding[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # here
        return self.out(y.transpose(1, 2).reshape(b, -1, dim))


class TextClassifier(nn.Module):
    def __init__(self, vocab=80, dim=32, labels=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.label_attention = LabelAttention(dim, labels)
        self.score = nn.Linear(dim, 1)

    def forward(self, ids):
        labels = self.label_attention(self.embed(ids), ids == 0)
        return self.score(labels).squeeze(-1)


def build():
    return TextClassifier()


def example_inputs():
    ids = torch.randint(1, 80, (6, 14))
    lengths = torch.tensor([13, 9, 6, 12, 4, 10])
    return ids.masked_fill(torch.arange(14) >= lengths[:, None], 0)
