r"""The model `NewsClassifier`.

Source: https://docs.pytorch.org/tutorials/beginner/transformer_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class NewsClassifier(nn.Module):
    def __init__(self, vocab=150, dim=32, length=24, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x + self.pos(torch.arange(tokens.size(1), device=tokens.device))
        h = self.encoder(x)
        return self.head(h.mean(dim=1))


torch.manual_seed(0)
model = NewsClassifier()
example_inputs = (torch.randint(0, 150, (6, 20)),)
