r"""Speed and steering of a car from what its camera sees, with one branch per command.

Source: https://github.com/felipecode/coiltraine/issues/37
Fault: The error of the speed is divided by the batch size twice, the steering only once, so the
    speed branch is hardly trained.
Cause: (divid|normali|averag|mean|scal).{0,120}(twice|again|once more|second time|double|two times
    |already)|(twice|double).{0,80}(divid|normali|batch)|speed.{0,100}(batch.?size|too small|tiny
    |under.?weight|divided)
Place: speed_loss|count|batch_size|shape|branches|loss|criterion
"""

import torch
from torch import nn

torch.manual_seed(101)
SEEN, COMMANDS = 20, 4
road = torch.randn(SEEN, COMMANDS)
pace = torch.randn(SEEN) / SEEN**0.5


def drive(count):
    seen = torch.randn(count, SEEN)
    command = torch.randint(0, COMMANDS, (count,))
    steer = torch.tanh((seen @ road).gather(1, command[:, None]) / 4)
    speed = torch.sigmoid(2 * (seen @ pace))[:, None]
    return seen, command, steer, speed


class Driver(nn.Module):
    def __init__(self):
        super().__init__()
        self.perception = nn.Sequential(nn.Linear(SEEN, 64), nn.ReLU())
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(COMMANDS)
        )
        self.speed = nn.Sequential(nn.Linear(SEEN, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, seen):
        state = self.perception(seen)
        steer = torch.cat([branch(state) for branch in self.branches], 1)
        return steer, self.speed(seen)


def criterion(branches, speed_out, command, steer, speed):
    count = len(steer)
    control = torch.zeros(())
    for number in range(COMMANDS):
        chosen = (command == number).float()[:, None]
        control = control + (chosen * (branches[:, number, None] - steer) ** 2).sum()
    speed_loss = ((speed_out - speed) ** 2).sum() / count
    return control / count + speed_loss / count  # here


seen, command, steer, speed = drive(2000)
test = drive(500)
model = Driver()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(10):
    running = 0.0
    for rows in torch.randperm(len(seen)).split(100):
        branches, speed_out = model(seen[rows])
        loss = criterion(branches, speed_out, command[rows], steer[rows], speed[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    with torch.no_grad():
        branches, speed_out = model(test[0])
        steer_error = (branches.gather(1, test[1][:, None]) - test[2]).abs().mean().item()
        speed_error = (speed_out - test[3]).abs().mean().item()
    if epoch % 2:
        print(
            f"epoch {epoch + 1} loss {running / 20:.4f} steering off by {steer_error:.4f} "
            f"speed off by {speed_error:.4f}"
        )
