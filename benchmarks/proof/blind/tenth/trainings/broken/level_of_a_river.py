r"""Level of a river on the next days from the days before, on few years of data.

Source: https://github.com/TROUBADOUR000/TimeFilter/issues/5
Fault: The class for early stopping saves the model in every epoch, whatever the validation loss,
    so the weights that are loaded at the end are the last and not the best ones.
Cause: (sav|checkpoint|stor).{0,80}(every (epoch|time|call)|uncondition|always|regardless|whatever
    |without (compar|check)|even (if|when)|no (comparison|condition))|(never|not|without|no
    |missing) .{0,30}compar.{0,60}(best|val|loss)|(uncondition|regardless|always).{0,60}(sav
    |checkpoint)|last .{0,40}(not|instead of|rather than).{0,20}best|patience.{0,50}never
    |counter.{0,40}never
Place: EarlyStopping|save_checkpoint|__call__|best_score|val_loss_min|counter|early_stopping
"""

import copy

import torch
from torch import nn

torch.manual_seed(8)
SEQ, PRED = 24, 6
t = torch.arange(420).float()
level = torch.sin(2 * torch.pi * t / 30) + 0.5 * torch.sin(2 * torch.pi * t / 11)
level = level + 0.6 * torch.randn(420)


def windows(series):
    rows = series.unfold(0, SEQ + PRED, 1)
    return rows[:, :SEQ], rows[:, SEQ:]


train, vali, test = windows(level[:140]), windows(level[140:280]), windows(level[280:])


class EarlyStopping:
    def __init__(self, patience=5):
        self.patience = patience
        self.counter = 0
        self.early_stop = False
        self.val_loss_min = float("inf")
        self.state = None

    def __call__(self, val_loss, model):
        self.save_checkpoint(val_loss, model)  # here

    def save_checkpoint(self, val_loss, model):
        if val_loss < self.val_loss_min:
            print(f"Validation loss ({self.val_loss_min:.6f} --> {val_loss:.6f}). Saving ...")
        self.state = copy.deepcopy(model.state_dict())
        self.val_loss_min = val_loss


model = nn.Sequential(nn.Linear(SEQ, 256), nn.ReLU(), nn.Linear(256, PRED))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()
early_stopping = EarlyStopping()


def vali_loss(data):
    model.eval()
    with torch.no_grad():
        return criterion(model(data[0]), data[1]).item()


for epoch in range(60):
    model.train()
    order = torch.randperm(len(train[0]))
    for rows in order.split(32):
        optimizer.zero_grad()
        loss = criterion(model(train[0][rows]), train[1][rows])
        loss.backward()
        optimizer.step()
    val_loss = vali_loss(vali)
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} train loss {loss.item():.4f} vali loss {val_loss:.4f}")
    early_stopping(val_loss, model)
    if early_stopping.early_stop:
        print("Early stopping")
        break
model.load_state_dict(early_stopping.state)
print(f"loaded: vali loss {vali_loss(vali):.4f} test loss {vali_loss(test):.4f}")
