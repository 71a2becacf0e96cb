r"""Uses an encoder learnt on unlabelled strokes to tell the scripts of old letters.

Source: https://discuss.pytorch.org/t/84539
Fault: The file has the weights under the prefix encoder and the classifier has them under
    features, so with strict=False not one tensor is loaded and nothing is said; the frozen
    features are random and the accuracy is poor.
Cause: strict|(key|name|prefix)\w*.*(not|match|differ|mismatch|none|other)|mismatch|not.*loaded
    |loads? nothing|nothing.*loaded|random(ly)? (features|weights|initiali)|missing keys
Place: load_state_dict|features|encoder|strict
"""
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(25)
POINTS, SCRIPTS = 96, 5


def trunk():
    return nn.Sequential(nn.Linear(POINTS, 64), nn.ReLU(), nn.Linear(64, 12))


class StrokeCoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = trunk()
        self.decoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, POINTS))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class ScriptNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = trunk()
        self.head = nn.Linear(12, SCRIPTS)

    def forward(self, x):
        return self.head(self.features(x))


def strokes(n, basis, centres):
    script = torch.randint(0, SCRIPTS, (n,))
    hidden = centres[script] + 0.7 * torch.randn(n, 8)
    return torch.tanh(hidden) @ basis + 0.9 * torch.randn(n, POINTS), script


def train(model, params, x, goal, loss_fn, epochs, lr):
    optimizer = torch.optim.Adam(params, lr=lr)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(40):
            optimizer.zero_grad()
            loss = loss_fn(model(x[part]), goal[part])
            loss.backward()
            optimizer.step()
    return loss.item()


basis, centres = torch.randn(8, POINTS), torch.randn(SCRIPTS, 8) * 1.2
plain, _ = strokes(3000, basis, centres)
few, few_script = strokes(80, basis, centres)
test, test_script = strokes(800, basis, centres)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "strokes.pt")
    coder = StrokeCoder()
    last = train(coder, coder.parameters(), plain, plain, nn.functional.mse_loss, 15, 2e-3)
    print(f"coder: loss {last:.4f}")
    torch.save(coder.state_dict(), path)

    model = ScriptNet()
    model.load_state_dict(torch.load(path), strict=False)  # here

for p in model.features.parameters():
    p.requires_grad_(False)
last = train(model, model.head.parameters(), few, few_script, nn.functional.cross_entropy, 60, 1e-2)
with torch.no_grad():
    right = (model(test).argmax(1) == test_script).float().mean().item()
print(f"head: loss {last:.4f}; accuracy on new letters {right:.3f}")
