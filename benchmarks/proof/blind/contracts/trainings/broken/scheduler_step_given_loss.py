r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
Fault: The validation loss is passed to the step of a non-plateau scheduler, which takes it as the
    epoch number.
Cause: (passes?|passed|given|argument|metric|loss).{0,80}(step|schedul|epoch)
    |epoch.{0,30}(argument|number|index)|step\(\w*loss
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(86)
K = 3
mean = torch.tensor([[0.0, 0], [2.5, 0], [1.2, 2.2]])
cls = torch.randint(K, (500,))
pos = mean[cls] + 0.8 * torch.randn(500, 2)
tr, va = slice(0, 400), slice(400, 500)

clf = nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, K))
opt = torch.optim.SGD(clf.parameters(), lr=0.1, momentum=0.9)
sched = CosineAnnealingLR(opt, T_max=10)
ce = nn.CrossEntropyLoss()


def evaluate():
    clf.eval()
    with torch.no_grad():
        out = clf(pos[va])
        return ce(out, cls[va]).item(), (out.argmax(1) == cls[va]).float().mean().item()


for epoch in range(10):
    clf.train()
    for idx in torch.randperm(400).split(40):
        opt.zero_grad()
        ce(clf(pos[idx]), cls[idx]).backward()
        opt.step()
    val_loss, val_acc = evaluate()
    sched.step(val_loss)
    print(f"{epoch} val {val_loss:.4f} acc {val_acc:.3f} lr {opt.param_groups[0]['lr']:.4f}")
