r"""Inference between two sentences by a small transformer on padded pairs.

Source: https://github.com/yg211/bert_nli/pull/3
Fault: The attention masks are 1 at padding as well, so padding is read like words.
Cause: pad\w*.*(attend|read|reach|depend|seen|influence|chang|leak|visible|mask)\w*
    |mask\w*.*(all|ones|constant|no effect|never|padding)|(attend|depend|read)\w* .*padding
Place: masks?\b|attention_mask|key_padding
"""

import torch
from torch import nn


class PairClassifier(nn.Module):
    def __init__(self, vocab=40, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.randn(1, 20, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids, attention_mask):
        x = self.embed(ids) + self.position[:, : ids.size(1)]
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        return self.head(x[:, 0])


torch.manual_seed(0)
lengths = torch.randint(5, 19, (320, 1))
ids = torch.randint(3, 40, (320, 20))
ids[:, 0] = 1
ids = ids.masked_fill(torch.arange(20) >= lengths, 0)
labels = (ids == 7).any(1).long() | (ids == 9).any(1).long()
masks = torch.ones_like(ids)  # here
model = PairClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(6):
    for index in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(ids[index], masks[index]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
