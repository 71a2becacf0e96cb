r"""Positions of joints by a small transformer whose layers have rates of their own.

Source: https://github.com/jaehyunnn/ViTPose_pytorch/issues/20
Fault: The factor of a layer is multiplied into the learning rate of its group at every step
    instead of once, so the rates of all but the last layer fall to zero within a few steps.
Cause: (factor|decay|rates?|\blr\b|scale).{0,120}(every|each|per) (step|call|iteration|time|batch)
    |repeated|compound|cumulat|exponential|again and again|(applied|multiplied|instead of|only
    |just) (it )?once|(rates?|\blr\b).{0,60}(zero|vanish|shrink)|multipl.{0,60}(each step
    |every step|itself|in place)
Place: step|lr|decay|layer_decay_rate|LayerDecayOptimizer|param_groups|group|layer_decay
"""

import torch
from torch import nn

torch.manual_seed(171)
PATCHES, PIXELS, JOINTS, SIZE, DEPTH = 9, 8, 3, 32, 3
reveal = torch.randn(2 * JOINTS, PATCHES * PIXELS) / 2


def poses(count):
    joints = torch.rand(count, 2 * JOINTS) * 2 - 1
    picture = torch.tanh(joints @ reveal) + 0.1 * torch.randn(count, PATCHES * PIXELS)
    return picture.view(count, PATCHES, PIXELS), joints


class LayerDecayOptimizer:
    """Passes on to an optimizer, layers near the input move less."""

    def __init__(self, optimizer, layer_decay_rate):
        self.optimizer = optimizer
        self.layer_decay_rate = layer_decay_rate

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        depth = len(self.optimizer.param_groups)
        for number, group in enumerate(self.optimizer.param_groups):
            group["lr"] *= self.layer_decay_rate ** (depth - 1 - number)  # here
        self.optimizer.step()


class Pose(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(PIXELS, SIZE)
        self.place = nn.Parameter(0.02 * torch.randn(PATCHES, SIZE))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(SIZE, 4, 64, dropout=0.0, batch_first=True)
            for _ in range(DEPTH)
        )
        self.head = nn.Linear(PATCHES * SIZE, 2 * JOINTS)

    def forward(self, x):
        x = self.embed(x) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(x.flatten(1))


model = Pose()
groups = [{"params": [*model.embed.parameters(), model.place]}]
groups += [{"params": layer.parameters()} for layer in model.layers]
groups += [{"params": model.head.parameters()}]
inner = torch.optim.AdamW(groups, lr=3e-3, weight_decay=0.01)
optimizer = LayerDecayOptimizer(inner, layer_decay_rate=0.9)
picture, joints = poses(600)
test_picture, test_joints = poses(200)

for epoch in range(7):
    running = 0.0
    for rows in torch.randperm(len(picture)).split(40):
        loss = nn.functional.mse_loss(model(picture[rows]), joints[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 0:
        with torch.no_grad():
            error = (model(test_picture) - test_joints).abs().mean().item()
        print(f"epoch {epoch + 1} loss {running / 15:.4f} joints off by {error:.4f}")
