r"""Boxes and classes of bright things in small scenes.

Source: https://github.com/lucasjinreal/keras_frcnn/issues/76
Fault: The learning rate is so low that the weights hardly change in the whole training.
Cause: learning rate|\blr\b|step size
    |(weights|updates?|parameters).{0,60}(small|tiny|hardly|slow|little)
Place: \blr\b
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)


def scenes(count=32, size=16):
    images = 0.1 * torch.rand(count, 1, size, size)
    corner = torch.randint(0, size - 6, (count, 2))
    kind = torch.randint(0, 2, (count,))
    boxes = torch.empty(count, 4)
    for i, ((top, left), k) in enumerate(zip(corner.tolist(), kind.tolist(), strict=True)):
        high, wide = (6, 3) if k else (3, 6)
        images[i, 0, top : top + high, left : left + wide] = 1
        boxes[i] = torch.tensor([left, top, wide, high]) / size
    return images, boxes, kind


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(24 * 16, 64),
            nn.ReLU(),
        )
        self.out_class = nn.Linear(64, 2)
        self.out_regr = nn.Linear(64, 4)

    def forward(self, x):
        x = self.shared(x)
        return self.out_class(x), self.out_regr(x)


model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)  # here
for iteration in range(100):
    images, boxes, kind = scenes()
    scores, regression = model(images)
    loss_cls = F.cross_entropy(scores, kind)
    loss_reg = F.smooth_l1_loss(regression, boxes, beta=0.1)
    loss = loss_cls + loss_reg
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 20 == 0:
        print(f"{iteration}: class {loss_cls.item():.3f} box {loss_reg.item():.3f}")
accuracy = (scores.argmax(1) == kind).float().mean()
print(f"class {loss_cls.item():.3f} box {loss_reg.item():.3f} accuracy {accuracy.item():.3f}")
