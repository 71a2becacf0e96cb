r"""Trains an inpainting network with a weighted L1 loss on holes and valid pixels.

Source: https://github.com/MathiasGruber/PConv-Keras/issues/5
    https://github.com/pytorch/examples/issues/385
Fault: the L1 terms are summed over all the pixels of the batch and not averaged, so with a usual
    rate of SGD the first steps blow up the weights.
Cause: \b(summed|sum|mean|averaged?|averaging)\b|normali[sz]|reduction|loss\b.*\b(large|huge|scale)
Place: \bl1\b|loss_valid|loss_hole
"""

import torch
from torch import nn

torch.manual_seed(1)


class PConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 1, 3, padding=1),
        )

    def forward(self, image, mask):
        return self.net(torch.cat([image * mask, mask], 1))


def l1(a, b):
    return (a - b).abs().sum()  # here


def samples(n):
    angle = torch.rand(n, 1, 1) * 3.14
    ys, xs = torch.meshgrid(torch.linspace(-2, 2, 20), torch.linspace(-2, 2, 20), indexing="ij")
    image = torch.sin(3 * (xs * angle.cos() + ys * angle.sin()))[:, None]
    mask = torch.ones(n, 1, 20, 20)
    mask[:, :, 8:12, 8:12] = 0
    return image, mask


model = PConvNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(50):
    image, mask = samples(8)
    out = model(image, mask)
    loss_valid = l1(mask * out, mask * image)
    loss_hole = l1((1 - mask) * out, (1 - mask) * image)
    loss = loss_valid + 6 * loss_hole
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"step {step} valid {loss_valid.item():.3e} hole {loss_hole.item():.3e}")
