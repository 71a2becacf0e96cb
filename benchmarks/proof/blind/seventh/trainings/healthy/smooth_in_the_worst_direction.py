r"""Few labels and many unlabelled points, with smoothness in the worst direction of each input.

Source: https://github.com/lyakaap/VAT-pytorch
Odd: A gradient is taken with respect to a random perturbation of the input and the gradients of
    the weights from that pass are thrown away; batch statistics are not tracked in the extra
    passes.
"""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn


@contextlib.contextmanager
def disable_tracking_bn_stats(model):
    def switch(module):
        if hasattr(module, "track_running_stats"):
            module.track_running_stats ^= True

    model.apply(switch)
    yield
    model.apply(switch)


def l2_normalize(d):
    return d / (d.flatten(1).norm(dim=1, keepdim=True) + 1e-8)


class VatLoss(nn.Module):
    def __init__(self, xi=1e-2, eps=0.3, iterations=1):
        super().__init__()
        self.xi, self.eps, self.iterations = xi, eps, iterations

    def forward(self, model, x):
        with torch.no_grad():
            pred = F.softmax(model(x), dim=1)
        d = l2_normalize(torch.randn_like(x))
        with disable_tracking_bn_stats(model):
            for _ in range(self.iterations):
                d.requires_grad_()
                log_q = F.log_softmax(model(x + self.xi * d), dim=1)
                F.kl_div(log_q, pred, reduction="batchmean").backward()
                d = l2_normalize(d.grad)
                model.zero_grad()
            log_q = F.log_softmax(model(x + self.eps * d), dim=1)
            return F.kl_div(log_q, pred, reduction="batchmean")


def rings(count):
    y = torch.randint(0, 2, (count,))
    a = 6.2832 * torch.rand(count)
    r = 1.0 + 1.0 * y + 0.12 * torch.randn(count)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


def main():
    torch.manual_seed(2)
    labelled, y = rings(16)
    unlabelled, _ = rings(1000)
    test_x, test_y = rings(600)
    model = nn.Sequential(
        nn.Linear(2, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.BatchNorm1d(64),
        nn.ReLU(),
        nn.Linear(64, 2),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    vat = VatLoss()
    for step in range(300):
        model.train()
        batch = unlabelled[torch.randint(0, 1000, (128,))]
        optimizer.zero_grad()
        lds = vat(model, batch)
        ce = F.cross_entropy(model(labelled), y)
        (ce + lds).backward()
        optimizer.step()
        if step % 60 == 59:
            model.eval()
            with torch.no_grad():
                accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
            print(f"{step + 1} ce {ce.item():.3f} lds {lds.item():.4f} test {accuracy:.3f}")


if __name__ == "__main__":
    main()
