import sys, torch
import torch.nn as nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 7)
        self.b = nn.Linear(7, 2)

    def forward(self, x):
        return self.b(self.a(x).relu())


torch.manual_seed(1)
model = nn.DataParallel(Small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True, momentum=0.9)
for i in range(5):
    out = model(torch.randn(8, 5))
    loss = (out**2).mean() + out[:, 0].mean()
    model.zero_grad()
    loss.backward()
    # truth: before("model", optimizer, loss)
    optimizer.step()
    # truth: after("model")
    print(i, loss.item())
torch.save(model.module.state_dict(), sys.argv[1])
