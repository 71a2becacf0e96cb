r"""Orders from four regions, one of them small and different; the worst region counts most.

Source: https://github.com/kohpangwei/group_DRO
Odd: The weights of the regions go up with their losses at each step, outside of the optimizer, so
    that the loss is not an average over samples and one small group takes most of it.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(110)
GROUPS, STEP_SIZE = 4, 0.05


class LossComputer:
    def __init__(self, groups, step_size):
        self.groups, self.step_size = groups, step_size
        self.adv_probs = torch.ones(groups) / groups

    def loss(self, logits, y, g):
        each = F.cross_entropy(logits, y, reduction="none")
        member = F.one_hot(g, self.groups).float()
        group_loss = (member * each[:, None]).sum(0) / member.sum(0).clamp(min=1)
        self.adv_probs = self.adv_probs * torch.exp(self.step_size * group_loss.detach())
        self.adv_probs = self.adv_probs / self.adv_probs.sum()
        return group_loss @ self.adv_probs, group_loss.detach()


def orders(count, shares):
    g = torch.multinomial(shares, count, replacement=True)
    x = torch.randn(count, 10)
    score = x[:, 0] + x[:, 1]
    odd = -0.6 * x[:, 0] + x[:, 2] + x[:, 3]
    y = (torch.where(g == 3, odd, score) + 0.2 * torch.randn(count) > 0).long()
    return torch.cat([x, F.one_hot(g, GROUPS).float()], 1), y, g


@torch.no_grad()
def by_group(model, data):
    right = (model(data[0]).argmax(1) == data[1]).float()
    return [right[data[2] == k].mean().item() for k in range(GROUPS)]


train = orders(2000, torch.tensor([0.4, 0.35, 0.2, 0.05]))
test = orders(2000, torch.ones(4))
sizes = torch.bincount(train[2], minlength=GROUPS).float()
sampler = WeightedRandomSampler(1 / sizes[train[2]], len(train[2]))
loader = DataLoader(TensorDataset(*train), batch_size=80, sampler=sampler)
model = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 2))
computer = LossComputer(GROUPS, STEP_SIZE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
for epoch in range(8):
    for x, y, g in loader:
        loss, group_loss = computer.loss(model(x), y, g)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    shown = " ".join(f"{a:.3f}" for a in by_group(model, test))
    print(f"epoch {epoch} loss {loss.item():.3f} weight {computer.adv_probs[3]:.2f} test {shown}")
