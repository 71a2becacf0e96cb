r"""A training.

Source: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
Fault: The saved epoch is ignored on resuming and the loop counts from zero again, so the epoch-
    based schedule and total length are repeated.
Cause: epoch.{0,100}(zero|0|start|again|ignored|not|restart|repeat|counter|range)
    |(start|resum)\w*.{0,60}epoch
"""

import io
import torch
from torch import nn

torch.manual_seed(29)
protos = torch.randn(6, 15)
lab = torch.randint(6, (800,))
x = protos[lab] + 1.2 * torch.randn(800, 15)
TOTAL_EPOCHS = 12


def lr_for(epoch):
    return 0.1 if epoch < 4 else 0.02 if epoch < 8 else 0.004


def run(model, opt, start, stop):
    for epoch in range(start, stop):
        opt.param_groups[0]["lr"] = lr_for(epoch)
        for idx in torch.randperm(650).split(65):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x[idx]), lab[idx])
            loss.backward()
            opt.step()
        print(f"epoch {epoch} lr {lr_for(epoch)} loss {loss.item():.4f}")


model = nn.Sequential(nn.Linear(15, 60), nn.ReLU(), nn.Linear(60, 6))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
run(model, opt, 0, 8)
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": 8}, buffer)

buffer.seek(0)
ckpt = torch.load(buffer)
model.load_state_dict(ckpt["model"])
opt.load_state_dict(ckpt["opt"])
run(model, opt, 0, TOTAL_EPOCHS)
with torch.no_grad():
    print("acc", (model(x[650:]).argmax(1) == lab[650:]).float().mean().item())
