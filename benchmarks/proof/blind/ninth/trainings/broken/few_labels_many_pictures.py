r"""Few labelled and many unlabelled pictures, in reduced precision with clipped gradients.

Source: https://github.com/TorchSSL/TorchSSL/pull/59
Fault: The gradients are clipped while they are still multiplied by the scale of the scaler; when
    the scaler divides them by it they are far smaller than the clip value.
Cause: unscal|(clip).{0,120}(scaled|before|scale|scaler|too small|multipl)|(scaled|scaler
    |scale).{0,100}clip
Place: unscale_|clip_grad_norm_|scaler|clip|MAX_NORM|max_norm
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(211)
CLASSES, PIXELS, CLIP = 6, 36, 1.0
centre = 1.3 * torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.2 * torch.randn(count, PIXELS), label


def weak(x):
    return x + 0.1 * torch.randn_like(x)


def strong(x):
    return x * (torch.rand_like(x) > 0.3) + 0.3 * torch.randn_like(x)


labelled_x, labelled_y = draw(36)
unlabelled, _ = draw(1200)
test_x, test_y = draw(500)
model = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
model.append(nn.Linear(64, CLASSES))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

for it in range(240):
    rows = torch.randint(0, len(unlabelled), (96,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sup_loss = F.cross_entropy(model(weak(labelled_x)).float(), labelled_y)
        with torch.no_grad():
            sure, pseudo = model(weak(unlabelled[rows])).float().softmax(1).max(1)
        unsup = F.cross_entropy(model(strong(unlabelled[rows])).float(), pseudo, reduction="none")
        mask = (sure > 0.9).float()
        loss = sup_loss + (unsup * mask).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), CLIP)  # here
    scaler.step(optimizer)
    scaler.update()
    if it % 40 == 39:
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(
            f"iteration {it + 1} labelled loss {sup_loss.item():.4f} "
            f"used {mask.mean().item():.3f} test accuracy {accuracy:.3f}"
        )
