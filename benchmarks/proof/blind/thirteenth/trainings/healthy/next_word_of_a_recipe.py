r"""Predicts the next word of recipes over a large vocabulary in groups of frequency.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveLogSoftmaxWithLoss.html
Healthy: There is no plain output layer and no cross entropy; the criterion has the weights of
    the output itself, gives output and loss as a pair, and its parameters are in the optimizer.
    The words are numbered by frequency, as it must be.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(131)
WORDS, CONTEXT = 600, 3


def recipes(length):
    follow = torch.zeros(WORDS, 3, dtype=torch.long)
    frequency = 1 / (torch.arange(WORDS).float() + 3)
    for word in range(WORDS):
        follow[word] = torch.multinomial(frequency, 3)
    text = [0]
    for _ in range(length):
        if torch.rand(1) < 0.1:
            text.append(torch.multinomial(frequency, 1).item())
        else:
            text.append(follow[text[-1]][torch.randint(3, (1,))].item())
    text = torch.tensor(text)
    order = torch.bincount(text, minlength=WORDS).argsort(descending=True)
    rank = torch.empty(WORDS, dtype=torch.long)
    rank[order] = torch.arange(WORDS)
    return rank[text]


text = recipes(12000)
windows = text.unfold(0, CONTEXT + 1, 1)
train, test = windows[:10000], windows[10000:]
loader = DataLoader(TensorDataset(train[:, :-1], train[:, -1]), batch_size=100, shuffle=True)

body = nn.Sequential(
    nn.Embedding(WORDS, 24), nn.Flatten(), nn.Linear(24 * CONTEXT, 64), nn.ReLU()
)
criterion = nn.AdaptiveLogSoftmaxWithLoss(64, WORDS, cutoffs=[40, 150], div_value=2.0)
optimizer = torch.optim.Adam([*body.parameters(), *criterion.parameters()], lr=4e-3)
for epoch in range(8):
    total = 0.0
    for context, word in loader:
        _, loss = criterion(body(context), word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}")
with torch.no_grad():
    loss = criterion(body(test[:, :-1]), test[:, -1]).loss.item()
share = torch.bincount(train[:, -1], minlength=WORDS) + 1.0
plain = -torch.log(share / share.sum())[test[:, -1]].mean().item()
print(f"test loss {loss:.3f}, by frequency alone {plain:.3f}")
