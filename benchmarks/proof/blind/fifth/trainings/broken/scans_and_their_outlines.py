r"""Segmentation of scans whose outlines come from a second list of files.

Source: https://github.com/mlcommons/GaNDLF/pull/870
Fault: Scans and outlines come from two loaders that shuffle independently, so pairs do not match.
Cause: shuffl\w*|(pair|align|order|match)\w* .*(label|target|mask|outline|input|sample)
    |(label|target|mask)s? .*(misalign|mismatch|unrelated|do(es)? not (match|belong)|random)
    |no (relation|information)
Place: \w*loader\w*|truth|masks?|labels?
"""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
coarse = torch.randn(240, 1, 4, 4)
field = nn.functional.interpolate(coarse, size=16, mode="bilinear")
scans = field + 0.2 * torch.randn_like(field)
outlines = (field > 0.3).float()


def get_loader(subjects, batch_size, is_train):
    return DataLoader(subjects, batch_size=batch_size, shuffle=is_train)  # here


class Unet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, base, 3, padding=1), nn.ReLU())
        self.middle = nn.Sequential(
            nn.MaxPool2d(2),
            nn.Conv2d(base, 2 * base, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(2 * base, base, 2, stride=2),
        )
        self.up = nn.Conv2d(2 * base, 1, 3, padding=1)

    def forward(self, x):
        skip = self.down(x)
        return self.up(torch.cat([skip, self.middle(skip)], dim=1))


model = Unet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scan_loader = get_loader(scans, 24, is_train=True)
outline_loader = get_loader(outlines, 24, is_train=True)
for epoch in range(6):
    total = 0.0
    for scan, truth in zip(scan_loader, outline_loader, strict=True):
        loss = nn.functional.binary_cross_entropy_with_logits(model(scan), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(scan_loader):.4f}")
with torch.no_grad():
    guess = (model(scans) > 0).float()
dice = 2 * (guess * outlines).sum() / (guess + outlines).sum()
print(f"dice {dice.item():.4f}")
