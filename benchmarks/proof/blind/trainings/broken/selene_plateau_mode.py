r"""Trains a sequence model and reduces the learning rate when the validation loss stands still.

Source: https://github.com/FunctionLab/selene/issues/115
    https://github.com/RMeli/gnina-torch/pull/57
Fault: The scheduler watches a loss in mode "max"; each improvement counts as a bad epoch, so the
    rate is cut again and again and the training freezes.
Cause: \bmode\b|\bmax\b|plateau|(rate|lr)\b.*(cut|reduc|decay|fall|shrink)
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau


class DeepSEA(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 16, 6)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(F.relu(self.conv(x)).amax(-1)).squeeze(1)


def sequences(n):
    seq, y = torch.randint(0, 4, (n, 30)), torch.randint(0, 2, (n,)).float()
    for row in y.nonzero().flatten().tolist():
        at = int(torch.randint(0, 24, (1,)))
        seq[row, at : at + 6] = torch.tensor([0, 2, 1, 3, 3, 0])
    return F.one_hot(seq, 4).float().transpose(1, 2), y


class TrainModel:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        self.scheduler = ReduceLROnPlateau(self.optimizer, "max", patience=1, factor=0.2)  # here
        self.validation = sequences(256)

    def train_and_validate(self, max_steps=200, report_every=10):
        for step in range(1, max_steps + 1):
            x, y = sequences(24)
            loss = F.binary_cross_entropy_with_logits(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % report_every == 0:
                with torch.no_grad():
                    valid = F.binary_cross_entropy_with_logits(
                        self.model(self.validation[0]), self.validation[1]
                    )
                self.scheduler.step(valid)
            if step % 40 == 0:
                lr = self.optimizer.param_groups[0]["lr"]
                print(
                    f"step {step} train {loss.item():.4f} validation {valid.item():.4f} lr {lr:.1e}"
                )


torch.manual_seed(1337)
TrainModel(DeepSEA()).train_and_validate()
