r"""Fine-tunes a detector-like network with a list of layers to freeze.

Source: https://github.com/ultralytics/yolov5/issues/1213
Fault: after the listed layers are frozen, the loop that builds the parameter groups sets
    requires_grad=True for all of them, so nothing is frozen.
Cause: requires_grad|\bfr(ee|o)z|thaw|undone
Place: requires_grad|model\.[01]\.
"""

import torch
from torch import nn

torch.manual_seed(2)


class Model(nn.Module):
    def __init__(self, nc=4):
        super().__init__()
        self.model = nn.ModuleList(
            [
                nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU()),
                nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.SiLU()),
                nn.Linear(16, nc),
            ]
        )

    def forward(self, x):
        for layer in self.model[:-1]:
            x = layer(x)
        return self.model[-1](x.mean((2, 3)))


model = Model()
freeze = [f"model.{n}." for n in range(2)]
for name, param in model.named_parameters():
    if any(name.startswith(prefix) for prefix in freeze):
        print("freezing", name)
        param.requires_grad = False

weights, biases, others = [], [], []
for name, v in model.named_parameters():
    v.requires_grad = True  # here
    if name.endswith(".bias"):
        biases.append(v)
    elif v.ndim > 1:
        weights.append(v)
    else:
        others.append(v)
optimizer = torch.optim.SGD(others, lr=0.1, momentum=0.9)
optimizer.add_param_group({"params": weights, "weight_decay": 5e-4})
optimizer.add_param_group({"params": biases})

first = model.model[0][0].weight.detach().clone()
label = torch.randint(0, 4, (160,))
image = torch.randn(4, 1, 16, 16)[label] + 0.5 * torch.randn(160, 1, 16, 16)
for epoch in range(5):
    for rows in torch.randperm(160).split(20):
        loss = nn.functional.cross_entropy(model(image[rows]), label[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    moved = (model.model[0][0].weight - first).abs().max().item()
    print(f"epoch {epoch} loss {loss.item():.4f} change of a frozen layer {moved:.4f}")
