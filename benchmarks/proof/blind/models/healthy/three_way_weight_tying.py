"""A translator whose source, target and output embeddings are one matrix.

Source: https://github.com/OpenNMT/OpenNMT-tf/issues/462
Odd: three modules hold the same parameter.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SharedEmbeddingTranslator(nn.Module):
    def __init__(self, vocab=16, dim=16):
        super().__init__()
        self.src_embed = nn.Embedding(vocab, dim)
        self.tgt_embed = nn.Embedding(vocab, dim)
        self.generator = nn.Linear(dim, vocab)
        self.tgt_embed.weight = self.src_embed.weight
        self.generator.weight = self.src_embed.weight
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src, tgt):
        _, state = self.encoder(self.src_embed(src))
        out, _ = self.decoder(self.tgt_embed(tgt[:, :-1]), state)
        logits = self.generator(out)
        return {"loss": F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())}


def example_inputs():
    return (
        torch.randint(0, 16, (4, 5)),
        torch.randint(0, 16, (4, 6)),
    )
