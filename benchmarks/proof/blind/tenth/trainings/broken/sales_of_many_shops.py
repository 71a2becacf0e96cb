r"""Sales of shops on the next day, with the best epoch kept by the error in per cent.

Source: https://github.com/unit8co/darts/pull/1344
Fault: The metric gets target and prediction in the wrong order, so the error in per cent is taken
    of the prediction and not of the true sales.
Cause: (argument|target|prediction|metric|order|input|preds?).{0,100}(swap|wrong order|revers|order
    |exchang|interchang|divided by the predict|relative to the predict|of the predict)|(swap
    |wrong order|reversed|exchanged).{0,80}(argument|target|pred|metric)|(divid|relative|per ?cent
    |denomin|normali).{0,60}predict
Place: mape|metric|val_metric|target|preds?|percentage_error|update
"""

import copy

import torch
from torch import nn

torch.manual_seed(1344)


def mean_absolute_percentage_error(preds, target, eps=1e-2):
    return ((preds - target).abs() / target.abs().clamp(min=eps)).mean()


def shops(count):
    features = torch.randn(count, 8)
    base = 3 * torch.exp(0.7 * features[:, 0] + 0.4 * features[:, 1] * features[:, 2])
    return features, base * torch.exp(0.3 * torch.randn(count))


train_x, train_y = shops(1500)
val_x, val_y = shops(400)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1), nn.Softplus())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best, best_state = float("inf"), None
for epoch in range(16):
    model.train()
    for rows in torch.randperm(len(train_x)).split(50):
        output = model(train_x[rows]).squeeze(1)
        loss = nn.functional.l1_loss(output, train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        output = model(val_x).squeeze(1)
        val_metric = mean_absolute_percentage_error(val_y, output).item()  # here
    if val_metric < best:
        best, best_state = val_metric, copy.deepcopy(model.state_dict())
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} train loss {loss.item():.4f} val mape {val_metric:.4f}")
model.load_state_dict(best_state)
print(f"best val mape {best:.4f}")
