r"""Attention pooling of sentences where short documents are filled with empty sentences.

Source: https://github.com/pytorch/pytorch/issues/24816
Fault: a sentence of padding only has every score at -inf: its softmax is NaN, and then the loss.
Cause: (all|every|only|fully|entire|whole)\b.*(mask|pad)|mask.*(all|every)\b|empty|-inf
Place: mask|padding|scores
"""

import torch
from torch import nn


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=12, dim=16, pad=0):
        super().__init__()
        self.pad = pad
        self.embed = nn.Embedding(vocab, dim, padding_idx=pad)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.query = nn.Linear(dim, 1)
        self.score = nn.Linear(dim, 1)

    def forward(self, tokens):
        padding = tokens == self.pad
        hidden, _ = self.encoder(self.embed(tokens))
        scores = self.query(torch.tanh(hidden)).squeeze(-1)
        scores = scores.masked_fill(padding, float("-inf"))  # here
        weights = scores.softmax(dim=1)
        pooled = (weights.unsqueeze(-1) * hidden).sum(1)
        return self.score(pooled)


def example_inputs():
    return (torch.tensor([[4, 5, 6], [7, 2, 0], [0, 0, 0], [3, 0, 0]]),)
