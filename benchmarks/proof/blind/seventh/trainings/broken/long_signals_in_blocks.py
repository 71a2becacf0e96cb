r"""Long signals are classified by blocks of causal filters, built from a table of options.

Source: https://github.com/state-spaces/s4/pull/30
Fault: Without a residual, the block returns its input and the output of its layer is ignored.
Cause: (output|result|layer|filter|conv).{0,120}(ignored|unused|discard|not used|thrown|lost|never)
    |(return)\w*.{0,60}(input|\bx\b|unchanged|identity)|(no|without|zero|None).{0,30}grad
    |(weight|parameter|layer)s?.{0,60}(never|not|n't).{0,30}(train|chang|updat|grad)
Place: layer|SequenceBlock|forward|residual|y\b
"""

import torch
from torch import nn

torch.manual_seed(93)
OPTIONS = {"width": 24, "blocks": 3, "kernel": 9, "residual": None, "norm": True, "classes": 4}


class CausalConv(nn.Module):
    def __init__(self, width, kernel):
        super().__init__()
        self.pad = kernel - 1
        self.conv = nn.Conv1d(width, width, kernel)

    def forward(self, x):
        x = nn.functional.pad(x.transpose(1, 2), (self.pad, 0))
        return torch.relu(self.conv(x)).transpose(1, 2)


class SequenceBlock(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.norm = nn.LayerNorm(options["width"]) if options["norm"] else nn.Identity()
        self.layer = CausalConv(options["width"], options["kernel"])
        self.residual = options["residual"]

    def forward(self, x):
        x = self.norm(x)
        y = self.layer(x)
        if self.residual == "R":
            x = x + y
        elif self.residual == "D":
            x = 0.7071 * (x + y)
        return x  # here


class Classifier(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.inward = nn.Linear(1, options["width"])
        self.blocks = nn.Sequential(*[SequenceBlock(options) for _ in range(options["blocks"])])
        self.outward = nn.Linear(options["width"], options["classes"])

    def forward(self, signal):
        return self.outward(self.blocks(self.inward(signal[..., None])).mean(dim=1))


def signals(count, length=48):
    kind = torch.randint(0, OPTIONS["classes"], (count,))
    t = torch.arange(length)[None]
    pitch = torch.tensor([0.3, 0.6, 0.9, 1.3])[kind][:, None]
    wave = torch.sin(pitch * t + 6.28 * torch.rand(count, 1))
    return wave + 0.4 * torch.randn(count, length), kind


model = Classifier(OPTIONS)
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
test_x, test_y = signals(300)
for step in range(130):
    x, y = signals(48)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 26 == 25:
        with torch.no_grad():
            right = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"{step + 1} loss {loss.item():.3f} test {right:.3f}")
