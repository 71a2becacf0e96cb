r"""Autoregressive decoder over the memory of an encoder.

Source: https://github.com/alex-matton/causal-transformer-decoder/issues/1
Fault: The decoder gets no causal mask, so each position sees the tokens that it has to predict.
Cause: causal|future|later (tokens?|positions?)|tgt_mask|look\w* ahead|(mask) .*(missing|none|no )
    |no .*mask|next tokens?
Place: \btgt_mask\b
"""

import math

import torch
from torch import nn


class TranslationModel(nn.Module):
    def __init__(self, source=70, target=80, dim=32, heads=4):
        super().__init__()
        self.dim = dim
        self.source_embedding = nn.Embedding(source, dim)
        self.target_embedding = nn.Embedding(target, dim)
        self.position = nn.Parameter(torch.randn(1, 64, dim) * 0.02)
        encoder_layer = nn.TransformerEncoderLayer(dim, heads, 64, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder_layer, 2, enable_nested_tensor=False)
        decoder_layer = nn.TransformerDecoderLayer(dim, heads, 64, 0.1, batch_first=True)
        self.decoder = nn.TransformerDecoder(decoder_layer, 2)
        self.to_vocab = nn.Linear(dim, target)

    def embed(self, table, tokens):
        return table(tokens) * math.sqrt(self.dim) + self.position[:, : tokens.size(1)]

    def forward(self, source, target):
        memory = self.encoder(self.embed(self.source_embedding, source))
        out = self.decoder(self.embed(self.target_embedding, target), memory)  # here
        return self.to_vocab(out)


def build():
    return TranslationModel()


def example_inputs():
    return torch.randint(0, 70, (4, 11)), torch.randint(0, 80, (4, 9))
