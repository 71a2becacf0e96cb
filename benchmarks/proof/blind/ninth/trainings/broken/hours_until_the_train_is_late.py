r"""Delay of trains in an hour, trained until the validation does not get better any more.

Source: https://github.com/modelscope/ms-swift/pull/5326
Fault: The counter of bad rounds is not set back when a new best loss is found, so bad rounds add
    up over the whole run and the training ends far too early.
Cause: (counter|patience|interval|bad (round|epoch)s?).{0,120}(reset|set back|zero|add up
    |accumulat|never|total)|(reset|zero).{0,60}(counter|interval|patience|wait)|stop.{0,60}(early
    |premature|too soon)|(early|premature).{0,60}stop.{0,60}(reset|counter|interval)
Place: interval|total_interval|counter|patience|EarlyStop|wait|bad_rounds|best
"""

import torch
from torch import nn

torch.manual_seed(221)
CAUSES = 16


class EarlyStop:
    def __init__(self, patience=6):
        self.patience, self.best, self.interval = patience, None, 0

    def __call__(self, value):
        if self.best is None or value < self.best:
            self.best = value  # here
        else:
            self.interval += 1
        return self.interval >= self.patience


def day(count):
    cause = torch.randn(count, CAUSES)
    delay = (cause[:, :4].sin() * 2).sum(1) + cause[:, 4] * cause[:, 5] + cause[:, 6].abs()
    return cause, delay[:, None] + 0.3 * torch.randn(count, 1)


train_x, train_y = day(900)
val_x, val_y = day(200)
test_x, test_y = day(1000)
model = nn.Sequential(nn.Linear(CAUSES, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
model.append(nn.Linear(96, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
early_stop = EarlyStop()

for round_ in range(60):
    for rows in torch.randperm(len(train_x)).split(30):
        loss = nn.functional.mse_loss(model(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(val_x), val_y).item()
    if round_ % 10 == 9:
        print(f"round {round_ + 1} loss {loss.item():.4f} validation {val_loss:.4f}")
    if early_stop(val_loss):
        print(f"stopped in round {round_ + 1}, best validation {early_stop.best:.4f}")
        break
with torch.no_grad():
    print(f"test {nn.functional.mse_loss(model(test_x), test_y).item():.4f}")
