"""Self-training: the labels of most samples are the predictions of the last round.

Source: https://github.com/iBelieveCJM/Tricks-of-Semi-supervisedDeepLeanring-Pytorch
Odd: the targets change between the rounds and the loss jumps each time the labels are refreshed;
    only confident predictions are used, and the accuracy rises.
"""

import torch
from torch import nn

torch.manual_seed(5)
centres = torch.randn(4, 8) * 1.3
truth = torch.arange(600) % 4
x = centres[truth] + 0.9 * torch.randn(600, 8)
labelled = torch.arange(24)
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
used, targets = labelled, truth[labelled]
for round_ in range(5):
    for epoch in range(8):
        order = torch.randperm(len(used))
        for part in order.split(24):
            loss = nn.functional.cross_entropy(model(x[used[part]]), targets[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch in (0, 7):
            print(f"round {round_} epoch {epoch} samples {len(used)} loss {loss.item():.4f}")
    with torch.no_grad():
        confidence, guess = model(x).softmax(1).max(1)
    sure = (confidence > 0.8).nonzero().squeeze(1)
    sure = sure[sure >= 24]
    used = torch.cat([labelled, sure])
    targets = torch.cat([truth[labelled], guess[sure]])
    print(f"round {round_} accuracy {(guess == truth).float().mean().item():.3f}")
