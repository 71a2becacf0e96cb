r"""Learns the pull of a kite from wind and angles with one cycle of the learning rate.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
Fault: The cycle is planned for all batches of the run but the scheduler is stepped once an
    epoch; only the first few steps of it are ever taken, the rate stays near the small value of
    the start, and the net is far from trained at the end.
Cause: (one ?cycle|schedul|cycle|rate)\w*.*(epoch|batch|once|stepped|step\b|start|never|warm|low)
    |(per|every|each|once an?) (batch|epoch).*(schedul|cycle|step)|total_steps|steps_per_epoch
Place: schedul|OneCycleLR
"""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(52)
EPOCHS = 15


def flights(n):
    wind = torch.rand(n) * 10 + 3
    pitch = torch.rand(n) * 0.8
    yaw = torch.randn(n) * 0.5
    area = torch.rand(n) + 0.5
    pull = 0.05 * area * wind ** 2 * torch.sin(2 * pitch) * torch.cos(yaw)
    inputs = torch.stack([(wind - 8) / 3, (pitch - 0.4) / 0.23, yaw / 0.5, (area - 1) / 0.3], 1)
    return inputs, (pull + 0.1 * torch.randn(n)).unsqueeze(1)


class KiteNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.layers(x)


loader = DataLoader(TensorDataset(*flights(1500)), batch_size=50, shuffle=True)
test_x, test_y = flights(500)
model = KiteNet()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=0.05, epochs=EPOCHS, steps_per_epoch=len(loader))

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()  # here
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    print(f"test error {criterion(model(test_x), test_y).item():.4f}")
