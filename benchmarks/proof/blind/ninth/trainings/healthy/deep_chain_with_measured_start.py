"""Deep chain of layers whose weights are scaled by a first batch before the training.

Source: https://github.com/ducha-aiki/LSUV-pytorch
Odd: The weights are changed by hand, layer after layer, until the outputs of a batch have
    variance one; this happens outside of any optimizer and under no_grad.
"""

import torch
from torch import nn

torch.manual_seed(1009)
CLASSES, PIXELS, DEPTH, WIDTH = 6, 32, 12, 48
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return 0.05 * (centre[label] + 0.8 * torch.randn(count, PIXELS)), label


layers = [nn.Linear(PIXELS, WIDTH), nn.ReLU()]
for _ in range(DEPTH - 2):
    layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))


@torch.no_grad()
def lsuv_init(model, data, tolerance=0.05, tries=10):
    seen = {}

    def remember(module, inputs, output):
        seen["output"] = output

    for module in model:
        if not isinstance(module, nn.Linear):
            continue
        nn.init.orthogonal_(module.weight)
        nn.init.zeros_(module.bias)
        handle = module.register_forward_hook(remember)
        for _ in range(tries):
            model(data)
            if abs(seen["output"].var().item() - 1) < tolerance:
                break
            module.weight.div_(seen["output"].std() + 1e-8)
        handle.remove()
        print(f"variance {seen['output'].var().item():.3f}", end=" ")
    print()


lsuv_init(model, draw(256)[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
test_x, test_y = draw(500)
for step in range(200):
    x, y = draw(64)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} test {accuracy:.3f}")
