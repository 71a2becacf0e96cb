r"""Net for shapes whose convolutions are replaced by rounded ones before the training.

Source: https://github.com/hustzxd/EfficientPyTorch/issues/1
Fault: The optimizer is made before the convolutions are replaced and so holds the parameters of
    the old layers, the new convolutions are never updated.
Cause: optimi[sz]er.{0,120}(before|old|stale|earlier|too early|original|first|not (hold|contain
    |know|include)|does not)|(replac|new).{0,100}(not|never|after|miss|isn).{0,60}(optimi|updat
    |train|learn)|parameters?.{0,80}(not|never|missing).{0,30}(optimi|updat|train)
Place: optimizer|replace_conv_recursively|replace|get_optimizer|parameters|model
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(201)
CLASSES, SIDE = 10, 10
form = (torch.rand(CLASSES, 1, SIDE, SIDE) > 0.5).float()


def shapes(count):
    label = torch.randint(0, CLASSES, (count,))
    shift = torch.randint(-1, 2, (count, 2))
    picture = torch.stack(
        [form[k].roll(tuple(s), (1, 2)) for k, s in zip(label, shift.tolist(), strict=True)]
    )
    return picture + 0.5 * torch.randn(count, 1, SIDE, SIDE), label


class RoundedConv2d(nn.Conv2d):
    """Weights on a coarse grid, the gradient goes past the rounding."""

    levels = 7

    def forward(self, x):
        step = self.weight.detach().abs().max() / self.levels
        rounded = (self.weight / step).round() * step
        weight = self.weight + (rounded - self.weight).detach()
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


def replace_conv_recursively(module):
    for name, child in module.named_children():
        if type(child) is nn.Conv2d:
            arguments = (child.in_channels, child.out_channels, child.kernel_size)
            setattr(module, name, RoundedConv2d(*arguments, padding=child.padding))
        else:
            replace_conv_recursively(child)


def build():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
        nn.Flatten(),
        nn.Linear(24, CLASSES),
    )


def main():
    train_x, train_y = shapes(800)
    test_x, test_y = shapes(300)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # here
    replace_conv_recursively(model)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(18):
        running = 0.0
        for rows in torch.randperm(len(train_x)).split(50):
            loss = criterion(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        if epoch % 4 == 1:
            with torch.no_grad():
                accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
            print(f"epoch {epoch + 1} loss {running / 16:.4f} test accuracy {accuracy:.3f}")


main()
