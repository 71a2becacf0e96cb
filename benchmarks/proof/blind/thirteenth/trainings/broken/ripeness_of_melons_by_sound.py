r"""Judges the ripeness of melons by the sound of a knock and keeps the best epoch.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: The method that switches to evaluation is named but not called, for the parentheses are
    missing; dropout goes on in every validation and in the test, so the numbers are too low and
    change from call to call.
Cause: (eval|evaluation mode).*(not called|never|parenthes|missing|without|only named|not entered)
    |(not|never|without|no).*(call|eval|evaluation mode)|dropout.*(active|still|on|eval|test|valid)
    |train(ing)? mode
Place: eval|measure|dropout
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(46)
BANDS = 40


def knocks(n, timbre):
    ripe = torch.randint(0, 3, (n,))
    size = torch.randn(n, 1)
    spectrum = timbre[ripe] + 0.5 * size * timbre[3] + 1.1 * torch.randn(n, BANDS)
    return spectrum, ripe


class KnockNet(nn.Module):
    def __init__(self, drop=0.6):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(BANDS, 96), nn.ReLU(), nn.Dropout(drop),
            nn.Linear(96, 48), nn.ReLU(), nn.Dropout(drop),
            nn.Linear(48, 3),
        )

    def forward(self, x):
        return self.layers(x)


@torch.no_grad()
def measure(net, x, y):
    net.eval  # here
    return (net(x).argmax(1) == y).float().mean().item()


timbre = torch.randn(4, BANDS) * 0.35
train_x, train_y = knocks(700, timbre)
valid_x, valid_y = knocks(250, timbre)
test_x, test_y = knocks(600, timbre)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=35, shuffle=True)

net = KnockNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
best, state = 0.0, None
for epoch in range(25):
    net.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    score = measure(net, valid_x, valid_y)
    if score > best:
        best, state = score, {k: v.clone() for k, v in net.state_dict().items()}
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: valid {score:.3f}")

net.load_state_dict(state)
print(f"best valid {best:.3f}; test {measure(net, test_x, test_y):.3f}")
