r"""The model `SentenceEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
Fault: key_padding_mask of nn.MultiheadAttention is True on the valid tokens although True means
    "ignore", so only the padding is attended to.
Cause: (key_?padding_?mask|padding mask|mask).*(invert|flip|opposite|revers|negat|true (means|marks|is)|wrong (way|polarity|sense|convention)|polarity|ignor|valid|real tokens)
    |attend\w* (only )?(to )?(the )?pad
"""

import torch
import torch.nn as nn


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=200, dim=32, heads=4, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.02)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        mask = tokens != 0
        x = self.embed(tokens) + self.pos[:, :tokens.size(1)]
        a, _ = self.attn(x, x, x, key_padding_mask=mask, need_weights=False)
        x = self.norm(x + a)
        return self.head(x[:, 0])


def make_tokens(n=6, length=12, vocab=200):
    tokens = torch.randint(1, vocab, (n, length))
    for i in range(n):
        tokens[i, 5 + i:] = 0
    return tokens


torch.manual_seed(0)
model = SentenceEncoder()
example_inputs = (make_tokens(),)
