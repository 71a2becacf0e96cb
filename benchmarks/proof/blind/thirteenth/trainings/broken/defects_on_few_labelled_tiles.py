r"""Learns codes of floor tiles without labels, then trains a small head on a few labelled ones.

Source: https://discuss.pytorch.org/t/best-practice-for-freezing-layers/58156
Fault: Setting requires_grad on a module only gives it a new attribute and does nothing to its
    parameters; the encoder that should stay as it is gets trained along with the head, and the
    decoder no longer fits to its codes.
Cause: requires_grad(_\b)?|not (really )?frozen|freez
    |(still|also|nevertheless|yet).*(trained|trainable|updated|changed|moved)
    |encoder.*(chang|updat|train|learn)|new attribute
Place: encoder|requires_grad
"""
import torch
from torch import nn

torch.manual_seed(27)
PIXELS = 64


class TileNet(nn.Module):
    def __init__(self, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, code))
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, PIXELS))
        self.head = nn.Linear(code, 3)

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), self.head(code)


def tiles(n, patterns):
    kind = torch.randint(0, 3, (n,))
    mix = torch.randn(n, 4) * 0.6
    x = patterns[kind] + mix @ patterns[3:] + 0.15 * torch.randn(n, PIXELS)
    return x, kind


def report(model, x, kind, title):
    model.eval()
    with torch.no_grad():
        rebuilt, scores = model(x)
    error = nn.functional.mse_loss(rebuilt, x).item()
    hits = (scores.argmax(1) == kind).float().mean().item()
    print(f"{title}: rebuilding error {error:.4f}, accuracy {hits:.3f}")


patterns = torch.randn(7, PIXELS)
plain, _ = tiles(2500, patterns)
few, few_kind = tiles(60, patterns)
test, test_kind = tiles(800, patterns)

model = TileNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    for x in plain[torch.randperm(len(plain))].split(50):
        rebuilt, _ = model(x)
        loss = nn.functional.mse_loss(rebuilt, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
report(model, test, test_kind, "codes learnt")

model.encoder.requires_grad = False  # here
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(60):
    order = torch.randperm(len(few))
    for part in order.split(20):
        _, scores = model(few[part])
        loss = nn.functional.cross_entropy(scores, few_kind[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
report(model, test, test_kind, "head trained")
