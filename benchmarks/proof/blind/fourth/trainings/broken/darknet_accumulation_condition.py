r"""Small detector head that is stepped every so many batches.

Source: https://github.com/eriklindernoren/PyTorch-YOLOv3/issues/325
Fault: The condition is true where the remainder is not 0; with 1 batch per step there is no step.
Cause: (never|not) (\w+ ){0,2}(stepped|called|updat\w+|chang\w+|moved?)
    |no (optimi[sz]er )?(step|update)\b|without (a|any) (step|update)
Place: gradient_accumulations|optimizer\.step
"""

import torch
from torch import nn

torch.manual_seed(0)
images = torch.randn(160, 3, 12, 12)
boxes = torch.sigmoid(images.mean((2, 3))[:, [0, 1, 2, 0]] * 6)
model = nn.Sequential(
    nn.Conv2d(3, 12, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(300, 4), nn.Sigmoid()
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
gradient_accumulations = 1
for epoch in range(4):
    for batch_i, index in enumerate(torch.randperm(160).split(16)):
        batches_done = 10 * epoch + batch_i
        loss = nn.functional.mse_loss(model(images[index]), boxes[index])
        loss.backward()
        if batches_done % gradient_accumulations:  # here
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {loss.item():.4f}")
