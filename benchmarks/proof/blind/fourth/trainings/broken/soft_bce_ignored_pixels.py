r"""Segmentation of a few labelled pixels, the others to be ignored.

Source: https://github.com/qubvel-org/segmentation_models.pytorch/issues/852
Fault: Ignored pixels count as zeros in the mean, so the loss is many times too small.
Cause: (ignor\w+|mask\w*).*(mean|average|divid|denominator|count|normali)\w*
    |(mean|average|divid|denominator|normali)\w* .*(ignor|mask)\w*
Place: not_ignored\w*|ignore_index|soft_bce
"""

import torch
from torch import nn
from torch.nn import functional as F


def soft_bce(logits, target, ignore_index=-100):
    loss = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    not_ignored_mask = target != ignore_index
    loss = loss * not_ignored_mask.type_as(loss)
    return loss.mean()  # here


torch.manual_seed(0)
images = torch.rand(64, 1, 16, 16)
labels = (nn.functional.avg_pool2d(images, 3, 1, 1) > 0.5).float()
sparse = torch.where(torch.rand_like(labels) < 0.02, labels, torch.tensor(-100.0))
net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
for epoch in range(10):
    for index in torch.randperm(64).split(8):
        loss = soft_bce(net(images[index]), sparse[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
accuracy = ((net(images) > 0).float() == labels).float().mean()
print(f"loss {loss.item():.4f}, accuracy {accuracy.item():.3f}")
