r"""Domain-adversarial training with a schedule for the strength of the reversal.

Source: https://github.com/CuthbertCai/pytorch_DANN/issues/10
Fault: gamma is negative, so the coefficient of the reversal layer is negative too: the gradient is
    reversed twice and the features learn to tell the domains apart.
Cause: gamma|(sign|negative|twice).*(revers|lambda|constant)|revers.*(twice|sign|negative|cancel)
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

gamma = -10.0  # here
epochs = 150


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.constant, None


torch.manual_seed(0)
feature_extractor = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
class_classifier = nn.Linear(8, 2)
domain_classifier = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
modules = nn.ModuleList([feature_extractor, class_classifier, domain_classifier])
optimizer = torch.optim.SGD(modules.parameters(), lr=0.05, momentum=0.9)
for epoch in range(epochs):
    p = epoch / epochs
    constant = 2.0 / (1.0 + np.exp(-gamma * p)) - 1
    y = torch.randint(0, 2, (128,))
    x = torch.randn(128, 6)
    x[:, 0] += 3.0 * y - 1.5
    domain = torch.arange(128) % 2
    x[:, 5] += 2.0 * domain
    feature = feature_extractor(x)
    class_loss = F.cross_entropy(class_classifier(feature[domain == 0]), y[domain == 0])
    domain_loss = F.cross_entropy(domain_classifier(GradReverse.apply(feature, constant)), domain)
    optimizer.zero_grad()
    (class_loss + domain_loss).backward()
    optimizer.step()
    if epoch % 30 == 29:
        print(f"Epoch {epoch} class {class_loss.item():.4f} domain {domain_loss.item():.4f}")
