r"""Position of a bright box in a scene, with mirrored scenes for more variety.

Source: https://github.com/KaihuaTang/Scene-Graph-Benchmark.pytorch/pull/92
Fault: The picture is flipped with probability one half, but the box keeps the coordinates of the
    picture that was not flipped.
Cause: (flip|mirror).{0,120}(box|target|coordinate|label|annotation).{0,80}(not|without|never|keep
    |unchanged|same|miss|stay)|(box|target|coordinate|label|annotation).{0,100}(not|never|without
    |isn|aren|unchanged|keep|stay|remain).{0,60}(flip|mirror)|only the (image|picture|scene
    |pixel).{0,60}(flip|mirror)
Place: flip|boxes|box|hflip|transforms?|get_groundtruth|__getitem__|RandomHorizontalFlip
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(21)
SIDE = 20


class Scenes(Dataset):
    def __init__(self, count, flip_prob=0.0):
        self.flip_prob = flip_prob
        corner = torch.randint(0, SIDE - 8, (count, 2))
        size = torch.randint(4, 8, (count, 2))
        self.images = 0.2 * torch.randn(count, 1, SIDE, SIDE)
        self.boxes = torch.cat([corner, corner + size], 1).float()
        for image, (x1, y1, x2, y2) in zip(self.images, self.boxes.long(), strict=True):
            image[0, y1:y2, x1:x2] += 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, box = self.images[index], self.boxes[index].clone()
        if torch.rand(1) < self.flip_prob:
            image = image.flip(-1)  # here
        return image, box / SIDE


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Linear(1600, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, image):
        return self.head(self.body(image))


def iou(a, b):
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inner = (high - low).clamp(min=0).prod(1)
    area = (a[:, 2:] - a[:, :2]).clamp(min=0).prod(1) + (b[:, 2:] - b[:, :2]).prod(1)
    return inner / (area - inner)


train_set, val_set = Scenes(600, flip_prob=0.5), Scenes(200)
loader = DataLoader(train_set, batch_size=40, shuffle=True)
val_images, val_boxes = val_set.images, val_set.boxes / SIDE
model = Finder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    running = 0.0
    for images, boxes in loader:
        loss = nn.functional.smooth_l1_loss(model(images), boxes, beta=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 4 == 1:
        model.eval()
        with torch.no_grad():
            overlap = iou(model(val_images), val_boxes).mean().item()
        print(f"epoch {epoch + 1} loss {running / len(loader):.4f} overlap {overlap:.3f}")
