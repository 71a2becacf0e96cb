r"""Masks of cells in slides that are moved at random for more variety.

Source: https://github.com/mdbloice/Augmentor/issues/209
Fault: The shift is drawn anew for each picture of the list, so a slide and its mask are moved by
    different amounts.
Cause: mask.{0,80}(different|mismatch|align|same (shift|transform|random)|separate|independent)
    |(shift|augment|random|transform|crop|roll)\w*.{0,80}(mask|separate|independent|different|each
    |both|same)|misalign|out of (step|register)
Place: shift|down|right|randint|do\b|perform_operation|RandomShift|augment\w*|roll
"""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(103)
torch.manual_seed(103)
SIZE = 24


class RandomShift:
    def __init__(self, probability, largest):
        self.probability = probability
        self.largest = largest

    def perform_operation(self, images):
        if random.random() > self.probability:
            return images

        def do(image):
            down = random.randint(-self.largest, self.largest)  # here
            right = random.randint(-self.largest, self.largest)  # here
            return torch.roll(image, (down, right), dims=(-2, -1))

        return [do(image) for image in images]


class Flip:
    def perform_operation(self, images):
        return [image.flip(-1) for image in images] if random.random() < 0.5 else images


class Pipeline:
    def __init__(self, *operations):
        self.operations = operations

    def sample(self, slides, masks, count):
        out = []
        for _ in range(count):
            index = random.randrange(len(slides))
            pair = [slides[index], masks[index]]
            for operation in self.operations:
                pair = operation.perform_operation(pair)
            out.append(torch.stack(pair))
        out = torch.stack(out)
        return out[:, :1], out[:, 1:]


def make_slides(count):
    slides, masks = [], []
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    for _ in range(count):
        mask = torch.zeros(SIZE, SIZE)
        for _ in range(3):
            cy, cx = random.randint(3, 20), random.randint(3, 20)
            mask[(y - cy) ** 2 + (x - cx) ** 2 <= random.randint(6, 14)] = 1.0
        slides.append(0.6 * mask + 0.3 * torch.randn(SIZE, SIZE))
        masks.append(mask)
    return slides, masks


unet = nn.Sequential(
    nn.Conv2d(1, 16, 5, padding=2),
    nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 1, 3, padding=1),
)
optimizer = torch.optim.Adam(unet.parameters(), lr=3e-3)
pipeline = Pipeline(Flip(), RandomShift(probability=0.9, largest=6))
slides, masks = make_slides(60)
for step in range(120):
    batch, target = pipeline.sample(slides, masks, 16)
    loss = F.binary_cross_entropy_with_logits(unet(batch), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
slides, masks = make_slides(50)
with torch.no_grad():
    found = unet(torch.stack(slides)[:, None])[:, 0] > 0
truth = torch.stack(masks) > 0
dice = (2 * (found & truth).sum() / (found.sum() + truth.sum())).item()
print(f"loss {loss.item():.4f}, dice on new slides {dice:.3f}")
