"""Place and size of the one lit window in the front of a house.

Source: https://github.com/chenyuntc/simple-faster-rcnn-pytorch/issues/18
Odd: Every bias is a parameter group of its own with twice the learning rate and no weight decay,
    and the rate is cut to a tenth by hand in the middle.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(18)
SIZE, LR, DECAY = 14, 0.05, 5e-4


def fronts(count):
    corner = torch.randint(1, 7, (count, 2))
    extent = torch.randint(2, 6, (count, 2))
    line = torch.arange(SIZE)
    rows = (line >= corner[:, :1]) & (line < (corner + extent)[:, :1])
    cols = (line >= corner[:, 1:]) & (line < (corner + extent)[:, 1:])
    image = (rows[:, :, None] & cols[:, None]).float()
    box = torch.cat([corner, extent], 1).float() / SIZE
    return (image + 0.2 * torch.randn_like(image)).unsqueeze(1), box


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 12, 3, stride=2, padding=1)
        self.fc = nn.Linear(12 * 49, 64)
        self.loc = nn.Linear(64, 4)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1)
        return self.loc(F.relu(self.fc(x)))

    def get_optimizer(self):
        params = []
        for key, value in self.named_parameters():
            if "bias" in key:
                params += [{"params": [value], "lr": LR * 2, "weight_decay": 0}]
            else:
                params += [{"params": [value], "lr": LR, "weight_decay": DECAY}]
        return torch.optim.SGD(params, momentum=0.9)

    @staticmethod
    def scale_lr(optimizer, decay=0.1):
        for param_group in optimizer.param_groups:
            param_group["lr"] *= decay


net = Finder()
optimizer = net.get_optimizer()
for step in range(240):
    image, box = fronts(48)
    loss = F.smooth_l1_loss(net(image), box, beta=0.05)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 160:
        net.scale_lr(optimizer)
    if step % 48 == 47:
        with torch.no_grad():
            image, box = fronts(300)
            off = (net(image) - box).abs().mean().item() * SIZE
        print(f"step {step + 1} loss {loss.item():.5f} off by {off:.3f} pixels")
