r"""A training of `SmallCNN`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train
Fault: After the first validation the model stays in eval mode, so the later epochs train without
    dropout and with frozen batch norm statistics.
Cause: (train\(\)|train(ing)? mode|eval(uation)? mode|eval\(\)).{0,100}(train|restor|back|again|stay|left|remain|epoch)
    |dropout.{0,60}(off|inactive|disabled).{0,60}train
"""

import torch
import torch.nn as nn

torch.manual_seed(5)
proto = torch.randn(5, 1, 8, 8)
lab = torch.randint(0, 5, (600,))
img = proto[lab] + 0.9 * torch.randn(600, 1, 8, 8)
xtr, ytr, xva, yva = img[:450], lab[:450], img[450:], lab[450:]


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3, padding=1)
        self.bn = nn.BatchNorm2d(12)
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(12 * 16, 5)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x)))
        h = nn.functional.max_pool2d(h, 2).flatten(1)
        return self.fc(self.drop(h))


cnn = SmallCNN()
opt = torch.optim.Adam(cnn.parameters(), lr=3e-3)
crit = nn.CrossEntropyLoss()
cnn.train()

for epoch in range(8):
    for idx in torch.randperm(450).split(45):
        opt.zero_grad()
        loss = crit(cnn(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
    cnn.eval()
    with torch.no_grad():
        va = (cnn(xva).argmax(1) == yva).float().mean().item()
    print(f"epoch {epoch} train loss {loss.item():.3f} val acc {va:.3f}")
