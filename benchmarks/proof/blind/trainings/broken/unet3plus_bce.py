"""Segments thin lines with a small convolutional network and binary cross entropy.

Source: https://github.com/avBuffer/UNet3plus_pth/issues/23
    https://github.com/itakurah/focal-loss-pytorch/pull/5
Fault: The network ends with a sigmoid and the loss applies another one, so the loss cannot fall
    below 0.69 on the background.
Cause: (two|twice|double|second|another|already).*sigmoid|sigmoid.*(twice|already|again|logits)
Place: sigmoid|forward|UNet3Plus
"""

import torch
import torch.nn.functional as F
from torch import nn


class UNet3Plus(nn.Module):
    def __init__(self, n_channels=1, n_classes=1):
        super().__init__()
        self.conv1 = nn.Conv2d(n_channels, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.Conv2d(24, 8, 3, padding=1)
        self.outconv1 = nn.Conv2d(8, n_classes, 3, padding=1)

    def forward(self, inputs):
        h1 = F.relu(self.conv1(inputs))
        h2 = F.relu(self.conv2(F.max_pool2d(h1, 2)))
        hd1 = torch.cat([h1, F.interpolate(h2, scale_factor=2)], dim=1)
        d1 = self.outconv1(F.relu(self.up(hd1)))
        return torch.sigmoid(d1)  # here


def train_net(net, epochs=8, batch_size=16, lr=0.01):
    masks = torch.zeros(64, 1, 16, 16)
    rows = torch.randint(1, 15, (64,))
    masks[torch.arange(64), 0, rows] = 1.0
    imgs = masks + 0.3 * torch.randn_like(masks)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        epoch_loss = 0.0
        for i in range(0, 64, batch_size):
            masks_pred = net(imgs[i : i + batch_size])
            loss = criterion(masks_pred, masks[i : i + batch_size])
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"Epoch {epoch + 1} finished ! Loss: {epoch_loss / 4:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_net(UNet3Plus())
