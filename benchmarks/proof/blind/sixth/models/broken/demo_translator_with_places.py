r"""Small transformer for translation, of the kind that a framework has for its demos.

Source: https://github.com/Lightning-AI/pytorch-lightning/pull/20099
Fault: The sum of tokens and positions is thrown away, so the model does not know the order.
Cause: position\w*.{0,80}(not|never|unused|ignor|lost|discard|no effect|no influence|thrown)
    |(order|permut)\w*.{0,60}(token|word|input|sequence)|(token|word|sequence).{0,60}(order|permut)
    |(result|sum).{0,40}(discard|lost|unused|thrown|not used)
Place: pos_encoder|PositionalEncoding|\bpe\b
"""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, dim, dropout=0.1, max_len=64):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len, dtype=torch.float)[:, None]
        div_term = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(1, max_len, dim)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x.add(self.pe[:, : x.size(1)])  # here
        return self.dropout(x)


class Transformer(nn.Module):
    def __init__(self, vocab_size=60, ninp=32, nhead=4, nhid=64, nlayers=2):
        super().__init__()
        self.pos_encoder = PositionalEncoding(ninp)
        self.embedding = nn.Embedding(vocab_size, ninp)
        self.transformer = nn.Transformer(
            ninp, nhead, nlayers, nlayers, nhid, batch_first=True, dropout=0.1
        )
        self.decoder = nn.Linear(ninp, vocab_size)
        self.ninp = ninp

    def forward(self, inputs, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        src = self.pos_encoder(self.embedding(inputs) * math.sqrt(self.ninp))
        target = self.pos_encoder(self.embedding(target) * math.sqrt(self.ninp))
        output = self.transformer(src, target, tgt_mask=mask)
        return torch.log_softmax(self.decoder(output), dim=-1)


def build():
    return Transformer()


def example_inputs():
    return torch.randint(0, 60, (4, 14)), torch.randint(0, 60, (4, 11))
