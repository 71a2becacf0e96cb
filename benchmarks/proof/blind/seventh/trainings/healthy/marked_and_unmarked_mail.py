r"""Spam from some marked spam and a pile of unmarked mail, without a single marked good mail.

Source: https://github.com/kiryor/nnPUlearning
Odd: When the estimated risk of the negative class falls below zero, the step goes up that risk on
    purpose; unmarked mail counts as negative and marked spam is subtracted from it.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(75)
PRIOR = 0.4


class NonNegativeLoss:
    def __init__(self, prior, beta=0.0, gamma=1.0):
        self.prior, self.beta, self.gamma = prior, beta, gamma

    def __call__(self, out, marked):
        positive, unlabelled = marked.float(), 1 - marked.float()
        n_p, n_u = positive.sum().clamp(min=1), unlabelled.sum().clamp(min=1)
        loss = torch.sigmoid(-out)
        opposite = torch.sigmoid(out)
        positive_risk = self.prior * (positive * loss).sum() / n_p
        negative_risk = (unlabelled * opposite).sum() / n_u
        negative_risk = negative_risk - self.prior * (positive * opposite).sum() / n_p
        if negative_risk.item() < -self.beta:
            return positive_risk - self.beta, -self.gamma * negative_risk
        return positive_risk + negative_risk, positive_risk + negative_risk


def mail(count, share):
    spam = (torch.rand(count) < share).long()
    x = torch.randn(count, 20)
    x[:, :5] += 2.2 * spam[:, None] * torch.sign(torch.randn(count, 1))
    return x, spam


marked_x, _ = mail(300, 1.0)
pile_x, pile_y = mail(2000, PRIOR)
test_x, test_y = mail(1000, PRIOR)
x = torch.cat([marked_x, pile_x])
marked = torch.cat([torch.ones(300), torch.zeros(2000)]).long()
loader = DataLoader(TensorDataset(x, marked), batch_size=230, shuffle=True)
model = nn.Sequential(
    nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
)
criterion = NonNegativeLoss(PRIOR)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=5e-3)
for epoch in range(20):
    model.train()
    shown = 0.0
    for xb, mb in loader:
        value, to_minimise = criterion(model(xb).squeeze(1), mb)
        optimizer.zero_grad()
        to_minimise.backward()
        optimizer.step()
        shown += value.item()
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            right = ((model(test_x).squeeze(1) > 0) == (test_y > 0)).float().mean().item()
        print(f"epoch {epoch + 1} risk {shown / len(loader):.4f} test accuracy {right:.3f}")
