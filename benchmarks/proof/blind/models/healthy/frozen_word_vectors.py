"""A text classifier on pretrained word vectors.

Source: https://github.com/pytorch/pytorch/issues/8582
Odd: the embedding is frozen as it is much larger than the data.
"""

import torch
from torch import nn


class TextRNN(nn.Module):
    def __init__(self, vocab=30, dim=12, hidden=16, classes=3):
        super().__init__()
        vectors = torch.randn(vocab, dim)
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.encoder = nn.LSTM(dim, hidden, batch_first=True)
        self.decoder = nn.Linear(hidden, classes)

    def forward(self, text):
        _, (h, _) = self.encoder(self.embedding(text))
        return self.decoder(h[-1])


def example_inputs():
    return (torch.randint(0, 30, (16, 7)),)
