r"""The model `NewsClassifier`.

Source: https://docs.pytorch.org/tutorials/beginner/transformer_tutorial.html
Fault: The Transformer has no positional information, so its pooled output does not depend on the
    order of the tokens.
Cause: position|permutation|order.*(token|sequence|word|invarian|ignored|no effect)|bag of words
"""

import torch
import torch.nn as nn


class NewsClassifier(nn.Module):
    def __init__(self, vocab=150, dim=32, length=24, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        h = self.encoder(x)
        return self.head(h.mean(dim=1))


torch.manual_seed(0)
model = NewsClassifier()
example_inputs = (torch.randint(0, 150, (6, 20)),)
