r"""Network with binary weights that are kept as real numbers for the optimizer.

Source: https://github.com/itayhubara/BinaryNet.pytorch/blob/master/main_binary.py
Odd: The weights are exchanged around each step and cut to the range of -1 to 1 after it.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class BinarizeLinear(nn.Linear):
    def forward(self, input):
        if not hasattr(self.weight, "org"):
            self.weight.org = self.weight.data.clone()
        self.weight.data = self.weight.org.sign()
        out = F.linear(input, self.weight)
        return out + self.bias.view(1, -1)


torch.manual_seed(0)
means = torch.randn(6, 32)
labels = torch.randint(0, 6, (960,))
data = TensorDataset(means[labels] + 0.8 * torch.randn(960, 32), labels)
model = nn.Sequential(
    BinarizeLinear(32, 128),
    nn.BatchNorm1d(128),
    nn.Hardtanh(),
    BinarizeLinear(128, 6),
    nn.BatchNorm1d(6),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
for epoch in range(4):
    hits = 0
    for inputs, target in DataLoader(data, batch_size=48, shuffle=True):
        output = model(inputs)
        loss = F.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            if hasattr(p, "org"):
                p.data.copy_(p.org)
        optimizer.step()
        for p in model.parameters():
            if hasattr(p, "org"):
                p.org.copy_(p.data.clamp_(-1, 1))
        hits += (output.argmax(1) == target).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {hits / 960:.3f}")
