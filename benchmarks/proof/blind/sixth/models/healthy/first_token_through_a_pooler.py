r"""Encoder for pairs of sentences, with types of tokens and a pooled first token.

Source: https://github.com/google-research/bert
Odd: A tanh lies between the encoder and the classifier; all weights start with a deviation of two
    hundredths; the row of the padding token is not frozen.
"""

import torch
from torch import nn


class Embeddings(nn.Module):
    def __init__(self, vocab, dim, length=40, types=2):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim)
        self.position_embeddings = nn.Embedding(length, dim)
        self.token_type_embeddings = nn.Embedding(types, dim)
        self.layer_norm = nn.LayerNorm(dim, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, input_ids, token_type_ids):
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings.weight[: input_ids.size(1)]
        return self.dropout(self.layer_norm(x))


class PairClassifier(nn.Module):
    def __init__(self, vocab=90, dim=32, heads=4, classes=3):
        super().__init__()
        self.embeddings = Embeddings(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.pooler = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(dim, classes)
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)

    def forward(self, input_ids, token_type_ids, attention_mask):
        x = self.embeddings(input_ids, token_type_ids)
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        return self.classifier(self.dropout(pooled))


def build():
    return PairClassifier()


def example_inputs():
    ids = torch.randint(1, 90, (5, 16))
    mask = (torch.arange(16) < torch.tensor([16, 9, 12, 7, 14])[:, None]).long()
    types = (torch.arange(16) >= 5).long().expand(5, -1)
    return {"input_ids": ids * mask, "token_type_ids": types, "attention_mask": mask}
