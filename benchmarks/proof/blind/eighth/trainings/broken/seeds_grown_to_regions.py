r"""Classes of regions of a picture with an optimizer whose rate falls by a power.

Source: https://github.com/YudeWang/SEAM/issues/21
Fault: The weight decay is handed on at the place of the momentum, so there is neither the momentum
    that is set nor any weight decay.
Cause: momentum|positional|argument|weight.?decay.{0,60}(place|position|passed|handed|not applied
    |zero|missing|as|lost)|parameter order|order of the (param|arg)
Place: momentum|weight_decay|PolyOptimizer|super
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(149)
CLASSES, WIDTH = 6, 12


class PolyOptimizer(torch.optim.SGD):
    def __init__(self, params, lr, weight_decay, max_step, momentum=0.9):
        super().__init__(params, lr, weight_decay)  # here
        self.global_step = 0
        self.max_step = max_step
        self.momentum = momentum
        self.__initial_lr = [group["lr"] for group in self.param_groups]

    def step(self, closure=None):
        if self.global_step < self.max_step:
            lr_mult = (1 - self.global_step / self.max_step) ** self.momentum
            for i, group in enumerate(self.param_groups):
                group["lr"] = self.__initial_lr[i] * lr_mult
        super().step(closure)
        self.global_step += 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Conv2d(3, 16, 3, padding=1)
        self.stage2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.fc8 = nn.Conv2d(32, CLASSES, 1, bias=False)

    def forward(self, x):
        x = F.relu(self.stage2(F.relu(self.stage1(x))))
        cam = F.relu(self.fc8(x))
        return self.fc8(x).mean(dim=(2, 3)), cam

    def get_parameter_groups(self):
        backbone = [*self.stage1.parameters(), *self.stage2.parameters()]
        return backbone, list(self.fc8.parameters())


colours = torch.randn(CLASSES, 3)


def pictures(count=16):
    images = 0.3 * torch.randn(count, 3, WIDTH, WIDTH)
    labels = torch.zeros(count, CLASSES)
    for i in range(count):
        for k in torch.randperm(CLASSES)[:2].tolist():
            y, x = torch.randint(0, WIDTH - 5, (2,)).tolist()
            images[i, :, y : y + 5, x : x + 5] = colours[k][:, None, None]
            labels[i, k] = 1.0
    return images, labels


model = Net()
slow, fast = model.get_parameter_groups()
max_step, lr, wt_dec = 200, 0.03, 5e-4
optimizer = PolyOptimizer(
    [
        {"params": slow, "lr": lr, "weight_decay": wt_dec},
        {"params": fast, "lr": 10 * lr, "weight_decay": wt_dec},
    ],
    lr=lr,
    weight_decay=wt_dec,
    max_step=max_step,
)
for ep in range(max_step):
    images, labels = pictures()
    scores, _ = model(images)
    loss = F.multilabel_soft_margin_loss(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if ep % 40 == 39:
        rate = optimizer.param_groups[0]["lr"]
        print(f"Iter:{ep + 1:5d}/{max_step} loss:{loss.item():.4f} lr:{rate:.5f}")
with torch.no_grad():
    images, labels = pictures(200)
    best = model(images)[0].topk(2, dim=1).indices
    print(f"share of the classes found {labels.gather(1, best).mean().item():.3f}")
