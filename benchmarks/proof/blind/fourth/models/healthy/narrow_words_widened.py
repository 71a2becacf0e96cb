r"""Masked language model with narrow word vectors and one layer used several times.

Source: https://github.com/huggingface/transformers/blob/main/src/transformers/models/albert/modeling_albert.py
Odd: The embedding is followed by a linear layer without anything between, a factorised matrix; one
    encoder layer is applied four times; the output matrix is that of the embedding.
"""

import torch
from torch import nn


class Albert(nn.Module):
    def __init__(self, vocab=70, narrow=12, dim=32, times=4):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, narrow)
        self.position_embeddings = nn.Embedding(32, narrow)
        self.norm = nn.LayerNorm(narrow)
        self.embedding_hidden_mapping_in = nn.Linear(narrow, dim)
        self.albert_layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.1, "gelu", batch_first=True)
        self.times = times
        self.dense = nn.Sequential(nn.Linear(dim, narrow), nn.GELU(), nn.LayerNorm(narrow))
        self.bias = nn.Parameter(torch.zeros(vocab))
        nn.init.normal_(self.word_embeddings.weight, std=0.02)

    def forward(self, ids):
        x = self.word_embeddings(ids) + self.position_embeddings(torch.arange(ids.size(1)))
        x = self.embedding_hidden_mapping_in(self.norm(x))
        for _ in range(self.times):
            x = self.albert_layer(x)
        return self.dense(x) @ self.word_embeddings.weight.t() + self.bias


def build():
    return Albert()


def example_inputs():
    return torch.randint(0, 70, (4, 16))
