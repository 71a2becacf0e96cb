r"""A is to B as C is to what? Small drawings are coded, moved in the code and decoded.

Source: https://github.com/carpedm20/visual-analogy-tensorflow/issues/1
Fault: The decoder ends with a rectifier, though the drawings have negative values.
Cause: (relu|rectif).{0,100}(last|final|output|end|decoder|negative|target)
    |(last|final|output|decoder).{0,80}(relu|rectif|never negative|non.?negative|cannot be negative)
    |negative (target|value|pixel)s?.{0,80}(reach|produc|output|impossible|cannot|clip|relu)
Place: decoder|ReLU|Decoder
"""

import torch
from torch import nn

OPTIONS = {"side": 9, "code": 10, "batch": 64, "steps": 260, "rate": 2e-3}


class Encoder(nn.Sequential):
    def __init__(self, pixels, code):
        super().__init__(nn.Linear(pixels, 96), nn.ReLU(), nn.Linear(96, code))


class Decoder(nn.Sequential):
    def __init__(self, pixels, code):
        layers = [nn.Linear(code, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU()]
        layers += [nn.Linear(96, pixels), nn.ReLU()]  # here
        super().__init__(*layers)


class Analogy(nn.Module):
    def __init__(self, options):
        super().__init__()
        pixels = options["side"] ** 2
        self.encoder = Encoder(pixels, options["code"])
        self.decoder = Decoder(pixels, options["code"])

    def forward(self, a, b, c):
        code = self.encoder(b) - self.encoder(a) + self.encoder(c)
        return self.decoder(code)


class Drawings:
    def __init__(self, side):
        axis = torch.linspace(-1, 1, side)
        self.y, self.x = torch.meshgrid(axis, axis, indexing="ij")

    def draw(self, angle, pitch):
        along = self.x * angle.cos()[:, None, None] + self.y * angle.sin()[:, None, None]
        picture = torch.sin(pitch[:, None, None] * along)
        return picture.flatten(1)

    def quadruple(self, count):
        angle = 1.5 * torch.rand(2, count)
        pitch = 2 + 1.5 * torch.rand(2, count)
        rows = ((0, 0), (0, 1), (1, 0), (1, 1))
        return [self.draw(angle[i], pitch[j]) for i, j in rows]


def main(options):
    torch.manual_seed(52)
    drawings = Drawings(options["side"])
    model = Analogy(options)
    optimizer = torch.optim.Adam(model.parameters(), lr=options["rate"])
    for step in range(1, options["steps"] + 1):
        a, b, c, d = drawings.quadruple(options["batch"])
        loss = nn.functional.mse_loss(model(a, b, c), d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 52 == 0:
            with torch.no_grad():
                a, b, c, d = drawings.quadruple(300)
                error = (nn.functional.mse_loss(model(a, b, c), d) / d.square().mean()).item()
            print(f"step {step} loss {loss.item():.4f} relative error {error:.4f}")


main(OPTIONS)
