r"""Adaptation to a domain without labels by alignment of covariances.

Source: https://github.com/jindongwang/transferlearning/tree/master/code/DeepDA/loss_funcs
Odd: One half of each batch has no labels and enters the loss by the covariance of its features.
"""

import torch
from torch import nn
from torch.nn import functional as F


def coral(source, target):
    d = source.size(1)
    return (source.t().cov() - target.t().cov()).square().sum() / (4 * d * d)


torch.manual_seed(0)
means = 1.5 * torch.randn(4, 16)
turn = torch.linalg.qr(torch.eye(16) + 0.25 * torch.randn(16, 16)).Q
turn = turn * turn.diagonal().sign()


def sample(count, turned):
    label = torch.randint(0, 4, (count,))
    x = means[label] + 0.8 * torch.randn(count, 16)
    return (x @ turn if turned else x), label


extractor = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
classifier = nn.Linear(32, 4)
optimizer = torch.optim.SGD(
    [{"params": extractor.parameters(), "lr": 0.02}, {"params": classifier.parameters()}],
    lr=0.05,
    momentum=0.9,
)
for step in range(80):
    source, label = sample(64, turned=False)
    target, _ = sample(64, turned=True)
    features_s, features_t = extractor(source), extractor(target)
    clf_loss = F.cross_entropy(classifier(features_s), label)
    transfer_loss = coral(features_s, features_t)
    loss = clf_loss + 10 * transfer_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1} clf {clf_loss.item():.4f} coral {transfer_loss.item():.5f}")
for name, turned in (("source", False), ("target", True)):
    x, label = sample(500, turned)
    accuracy = (classifier(extractor(x)).argmax(1) == label).float().mean().item()
    print(f"accuracy in the {name} domain {accuracy:.3f}")
