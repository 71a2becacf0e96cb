r"""Classifier in the structure of a project template: config, base trainer, trainer, checkpoints.

Source: https://github.com/victoresque/pytorch-template/issues/68
Fault: the checkpoint holds model and optimizer but not the scheduler; after a resume the scheduler
    counts from epoch 0 again, so the learning rate jumps back to its start.
Cause: scheduler.{0,120}(not|never|n't|missing|without|absent|lacks?).{0,60}(saved?|stored?
    |restored?|load(ed)?|checkpoint|resum\w+|state)|(not|never|n't|without|missing|lacks?
    |omits?).{0,60}(the )?(lr |learning rate )?scheduler|scheduler.{0,100}(from scratch|start(s
    |ed)? (again|over|at 0|from)|restart|reset|counts? from|last_epoch)|(resum\w+
    |checkpoint).{0,100}learning rate.{0,60}(jumps?|back|again|start|reset|too high)
    |learning rate.{0,100}(jumps?|rises?|goes back|starts? again|back to|higher
    |reset).{0,80}(resum|checkpoint|load|continu)
Place: lr_scheduler|scheduler|_save_checkpoint|_resume_checkpoint|state
"""
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

SEED = 123
torch.manual_seed(SEED)
np.random.seed(SEED)

config = {
    "arch": {"hidden": 64},
    "optimizer": {"lr": 0.15, "momentum": 0.9},
    "trainer": {"epochs": 8, "save_period": 1, "monitor": "val_loss"},
}


def get_loader(n, seed, shuffle):
    g = torch.Generator().manual_seed(99)
    protos = torch.randn(10, 30, generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(10, (n,), generator=g)
    x = protos[y] + 1.7 * torch.randn(n, 30, generator=g)
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=shuffle)


class MnistLikeModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc1 = nn.Linear(30, hidden)
        self.fc2 = nn.Linear(hidden, 10)

    def forward(self, x):
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


class BaseTrainer:
    def __init__(self, model, criterion, optimizer, config, folder, resume=None):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.epochs = config["trainer"]["epochs"]
        self.checkpoint_dir = folder
        self.start_epoch = 1
        self.mnt_best = float("inf")
        if resume is not None:
            self._resume_checkpoint(resume)

    def train(self):
        for epoch in range(self.start_epoch, self.epochs + 1):
            log = self._train_epoch(epoch)
            print(" ".join(f"{k}: {v:.5g}" for k, v in {"epoch": epoch, **log}.items()))
            self.mnt_best = min(self.mnt_best, float(log["val_loss"]))
            self._save_checkpoint(epoch)
        return log

    def _save_checkpoint(self, epoch):
        state = {
            "arch": type(self.model).__name__,
            "epoch": epoch,
            "state_dict": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),  # here
            "monitor_best": self.mnt_best,
        }
        torch.save(state, os.path.join(self.checkpoint_dir, f"checkpoint-epoch{epoch}.pth"))

    def _resume_checkpoint(self, resume_path):
        checkpoint = torch.load(resume_path)
        self.start_epoch = checkpoint["epoch"] + 1
        self.mnt_best = checkpoint["monitor_best"]
        self.model.load_state_dict(checkpoint["state_dict"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])  # here
        print(f"Checkpoint loaded. Resume training from epoch {self.start_epoch}")


class Trainer(BaseTrainer):
    def __init__(self, model, criterion, optimizer, config, data_loader, valid_data_loader,
                 lr_scheduler, folder, resume=None):
        self.data_loader = data_loader
        self.valid_data_loader = valid_data_loader
        self.lr_scheduler = lr_scheduler
        super().__init__(model, criterion, optimizer, config, folder, resume)

    def _train_epoch(self, epoch):
        self.model.train()
        lr = self.optimizer.param_groups[0]["lr"]
        losses = []
        for data, target in self.data_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(data), target)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        log = {"lr": lr, "loss": np.mean(losses), **self._valid_epoch()}
        self.lr_scheduler.step()
        return log

    def _valid_epoch(self):
        self.model.eval()
        losses, correct, total = [], 0, 0
        with torch.no_grad():
            for data, target in self.valid_data_loader:
                output = self.model(data)
                losses.append(self.criterion(output, target).item())
                correct += (output.argmax(1) == target).sum().item()
                total += len(target)
        return {"val_loss": np.mean(losses), "val_accuracy": correct / total}


def main(config, folder, resume=None):
    train_loader = get_loader(1500, 1, True)
    valid_loader = get_loader(500, 2, False)
    model = MnistLikeModel(**config["arch"])
    optimizer = torch.optim.SGD(model.parameters(), **config["optimizer"])
    total = 16
    lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: (1 - min(epoch, total - 1) / total) ** 3)
    trainer = Trainer(model, F.nll_loss, optimizer, config, train_loader, valid_loader,
                      lr_scheduler, folder, resume)
    return trainer.train()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(config, folder)
        config["trainer"]["epochs"] = 16
        main(config, folder, resume=os.path.join(folder, "checkpoint-epoch8.pth"))
