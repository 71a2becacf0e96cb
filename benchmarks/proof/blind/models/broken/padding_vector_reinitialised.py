"""A bag-of-words classifier that sums word vectors.

Source: https://github.com/ray1007/pytorch-word2vec/issues/17
    https://github.com/microsoft/Graphormer/issues/41
Fault: init_weights overwrites the zero row of padding: padding adds a random vector to each text.
Cause: padding|pad
Place: embedding
"""

import torch
from torch import nn


class BagOfWords(nn.Module):
    def __init__(self, vocab=12, dim=16, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.fc = nn.Linear(dim, classes)
        self.init_weights()

    def init_weights(self):
        self.embedding.weight.data.uniform_(-0.5, 0.5)  # here
        self.fc.weight.data.uniform_(-0.5, 0.5)
        self.fc.bias.data.zero_()

    def forward(self, text):
        return self.fc(self.embedding(text).sum(dim=1))


def example_inputs():
    return (torch.tensor([[4, 5, 6, 0, 0], [7, 2, 0, 0, 0], [3, 8, 9, 1, 2]]),)
