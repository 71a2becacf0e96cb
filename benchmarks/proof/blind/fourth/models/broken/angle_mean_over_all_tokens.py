r"""Sentence encoder with the mean of its tokens as embedding.

Source: https://github.com/SeanLee97/AnglE/pull/102
Fault: The sum over the tokens of a sentence is divided by the number of tokens of the whole batch.
Cause: (depend|mix)\w* .*(batch|samples?|other)|(batch|samples?) .*(size|mix|depend|scale|influence)
    |attention_mask|(divid|mean|average)\w* .*(batch|mask)
Place: pool\w*
"""

import torch
from torch import nn


def mean_pooling(hidden, attention_mask):
    mask = attention_mask.unsqueeze(-1).float()
    return (hidden * mask).sum(dim=1) / attention_mask.sum()  # here


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=90, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.position = nn.Parameter(torch.randn(1, 24, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, input_ids):
        attention_mask = (input_ids != 0).long()
        x = self.embed(input_ids) + self.position[:, : input_ids.size(1)]
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        return mean_pooling(x, attention_mask)


def build():
    return SentenceEncoder()


def example_inputs():
    ids = torch.randint(1, 90, (6, 16))
    return ids.masked_fill(torch.arange(16) >= torch.tensor([16, 5, 9, 12, 7, 14])[:, None], 0)
