"""A trainer with evaluation, checkpoints, a scheduler per step and clipping."""

import dataclasses
import logging
import os
import pathlib
import sys
import tempfile

import torch
from torch import nn

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger("trainer")


@dataclasses.dataclass
class Config:
    lr: float = 0.05
    steps: int = 12
    clip: float = 0.5
    evaluate_every: int = 4
    folder: pathlib.Path = pathlib.Path(".")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(6, 3)
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        if self.training:
            self.seen += len(x)
        for layer in self.layers:
            x = x + self.drop(torch.tanh(layer(x)))
        return self.head(x)


class Trainer:
    def __init__(self, config):
        self.config = config
        self.model = Model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=config.lr, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=config.lr, total_steps=config.steps
        )
        self.step_number = 0

    def fit(self):
        while self.step_number < self.config.steps:
            self.model.train()
            self._train_step()
            self.step_number += 1
            if self.step_number % self.config.evaluate_every == 0:
                self._evaluate()
                self._save()
            if self.step_number == 8:
                self._resume()

    def _batch(self):
        x = torch.randn(12, 6)
        return x, x[:, :3].argmax(1)

    def _train_step(self):
        x, y = self._batch()
        loss = nn.functional.cross_entropy(self.model(x), y, label_smoothing=0.1)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        # truth: before("model", self.optimizer, loss)
        self.optimizer.step()
        # truth: after("model")
        self.scheduler.step()
        print(f"step {self.step_number} loss {loss.item():.6f}", flush=True)

    @torch.no_grad()
    def _evaluate(self):
        self.model.eval()
        x, y = self._batch()
        logger.info("evaluation: %.6f", nn.functional.cross_entropy(self.model(x), y).item())

    def _save(self):
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
        }
        torch.save(state, self.config.folder / f"step{self.step_number}.pt")

    def _resume(self):
        state = torch.load(self.config.folder / "step8.pt", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])
        logger.info("resumed at step 8")


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(Config(folder=pathlib.Path(folder)))
        trainer.fit()
    torch.save(trainer.model.state_dict(), os.environ["WEIGHTS"])
