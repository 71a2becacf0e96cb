"""Trainings that save a checkpoint in the middle, and go on from it: ten combinations of parts.

A resumed training leaves one part of the state out, by the name of the loss.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset, RandomSampler

EPOCHS, SAVED = 4, 2
SIZE, BATCH = 24, 4


@dataclass(frozen=True)
class Script:
    """What a training is made of."""

    optimizer: str = "adam"
    scheduler: str = "step"
    model: str = "plain"
    data: str = "shuffle"  # "own": a generator of its own; "manual": randperm; "seeded" by epoch
    noise: str = ""  # "python" or "numpy": draws by which the data are changed
    scaler: bool = False
    middle: bool = False  # saves within an epoch, whose order is kept


SCRIPTS = {
    "mlp": Script(),
    "momentum": Script("momentum", "cosine", "norm"),
    "dropout": Script("adamw", "cycle", "dropout"),
    "scaler": Script("momentum", "exponential", scaler=True),
    "own order": Script("adam", "lambda", "norm", "own"),
    "by hand": Script("rmsprop", "step", "dropout", "manual"),
    "python noise": Script("adamw", "step", noise="python"),
    "numpy noise": Script("nadam", "linear", "norm", noise="numpy"),
    "epoch seeds": Script("adagrad", "restarts", "dropout", "seeded"),
    "middle": Script("adam", "each step", "plain", "manual", middle=True),
}
# What is lost, the group that must be named, and of which scripts it is a part.
LOSSES = {
    "a layer": "weights",
    "optimizer": "optimizer moments",
    "one moment": "optimizer moments",
    "moments of one parameter": "optimizer moments",
    "step count": "step count",
    "scheduler": "scheduler",
    "scheduler by one": "scheduler",
    "learning rate": "optimizer settings",
    "weight decay": "optimizer settings",
    "scaler": "scaler",
    "torch generator": "random state",
    "python generator": "random state",
    "numpy generator": "random state",
    "own generator": "data order",
    "epoch": "data order",
    "place in the epoch": "data order",
    "buffers": "buffers",
}


def has(script: Script, loss: str) -> bool:
    """Whether the script has what is lost, so that the training changes."""
    draws = script.data in {"shuffle", "manual"} or script.model == "dropout"
    return {
        "step count": script.optimizer in {"adam", "adamw", "nadam", "adagrad"},
        "scaler": script.scaler,
        "torch generator": draws,
        "python generator": script.noise == "python",
        "numpy generator": script.noise == "numpy",
        "own generator": script.data == "own",
        "epoch": script.data == "seeded",
        "place in the epoch": script.middle,
        "buffers": script.model == "norm",
    }.get(loss, True)


class Rows(Dataset):
    """Rows of a regression, to which an item may add noise."""

    def __init__(self, noise: str) -> None:
        generator = torch.Generator().manual_seed(5)
        self.x, self.noise = torch.randn(SIZE, 4, generator=generator), noise

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, i):
        x = self.x[i]
        if self.noise == "python":
            x = x + random.random()
        if self.noise == "numpy":
            x = x + float(np.random.rand())
        return x.float(), x.sum(-1, keepdim=True).float()


def _model(kind: str) -> nn.Module:
    between = {"plain": nn.Tanh, "norm": lambda: nn.BatchNorm1d(8), "dropout": nn.Dropout}[kind]()
    return nn.Sequential(nn.Linear(4, 8), between, nn.ReLU(), nn.Linear(8, 1))


def _optimizer(kind: str, parameters):
    return {
        "adam": lambda: torch.optim.Adam(parameters, 0.01),
        "adamw": lambda: torch.optim.AdamW(parameters, 0.01),
        "nadam": lambda: torch.optim.NAdam(parameters, 0.01),
        "momentum": lambda: torch.optim.SGD(parameters, 0.01, momentum=0.9),
        "rmsprop": lambda: torch.optim.RMSprop(parameters, 0.01, momentum=0.5),
        "adagrad": lambda: torch.optim.Adagrad(parameters, 0.05, lr_decay=0.1),
    }[kind]()


def _scheduler(kind: str, optimizer):
    return {
        "step": lambda: lr_scheduler.StepLR(optimizer, 2, 0.5),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(optimizer, 8),
        "cycle": lambda: lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=EPOCHS + 2),
        "exponential": lambda: lr_scheduler.ExponentialLR(optimizer, 0.9),
        "lambda": lambda: lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.8**epoch),
        "linear": lambda: lr_scheduler.LinearLR(optimizer, 0.2, total_iters=6),
        "restarts": lambda: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3),
        "each step": lambda: lr_scheduler.StepLR(optimizer, 5, 0.7),
    }[kind]()


def train(script: Script, file: Path, *, resume: bool, loss: str = "") -> None:
    """Train; save in the middle, or go on from there without what is lost."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    net = _model(script.model)
    optimizer = _optimizer(script.optimizer, net.parameters())
    scheduler = _scheduler(script.scheduler, optimizer)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
    data, generator = Rows(script.noise), torch.Generator().manual_seed(9)
    loader = DataLoader(data, BATCH, shuffle=True)
    if script.data == "own":
        loader = DataLoader(data, BATCH, sampler=RandomSampler(data, generator=generator))
    epoch, done, order = 0, 0, None
    if resume:
        state = torch.load(file, weights_only=False)
        _restore(state, loss, net, optimizer, scheduler)
        if script.scaler and loss != "scaler":
            scaler.load_state_dict(state["scaler"])
        if loss != "own generator":
            generator.set_state(state["generator"])
        epoch, done, order = state["epoch"], state["done"], state["order"]
        if loss == "epoch":
            epoch = 0
        if loss == "place in the epoch":
            done = 0
        if loss != "torch generator":
            torch.set_rng_state(state["torch"])
        if loss != "python generator":
            random.setstate(state["python"])
        if loss != "numpy generator":
            np.random.set_state(state["numpy"])
    for epoch in range(epoch, EPOCHS):
        if script.data in {"manual", "seeded"}:
            if script.data == "seeded":
                own = torch.Generator().manual_seed(epoch)
                order = torch.randperm(SIZE, generator=own)
            elif not done and loss != "place in the epoch":
                order = torch.randperm(SIZE)
            batches = [[data[i] for i in part.tolist()] for part in order.split(BATCH)]
            batches = [tuple(map(torch.stack, zip(*rows, strict=True))) for rows in batches]
        else:
            batches = loader
        for number, (x, y) in enumerate(batches):
            if number < done:
                continue
            optimizer.zero_grad()
            error = nn.functional.mse_loss(net(x), y)
            if script.scaler:
                scaler.scale(error).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                error.backward()
                optimizer.step()
            if script.scheduler == "each step":
                scheduler.step()
            if script.middle and not resume and (epoch, number) == (SAVED - 1, 2):
                _save(file, net, optimizer, scheduler, scaler, generator, epoch, number + 1, order)
        done = 0
        if script.scheduler != "each step":
            scheduler.step()
        if not script.middle and not resume and epoch == SAVED - 1:
            _save(file, net, optimizer, scheduler, scaler, generator, epoch + 1, 0, order)


def _save(file, net, optimizer, scheduler, scaler, generator, epoch, done, order) -> None:
    state = {
        "net": net.state_dict(), "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(),
        "generator": generator.get_state(), "torch": torch.get_rng_state(),
        "python": random.getstate(), "numpy": np.random.get_state(),
        "epoch": epoch, "done": done, "order": order,
    }  # fmt: skip
    torch.save(state, file)


def _restore(state, loss, net, optimizer, scheduler) -> None:
    """Load the state of the model, the optimizer and the scheduler, but for what is lost."""
    weights = dict(state["net"])
    if loss == "a layer":
        weights = {name: value for name, value in weights.items() if not name.startswith("3.")}
    if loss == "buffers":
        weights = {name: v for name, v in weights.items() if "running" not in name}
    net.load_state_dict(weights, strict=False)
    moments = state["optimizer"]["state"]
    kept = [name for name, value in moments[0].items() if name != "step" and value is not None]
    if loss == "one moment":
        for values in moments.values():
            values[kept[-1]].zero_()
    if loss == "moments of one parameter":
        for name in kept:
            moments[0][name].zero_()
    if loss == "step count":
        for values in moments.values():
            values["step"] = torch.tensor(0.0)
    if loss != "optimizer":
        optimizer.load_state_dict(state["optimizer"])
    if loss != "scheduler":
        scheduler.load_state_dict(state["scheduler"])
    if loss == "scheduler by one":
        scheduler.step()
    if loss == "learning rate":
        for group in optimizer.param_groups:
            group["lr"] = 0.1
    if loss == "weight decay":
        for group in optimizer.param_groups:
            group["weight_decay"] = 0.3
