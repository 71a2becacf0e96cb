r"""Trains with early stopping and restores the best weights at the end.

Source: https://github.com/WenjieDu/PyPOTS/issues/667
    https://github.com/THGLab/LP-PDBBind/pull/1
Fault: state_dict() returns references, so the stored "best" weights change with the training and
    the last, overfitted weights are restored.
Cause: state_dict|deep ?copy|\breferences?\b|\bclone\b|alias|same (tensors|memory|storage)
Place: best_model_dict
"""

import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(80, 30)
y = x[:, :1] + 0.8 * torch.randn(80, 1)
train_x, train_y, val_x, val_y = x[:40], y[:40], x[40:], y[40:]


class Trainer:
    def __init__(self, model, epochs=120, lr=5e-3):
        self.model = model
        self.epochs = epochs
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.best_loss = float("inf")
        self.best_model_dict = None

    def validate(self):
        with torch.no_grad():
            return nn.functional.mse_loss(self.model(val_x), val_y).item()

    def fit(self):
        for epoch in range(self.epochs):
            loss = nn.functional.mse_loss(self.model(train_x), train_y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            val_loss = self.validate()
            if val_loss < self.best_loss:
                self.best_loss = val_loss
                self.best_model_dict = self.model.state_dict()  # here
            if epoch % 20 == 0:
                print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f}")
        self.model.load_state_dict(self.best_model_dict)
        print(f"best val {self.best_loss:.4f} val of restored {self.validate():.4f}")


Trainer(nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))).fit()
