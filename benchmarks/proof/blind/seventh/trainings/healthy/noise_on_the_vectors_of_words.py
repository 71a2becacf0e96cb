r"""A small model of instructions is tuned with noise on the vectors of its words.

Source: https://github.com/neelsjain/NEFTune
Odd: Uniform noise goes onto the embeddings through a hook, in training only and weaker for long
    inputs, so that the same batch gives another loss each time.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(111)
VOCAB, LENGTH, ALPHA = 40, 12, 5.0


def neftune_hook(module, inputs, output):
    if module.training:
        dims = output.size(1) * output.size(2)
        magnitude = ALPHA / dims**0.5
        output = output + torch.zeros_like(output).uniform_(-magnitude, magnitude)
    return output


class Reader(nn.Module):
    def __init__(self, width=32, answers=6):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.conv = nn.Conv1d(width, 64, 3, padding=1)
        self.head = nn.Linear(64, answers)

    def forward(self, ids):
        h = torch.relu(self.conv(self.embed(ids).transpose(1, 2)))
        return self.head(h.amax(dim=2))


phrases = torch.randint(6, VOCAB, (6, 3))


def instructions(count):
    answer = torch.randint(0, 6, (count,))
    ids = torch.randint(0, VOCAB, (count, LENGTH))
    start = torch.randint(0, LENGTH - 3, (count,))
    for row, a, s in zip(ids, answer.tolist(), start.tolist()):
        row[s : s + 3] = phrases[a]
    return ids, answer


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        logits = model(data[0])
    model.train()
    right = (logits.argmax(1) == data[1]).float().mean().item()
    return F.cross_entropy(logits, data[1]).item(), right


model = Reader()
handle = model.embed.register_forward_hook(neftune_hook)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
train, test = instructions(1200), instructions(500)
model.train()
for step in range(200):
    rows = torch.randint(0, 1200, (48,))
    loss = F.cross_entropy(model(train[0][rows]), train[1][rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 40 == 39:
        test_loss, right = evaluate(model, test)
        print(f"{step + 1} loss {loss.item():.3f} test {test_loss:.3f} accuracy {right:.3f}")
handle.remove()
