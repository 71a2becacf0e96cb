r"""Masked language modelling: the loss sees fifteen per cent of the positions.

Source: https://github.com/huggingface/transformers/blob/main/src/transformers/data/data_collator.py
    https://github.com/codertimo/BERT-pytorch
Odd: Most labels are -100 and give no loss at all, and some of the chosen tokens are left unmasked
    or replaced at random.
"""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, MASK, LENGTH = 24, 0, 12


def torch_mask_tokens(inputs):
    labels = inputs.clone()
    masked = torch.rand(inputs.shape) < 0.15
    labels[~masked] = -100
    replaced = masked & (torch.rand(inputs.shape) < 0.8)
    inputs = inputs.masked_fill(replaced, MASK)
    random = masked & ~replaced & (torch.rand(inputs.shape) < 0.5)
    return torch.where(random, torch.randint(1, VOCAB, inputs.shape), inputs), labels


class BERT(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCAB, hidden), nn.Embedding(LENGTH, hidden)
        self.block = nn.TransformerEncoderLayer(hidden, 4, 64, dropout=0.0, batch_first=True)
        self.mlm = nn.Linear(hidden, VOCAB)

    def forward(self, ids):
        return self.mlm(self.block(self.token(ids) + self.position.weight))


torch.manual_seed(0)
model = BERT()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(150):
    start = torch.randint(0, 23, (64, 1))
    sentences = (start + torch.arange(LENGTH)) % 23 + 1
    inputs, labels = torch_mask_tokens(sentences)
    loss = F.cross_entropy(model(inputs).transpose(1, 2), labels, ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        kept = (labels != -100).float().mean().item()
        print(f"step {step} mlm loss {loss.item():.4f} positions with a loss {kept:.2f}")
