r"""Detects the entity word of a question with a GRU and attention over its states.

Source: https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2
Fault: The softmax runs over the dimension of size one, so every weight is 1 and the attention
    layer gets a zero gradient.
Cause: softmax.*(dim|axis|wrong|size (of )?(1|one)|constant)|(wrong )?(dim|axis).*softmax
Place: attn|softmax
"""

import torch
import torch.nn.functional as F
from torch import nn


class EntityDetection(nn.Module):
    def __init__(self, n_words=50, dim=16, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(n_words, dim)
        self.gru = nn.GRU(dim, hidden)
        self.attn = nn.Linear(dim + hidden, 1)
        self.out = nn.Linear(hidden, n_words)

    def forward(self, text):
        x = self.embed(text)
        outputs, _ = self.gru(x)
        scores = self.attn(torch.cat((x, outputs), 2))
        attn_weights = F.softmax(scores, dim=2)  # here
        return self.out((attn_weights * outputs).sum(0))


torch.manual_seed(3)
model = EntityDetection()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(150):
    text = torch.randint(10, 50, (10, 64))
    where = torch.randint(0, 9, (64,))
    text[where, torch.arange(64)] = 1
    label = text[where + 1, torch.arange(64)]
    loss = F.cross_entropy(model(text), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 30 == 29:
        norm = model.attn.weight.grad.norm().item()
        print(f"iter {it} loss {loss.item():.4f} attn grad {norm:.2e}")
