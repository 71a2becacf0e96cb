r"""Sentence encoder of a causal transformer, with its last token as embedding.

Source: https://github.com/huggingface/sentence-transformers/pull/2111
Fault: A sentence without padding has no 0 in its mask, so the index found is that of its first
    token, which sees nothing else.
Cause: (index|token|position).*(first|wrong|clamp|without padding|full)|argmin|first token
Place: pool\w*|gather_indices
"""

import torch
from torch import nn


def last_token_pooling(hidden, attention_mask):
    gather_indices = torch.argmin(attention_mask, 1) - 1  # here
    gather_indices = gather_indices.clamp(min=0)[:, None, None].expand(-1, 1, hidden.size(-1))
    return hidden.gather(1, gather_indices).squeeze(1)


class LastTokenEncoder(nn.Module):
    def __init__(self, vocab=70, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.position = nn.Parameter(torch.randn(1, 24, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.dense = nn.Linear(dim, 16)

    def forward(self, input_ids):
        n = input_ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        x = self.encoder(self.embed(input_ids) + self.position[:, :n], mask=mask, is_causal=True)
        return self.dense(last_token_pooling(x, (input_ids != 0).long()))


def build():
    return LastTokenEncoder()


def example_inputs():
    ids = torch.randint(1, 70, (6, 15))
    return ids.masked_fill(torch.arange(15) >= torch.tensor([15, 5, 15, 12, 7, 14])[:, None], 0)
