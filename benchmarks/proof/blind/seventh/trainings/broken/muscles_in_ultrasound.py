r"""The outline of a muscle in ultrasound, where the rate shall fall when the loss stays.

Source: https://github.com/PaulRitsche/DeepACSA/issues/36
Fault: The learning rate is passed as the lower bound of the schedule, so it can never be reduced.
Cause: min_lr|lower bound
    |(learning rate|\blr\b|rate).{0,100}(never|not|constant|same|unchanged|floor|bound|minimum)
    |schedul\w*.{0,100}(no effect|nothing|never|does not|cannot|bound|floor)
Place: min_lr|ReduceLROnPlateau|scheduler
"""

import torch
import torch.nn.functional as F
from torch import nn


def ultrasound(count, side=12):
    axis = torch.linspace(-1, 1, side)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    centre = 0.6 * torch.rand(count, 2, 1, 1) - 0.3
    radius = 0.35 + 0.3 * torch.rand(count, 1, 1)
    inside = ((x - centre[:, 0]) ** 2 + 1.5 * (y - centre[:, 1]) ** 2 < radius**2).float()
    speckle = torch.rand(count, side, side)
    return (0.5 * inside + speckle - 0.7).unsqueeze(1), inside.unsqueeze(1)


class SmallUnet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, x):
        high = self.down(x)
        low = self.deep(F.max_pool2d(high, 2))
        return self.out(torch.cat([high, self.up(low)], 1))


def iou(logits, mask):
    found = (logits > 0).float()
    both = (found * mask).sum()
    return (both / (found + mask).clamp(max=1).sum()).item()


def train_model(learning_rate=0.08, batch_size=20, epochs=22):
    torch.manual_seed(61)
    images, masks = ultrasound(240)
    val_images, val_masks = ultrasound(120)
    model = SmallUnet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=learning_rate)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer,
        factor=0.1,
        patience=2,
        min_lr=learning_rate,  # here
    )
    for epoch in range(epochs):
        for rows in torch.randperm(len(images)).split(batch_size):
            loss = F.binary_cross_entropy_with_logits(model(images[rows]), masks[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            logits = model(val_images)
            val_loss = F.binary_cross_entropy_with_logits(logits, val_masks).item()
        scheduler.step(val_loss)
        if epoch % 3 == 0:
            print(
                f"epoch {epoch} loss {loss.item():.4f} val {val_loss:.4f} "
                f"iou {iou(logits, val_masks):.3f} rate {optimizer.param_groups[0]['lr']:.4f}"
            )


train_model()
