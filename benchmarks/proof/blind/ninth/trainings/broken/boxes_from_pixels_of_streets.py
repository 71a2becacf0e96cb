r"""Boxes of cars in wide street pictures, from labels in pixels.

Source: https://github.com/ultralytics/yolov3/issues/524
Fault: The x and the width are divided by the height of the picture and the y and the height by
    its width, so the normalised boxes are stretched and do not fit the picture.
Cause: (divid|normali|scal).{0,120}(wrong|height|width|swap|side|exchang|mix)|(width
    |height).{0,60}(swap|exchang|mixed|interchang|confus|revers)|(x
    |horizontal).{0,60}by.{0,20}height|(y|vertical).{0,60}by.{0,20}width
Place: HEIGHT|WIDTH|normalise|normalize|to_xywh|image_height|image_width|size|scale
"""

import torch
from torch import nn

torch.manual_seed(61)
HEIGHT, WIDTH = 12, 36


def street(count):
    """Pictures and one box each as xyxy in pixels."""
    x1 = torch.randint(0, WIDTH - 10, (count,))
    y1 = torch.randint(0, HEIGHT - 5, (count,))
    w, h = torch.randint(4, 10, (count,)), torch.randint(3, 5, (count,))
    image = 0.25 * torch.randn(count, 1, HEIGHT, WIDTH)
    for i in range(count):
        image[i, 0, y1[i] : y1[i] + h[i], x1[i] : x1[i] + w[i]] += 1
    return image, torch.stack([x1, y1, x1 + w, y1 + h], 1).float()


def to_xywh(xyxy):
    x, w = (xyxy[:, 0] + xyxy[:, 2]) / 2, xyxy[:, 2] - xyxy[:, 0]
    y, h = (xyxy[:, 1] + xyxy[:, 3]) / 2, xyxy[:, 3] - xyxy[:, 1]
    return torch.stack([x / HEIGHT, y / WIDTH, w / HEIGHT, h / WIDTH], 1)  # here


def to_pixels(xywh):
    x, w = xywh[:, 0] * WIDTH, xywh[:, 2] * WIDTH
    y, h = xywh[:, 1] * HEIGHT, xywh[:, 3] * HEIGHT
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1)


def overlap(a, b):
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inner = (high - low).clamp(min=0).prod(1)
    area = (a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1)
    return inner / (area - inner)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.box = nn.Sequential(nn.Linear(16 * 108, 64), nn.ReLU(), nn.Linear(64, 4), nn.Sigmoid())

    def forward(self, image):
        return self.box(self.features(image))


train_image, train_box = street(700)
val_image, val_box = street(150)
model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(16):
    running = 0.0
    for rows in torch.randperm(len(train_image)).split(50):
        predicted = model(train_image[rows])
        loss = nn.functional.mse_loss(predicted, to_xywh(train_box[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 4 == 3:
        with torch.no_grad():
            score = overlap(to_pixels(model(val_image)), val_box).mean().item()
        print(f"epoch {epoch + 1} loss {running / 14:.5f} IoU {score:.3f}")
