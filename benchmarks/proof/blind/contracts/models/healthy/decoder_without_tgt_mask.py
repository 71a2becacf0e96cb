r"""The model `Translator`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerDecoder.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Translator(nn.Module):
    def __init__(self, src_vocab=90, tgt_vocab=110, dim=32, length=20):
        super().__init__()
        self.src = nn.Embedding(src_vocab, dim)
        self.tgt = nn.Embedding(tgt_vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        layer = nn.TransformerDecoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, num_layers=1)
        self.out = nn.Linear(dim, tgt_vocab)

    def forward(self, src, tgt):
        memory = self.src(src) + self.pos[:, :src.size(1)]
        x = self.tgt(tgt[:, :-1]) + self.pos[:, :tgt.size(1) - 1]
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        h = self.decoder(x, memory, tgt_mask=mask)
        logits = self.out(h)
        return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())


torch.manual_seed(0)
model = Translator()
example_inputs = (torch.randint(0, 90, (4, 12)), torch.randint(0, 110, (4, 10)),)
