r"""The model `Summarizer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html
Fault: nn.Transformer gets src_key_padding_mask but no memory_key_padding_mask, so the decoder
    attends to encoder outputs of the padding.
Cause: memory_?(key_)?(padding_)?mask|decoder.*(attend|pad)|cross.?attention.*(pad|mask)
    |pad\w*.*(decoder|memory|cross)|depends on how much padding
"""

import torch
import torch.nn as nn


class Summarizer(nn.Module):
    def __init__(self, vocab=120, dim=32, length=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.transformer = nn.Transformer(dim, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, src, tgt):
        pad = src == 0
        mask = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1)
        s = self.embed(src) + self.pos[:, :src.size(1)]
        t = self.embed(tgt) + self.pos[:, :tgt.size(1)]
        h = self.transformer(
            s, t, tgt_mask=mask, src_key_padding_mask=pad
        )
        return self.out(h)


def make_src(n=4, length=14):
    src = torch.randint(1, 120, (n, length))
    for i in range(n):
        src[i, 5 + 3 * i:] = 0
    return src


torch.manual_seed(0)
model = Summarizer()
example_inputs = (make_src(), torch.randint(1, 120, (4, 8)),)
