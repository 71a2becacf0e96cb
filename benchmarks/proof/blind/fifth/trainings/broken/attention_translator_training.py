r"""Translator with learned positions, trained on pairs of sentences of mixed lengths.

Source: https://github.com/bentrevett/pytorch-seq2seq/issues/89
Fault: The table of positions has fewer rows than the longest sentence of the data has tokens.
Cause: index\w* .*(range|bound)|out of range
    |(max_length|position)\w* .*(too (small|short|few)|less|shorter|smaller|long|rows)|longer than
Place: \bmax_length\b|\bpos_embedding\b
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Encoder(nn.Module):
    def __init__(self, vocab, dim, max_length=40):  # here
        super().__init__()
        self.tok_embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos_embedding = nn.Embedding(max_length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.scale = dim**0.5

    def forward(self, src):
        pos = torch.arange(src.size(1)).expand_as(src)
        x = self.tok_embedding(src) * self.scale + self.pos_embedding(pos)
        return self.layers(x, src_key_padding_mask=src == 0)


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=32):
        super().__init__()
        self.encoder = Encoder(vocab, dim)
        self.fc_out = nn.Linear(dim, vocab)

    def forward(self, src):
        return self.fc_out(self.encoder(src))


torch.manual_seed(0)
dictionary = torch.cat([torch.zeros(1, dtype=torch.long), torch.randperm(29) + 1])
lengths = torch.cat([torch.randint(5, 38, (600,)), torch.randint(42, 50, (20,))])
sentences = [torch.randint(1, 30, (int(n),)) for n in lengths]
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=0)
for i, start in enumerate(range(0, len(sentences), 16)):
    src = pad_sequence(sentences[start : start + 16], batch_first=True)
    loss = criterion(model(src).flatten(0, 1), dictionary[src].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if i % 10 == 0:
        print(f"batch {i} loss {loss.item():.4f}")
print(f"last loss {loss.item():.4f}")
