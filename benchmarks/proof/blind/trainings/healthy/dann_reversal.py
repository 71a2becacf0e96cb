r"""Domain-adversarial training: labels on the source domain, confusion of the domains.

Source: https://github.com/fungtion/DANN_py3/blob/master/functions.py
    https://github.com/CuthbertCai/pytorch_DANN/issues/10
Odd: A custom backward returns the negated gradient and the domain loss does not fall; the features
    are meant to confuse the domain classifier, and the accuracy on the target rises.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class CNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16))
        self.class_classifier = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
        self.domain_classifier = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, alpha):
        feature = self.feature(x)
        reverse = ReverseLayerF.apply(feature, alpha)
        return self.class_classifier(feature), self.domain_classifier(reverse)


def domain_batch(n, shift):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 6)
    x[:, 0] += 3.0 * y - 1.5
    x[:, 5] += shift
    return x, y


torch.manual_seed(0)
net = CNNModel()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    alpha = 2.0 / (1.0 + math.exp(-10 * step / 200)) - 1
    s_img, s_label = domain_batch(64, 0.0)
    t_img, t_label = domain_batch(64, 3.0)
    class_out, s_domain = net(s_img, alpha)
    t_class, t_domain = net(t_img, alpha)
    err_label = F.cross_entropy(class_out, s_label)
    err_domain = F.cross_entropy(s_domain, torch.zeros(64, dtype=torch.long))
    err_domain = err_domain + F.cross_entropy(t_domain, torch.ones(64, dtype=torch.long))
    optimizer.zero_grad()
    (err_label + err_domain).backward()
    optimizer.step()
    if step % 40 == 39:
        acc = (t_class.argmax(1) == t_label).float().mean()
        print(f"{step} label {err_label:.3f} domain {err_domain:.3f} target acc {acc:.3f}")
