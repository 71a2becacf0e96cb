r"""Clip tagger trained with a validation pass in the middle of each epoch.

Source: https://github.com/ThilinaRajapakse/simpletransformers/issues/941
Fault: The validation sets eval mode and nothing sets train mode again: dropout and norm stay off.
Cause: eval\w* mode.*(train|remain|stay|never|left)
    |(train|never|not).*(eval\(\)|train\(\)|train mode)
Place: evaluate|eval|train|model
"""

import torch
from torch import nn

torch.manual_seed(0)
clips = torch.randn(256, 40) * 2 + 3
tags = (clips[:, :8].sum(1) > 24).long()
model = nn.Sequential(
    nn.Linear(40, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()


def evaluate():
    model.eval()
    with torch.no_grad():
        return (model(clips[192:]).argmax(1) == tags[192:]).float().mean().item()


model.train()
for epoch in range(20):
    for step, index in enumerate(torch.randperm(192).split(32)):
        optimizer.zero_grad()
        loss = criterion(model(clips[index]), tags[index])
        loss.backward()
        optimizer.step()
        if step == 0:
            accuracy = evaluate()  # here
print(f"train mode {model.training} updates of norm {model[1].num_batches_tracked.item()}")
