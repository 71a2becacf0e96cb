r"""Tissue and background in small scans, few of which have been outlined by hand.

Source: https://github.com/leofansq/CPCL/issues/1
Fault: The confidence is the maximum over the whole tensor, one number for all pixels, and not the
    maximum over the classes in each pixel, so doubtful pixels count like sure ones.
Cause: (confiden|max|weight).{0,100}(whole|scalar|single|global|all (pixels|elements|positions|of)
    |entire|one number|one value|dim|per.?pixel|each pixel|same for|over everything)|(scalar|global
    |single (number|value)|per.?pixel|missing dim|without dim|no dim).{0,80}(max|confiden|weight)
    |(doubtful|uncertain|unsure|wrong) (pixels|pseudo).{0,60}(count|pass|kept|not (filtered
    |masked))
Place: confidence|loss_w|weight|torch\.max|mask|dim
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
SIZE = 16


def scans(count):
    rows, cols = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    centre = 4 + 8 * torch.rand(count, 2, 1, 1)
    radius = 2 + 3 * torch.rand(count, 1, 1)
    mask = (rows - centre[:, 0]) ** 2 + (cols - centre[:, 1]) ** 2 < radius**2
    scan = 1.0 * mask + 0.9 * torch.randn(count, SIZE, SIZE)
    return scan.unsqueeze(1), mask.long()


labelled, outlines = scans(3)
unlabelled, _ = scans(96)
test_scans, test_masks = scans(100)


def net():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
        nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
        nn.Conv2d(16, 2, 1),
    )  # fmt: skip


student, teacher = net(), net()
teacher.load_state_dict(student.state_dict())
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)


def dice(model):
    with torch.no_grad():
        found = model(test_scans).argmax(1)
    both = (found * test_masks).sum().item()
    return 2 * both / max(1, (found.sum() + test_masks.sum()).item())


for step in range(150):
    rows = torch.randint(0, len(unlabelled), (12,))
    views = unlabelled[rows]
    with torch.no_grad():
        logits_tea = teacher(views)
        pseudo = logits_tea.argmax(1)
        confidence = torch.max(F.softmax(logits_tea, dim=1))  # here
        loss_w = (confidence > 0.9).float()
    logits_stu = student(views + 0.3 * torch.randn_like(views))
    loss_sup = F.cross_entropy(student(labelled), outlines)
    loss_con = (loss_w * F.cross_entropy(logits_stu, pseudo, reduction="none")).mean()
    ramp = min(1.0, step / 50)
    loss = loss_sup + ramp * 3.0 * loss_con
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.lerp_(fast, 0.05)
    if step % 30 == 29:
        print(
            f"step {step + 1} sup {loss_sup.item():.4f} con {loss_con.item():.4f} "
            f"used {loss_w.mean().item():.2f} dice {dice(teacher):.3f}"
        )
