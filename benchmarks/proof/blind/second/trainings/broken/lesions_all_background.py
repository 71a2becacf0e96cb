r"""Trains a segmentation of tiny lesions with plain cross entropy.

Source: https://github.com/dmlc/gluon-cv/issues/644
    https://github.com/NVIDIA/DIGITS/issues/1172
Fault: the lesions are under one percent of the pixels and the loss has no class weights, so the
    network answers background everywhere with a small loss.
Cause: imbalanc|class weight|background|\brare\b|majority|\bdice\b|focal
Place: criterion|CrossEntropyLoss
"""

import torch
from torch import nn

torch.manual_seed(5)


def slices(n, size=32):
    label = torch.zeros(n, size, size, dtype=torch.long)
    where = torch.randint(2, size - 3, (n, 2))
    for k, (r, c) in enumerate(where.tolist()):
        label[k, r : r + 2, c : c + 2] = 1
    image = 0.8 * label[:, None] + 0.5 * torch.randn(n, 1, size, size)
    return image, label


net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, 8, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, 2, 1),
)
criterion = nn.CrossEntropyLoss()  # here
optimizer = torch.optim.Adam(net.parameters(), lr=6e-3)
for step in range(60):
    image, label = slices(8)
    out = net(image)
    loss = criterion(out, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        found = out.argmax(1)
        accuracy = (found == label).float().mean().item()
        recall = (found[label == 1] == 1).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} accuracy {accuracy:.4f} recall {recall:.3f}")
