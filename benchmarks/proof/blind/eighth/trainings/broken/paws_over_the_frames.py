r"""Places of the paws of a mouse from pictures, with a penalty on pictures without labels.

Source: https://github.com/paninski-lab/lightning-pose/pull/375
Fault: Each loss multiplies with its weight and the factory multiplies once more, so the weights
    count as squares and the small one of the heatmaps nearly vanishes.
Cause: weights?.{0,80}(twice|double|squar|two times|again|once more|both|already)|(twice|double
    |squared?)\b.{0,60}weight|(supervised|heatmap|loss)\w*.{0,60}(vanish|negligible|too small|tiny
    |dominat|drown)
Place: weight\w*|LossFactory|current_weighted_loss|curr_loss
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(127)
SIZE, PAWS = 16, 2


class Loss(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, **batch):
        scalar_loss = self.compute_loss(**batch)
        return self.weight * scalar_loss, scalar_loss.item()


class HeatmapMSELoss(Loss):
    def compute_loss(self, predicted, heatmaps, **_):
        return F.mse_loss(predicted, heatmaps)


class TemporalLoss(Loss):
    def compute_loss(self, clip, **_):
        return F.relu((clip[1:] - clip[:-1]).abs().mean(dim=(1, 2, 3)) - 0.03).mean()


class LossFactory(nn.Module):
    def __init__(self, losses):
        super().__init__()
        self.loss_classes = nn.ModuleDict(losses)

    def forward(self, **batch):
        total, logs = 0.0, {}
        for name, loss_instance in self.loss_classes.items():
            curr_loss, logs[name] = loss_instance(**batch)
            current_weighted_loss = loss_instance.weight * curr_loss  # here
            total = total + current_weighted_loss
        return total, logs


class HeatmapTracker(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(width, width, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(width, PAWS, 3, padding=1),
        )

    def forward(self, images):
        return self.net(images)


grid = torch.arange(SIZE).float()


def spots(places, width):
    y = (grid - places[..., :1]).square()[..., :, None]
    x = (grid - places[..., 1:]).square()[..., None, :]
    return torch.exp(-(y + x) / width)


def frames(places):
    bright = spots(places[:, 0], 2.0) + spots(places[:, 1], 6.0)
    return (bright + 0.1 * torch.randn_like(bright))[:, None]


def labelled(count=24):
    places = 2 + 12 * torch.rand(count, PAWS, 2)
    return frames(places), spots(places, 3.0), places


def video(length=12):
    start, speed = 3 + 8 * torch.rand(PAWS, 2), 0.5 * torch.randn(PAWS, 2)
    return frames((start + speed * torch.arange(length)[:, None, None]).clamp(1, SIZE - 2))


model = HeatmapTracker()
factory = LossFactory({"heatmap": HeatmapMSELoss(0.1), "temporal": TemporalLoss(1.0)})
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(120):
    images, heatmaps, _ = labelled()
    batch = {"predicted": model(images), "heatmaps": heatmaps, "clip": model(video())}
    total, logs = factory(**batch)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1}", {name: round(value, 5) for name, value in logs.items()})
with torch.no_grad():
    images, _, places = labelled(200)
    peak = model(images).flatten(2).argmax(2)
    found = torch.stack([peak // SIZE, peak % SIZE], 2)
print(f"median error in pixels {(found - places).norm(dim=2).median().item():.2f}")
