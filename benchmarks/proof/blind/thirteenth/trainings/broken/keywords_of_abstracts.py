r"""Gives each abstract its keywords, of which a text has only a few out of forty.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiLabelSoftMarginLoss.html
Fault: The net ends in a sigmoid and the loss applies one of its own; the probability that the
    loss sees then lies between 0.5 and 0.73, absent keywords can never get a small one, the loss
    stays high, and the outputs are pushed to zero for all keywords.
Cause: sigmoid.*(twice|double|two|again|already|second|both|include|itself|own|expect)
    |(twice|double|two|already|again).*sigmoid|logits|raw (score|output)|double activation
Place: forward|sigmoid|criterion|Tagger|MultiLabelSoftMarginLoss
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
WORDS, KEYWORDS = 120, 40


def abstracts(n, topics):
    tags = (torch.rand(n, KEYWORDS) < 0.06).float()
    rate = 0.15 + tags @ topics
    return torch.poisson(rate), tags


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WORDS)
        self.hidden = nn.Linear(WORDS, 96)
        self.out = nn.Linear(96, KEYWORDS)

    def forward(self, counts):
        h = torch.relu(self.hidden(self.norm(counts)))
        return torch.sigmoid(self.out(h))  # here


def micro_f1(scores, tags):
    guess = (scores > 0.5).float()
    hit = (guess * tags).sum()
    return (2 * hit / (guess.sum() + tags.sum()).clamp(min=1)).item()


topics = torch.rand(KEYWORDS, WORDS) * (torch.rand(KEYWORDS, WORDS) < 0.08) * 3
x, y = abstracts(2000, topics)
test_x, test_y = abstracts(500, topics)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)

model = Tagger()
criterion = nn.MultiLabelSoftMarginLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    model.train()
    total = 0.0
    for counts, tags in loader:
        optimizer.zero_grad()
        loss = criterion(model(counts), tags)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            score = micro_f1(model(test_x), test_y)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, micro F1 {score:.3f}")
