"""Segments blobs with a small U-shaped network and a step schedule of ten epochs.

Source: https://github.com/ivadomed/ivadomed/pull/55
Fault: The schedule counts batches instead of epochs, so the learning rate is nearly zero after
    the first epochs and the loss stops on a plateau.
Cause: schedul\\w+.*(batch|iteration|epoch)|(learning rate|lr)\b.*(decay|shrink|zero|tiny)
"""

import torch
import torch.nn.functional as F
from torch import nn, optim


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.head = nn.Conv2d(9, 1, 1)

    def forward(self, x):
        h = F.relu(self.down(x))
        h = F.relu(self.mid(h))
        h = F.relu(self.up(h))
        return self.head(torch.cat([h, x], dim=1))


def make_batch(n):
    yy, xx = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    centers = torch.randint(4, 12, (n, 2, 1, 1))
    dist = (yy - centers[:, 0]) ** 2 + (xx - centers[:, 1]) ** 2
    masks = (dist < 9).float().unsqueeze(1)
    return 0.4 * masks + 0.5 * torch.randn(n, 1, 16, 16), masks


def cmd_train(context):
    torch.manual_seed(3)
    model = Unet()
    optimizer = optim.Adam(model.parameters(), lr=context["initial_lr"])
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    batches = [make_batch(16) for _ in range(12)]
    for epoch in range(1, context["num_epochs"] + 1):
        total = 0.0
        for images, gt in batches:
            preds = model(images)
            loss = F.binary_cross_entropy_with_logits(preds, gt)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()  # here
            total += loss.item()
        lr = scheduler.get_last_lr()[0]
        print(f"Epoch {epoch} training loss: {total / len(batches):.4f} lr: {lr:.2e}")


if __name__ == "__main__":
    cmd_train({"initial_lr": 0.01, "num_epochs": 10})
