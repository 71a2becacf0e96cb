r"""A narrow language model learns from a wide one on sentences of different lengths.

Source: https://github.com/peremartra/optipfair/issues/34
Fault: The labels are a copy of the inputs, so the loss counts the padding as well.
Cause: padd|\bpad\b|ignore_index|-100|mask
Place: \blabels\b
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(19)
vocab, pad, length = 24, 0, 32
table = torch.softmax(3 * torch.randn(vocab, vocab).index_fill(1, torch.tensor([pad]), -9.0), 1)


def sentences(count=16):
    ids = torch.randint(1, vocab, (count, 1))
    for _ in range(length - 1):
        ids = torch.cat([ids, torch.multinomial(table[ids[:, -1]], 1)], 1)
    lengths = torch.randint(4, 9, (count, 1))
    attention_mask = (torch.arange(length) < lengths).long()
    return ids * attention_mask, attention_mask


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.lm_head = nn.Linear(width, vocab)

    def forward(self, input_ids):
        return self.lm_head(self.gru(self.embed(input_ids))[0])


def language_loss(logits, labels):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


def real_loss(model, batch):
    input_ids, attention_mask = batch
    with torch.no_grad():
        labels = input_ids.masked_fill(attention_mask == 0, -100)
        return language_loss(model(input_ids), labels).item()


teacher, student = Model(48), Model(16)
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(60):
    input_ids, attention_mask = sentences(32)
    labels = input_ids.masked_fill(attention_mask == 0, -100)
    loss = language_loss(teacher(input_ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
held_out = sentences(200)
print(f"teacher {real_loss(teacher, held_out):.3f}")
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-3)
for step in range(60):
    input_ids, attention_mask = sentences()
    labels = input_ids.clone()  # here
    with torch.no_grad():
        goal = F.softmax(teacher(input_ids) / 2, dim=-1)
    logits = student(input_ids)
    keep = (labels != -100).unsqueeze(-1)
    kld = (goal * (goal.clamp(min=1e-9).log() - F.log_softmax(logits / 2, -1)) * keep).sum()
    loss = 0.5 * language_loss(logits, labels) + 0.5 * kld / keep.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step} loss {loss.item():.3f} real words {real_loss(student, held_out):.3f}")
