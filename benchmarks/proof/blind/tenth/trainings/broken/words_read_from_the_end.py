r"""Transformer that has to write a row of letters from its end to its beginning.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/19138
Fault: The sum of embedding and positional encoding is computed but not assigned, so the encoder
    knows nothing of the places of the letters.
Cause: position.{0,100}(not (assigned|used|added|applied|kept|stored)|never|discard|thrown|lost
    |missing|ignored|unused|no effect|dropped|without)|(discard|unused|not (assigned|used|added
    |applied)|thrown away|no effect|without|lost|ignor|lack|no).{0,60}position|result.{0,40}(sum
    |addition).{0,60}(discard|unused|assigned|lost)|permutation
Place: PositionalEncoding|pos_encoder|pe|forward|x
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(14)
VOCAB, LENGTH, DIM = 12, 8, 48


class PositionalEncoding(nn.Module):
    def __init__(self, dim, dropout=0.0, max_len=64):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, dim)
        position = torch.arange(max_len).float().unsqueeze(1)
        div_term = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x + self.pe[:, : x.size(1)]  # here
        return self.dropout(x)


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM)
        self.pos_encoder = PositionalEncoding(DIM)
        layer = nn.TransformerEncoderLayer(DIM, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.decoder = nn.Linear(DIM, VOCAB)

    def forward(self, inputs):
        src = self.pos_encoder(self.embedding(inputs))
        return self.decoder(self.encoder(src))


model = Writer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    letters = torch.randint(0, VOCAB, (64, LENGTH))
    logits = model(letters)
    loss = F.cross_entropy(logits.flatten(0, 1), letters.flip(1).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        right = (logits.argmax(-1) == letters.flip(1)).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} letters right {right:.3f}")
