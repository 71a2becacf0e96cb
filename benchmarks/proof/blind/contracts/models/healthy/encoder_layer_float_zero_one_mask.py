r"""The model `QuestionEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class QuestionEncoder(nn.Module):
    def __init__(self, vocab=100, dim=32, length=32, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        pad = (tokens == 0)
        x = self.embed(tokens) + self.pos[:, :tokens.size(1)]
        h = self.layer(x, src_key_padding_mask=pad)
        return self.head(h[:, 0])


def make_tokens(n=6, length=12):
    tokens = torch.randint(1, 100, (n, length))
    for i in range(n):
        tokens[i, 3 + i:] = 0
    return tokens


torch.manual_seed(0)
model = QuestionEncoder()
example_inputs = (make_tokens(),)
