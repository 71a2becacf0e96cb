r"""Tiny world model that predicts where a cart goes, with a trainer in the style of Lightning.

Source: https://github.com/simchowitzlabpublic/nano-world-model/pull/22
Fault: the clipping is inside training_step, which runs before backward(), so at that time the
    gradients are empty and the ones that the optimizer uses are never clipped; a few wild
    transitions throw the weights away.
Cause: clip.{0,120}(before|ahead of|earlier than|prior to).{0,40}(backward|gradient)
    |clip.{0,100}(no effect|nothing|no gradients?|None|empty|never clips?|useless|not yet)|(order
    |sequence|place).{0,40}clip|backward.{0,60}after.{0,20}clip|clip\w*.{0,60}(too early
    |wrong (place|order|time))|(never|not|n't) (really |actually )?clipped|(None|no gradient|empty
    |missing).{0,60}clip|clip.{0,60}(previous|last) (step|batch|iteration)
Place: clip_grad_norm_?|gradient_clip_norm|training_step|backward
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)


def simulate(num_episodes, horizon=25, dt=0.1, crashes=False):
    obs, act, nxt = [], [], []
    for e in range(num_episodes):
        s = np.random.uniform(-1, 1, size=4)
        for t in range(horizon):
            a = np.random.uniform(-1, 1)
            x, v, th, om = s
            new = np.array([x + dt * v, v + dt * (2 * a - 0.3 * v),
                            th + dt * om, om + dt * (np.sin(th) - a - 0.2 * om)])
            if crashes and np.random.rand() < 0.006:
                new = new * 150
                obs.append(s), act.append([a]), nxt.append(new)
                break
            obs.append(s), act.append([a]), nxt.append(new)
            s = new
    to = lambda z: torch.tensor(np.array(z), dtype=torch.float32)
    return TensorDataset(to(obs), to(act), to(nxt))


class WorldModel(nn.Module):
    def __init__(self, obs_dim=4, act_dim=1, dim=64, lr=0.02, gradient_clip_norm=1.0):
        super().__init__()
        self.lr = lr
        self.gradient_clip_norm = gradient_clip_norm
        self.encoder = nn.Sequential(nn.Linear(obs_dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.action = nn.Linear(act_dim, dim)
        self.predictor = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(),
                                       nn.Linear(dim, dim))
        self.decoder = nn.Linear(dim, obs_dim)
        self.logged = {}

    def log(self, key, value):
        self.logged.setdefault(key, []).append(float(value.detach()))

    def forward(self, obs, act):
        z = self.encoder(obs)
        z = z + self.predictor(z + self.action(act))
        return obs + self.decoder(z)

    def training_step(self, batch, batch_idx):
        obs, act, nxt = batch
        loss = F.mse_loss(self(obs, act), nxt)
        gradient_norm = torch.nn.utils.clip_grad_norm_(  # here
            self.parameters(), self.gradient_clip_norm)
        self.log("train_loss", loss)
        self.log("gradient_norm", gradient_norm)
        return loss

    def validation_step(self, batch, batch_idx):
        obs, act, nxt = batch
        return F.mse_loss(self(obs, act), nxt)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model, train_loader, val_loader):
        optimizer = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            model.train()
            model.logged.clear()
            for i, batch in enumerate(train_loader):
                optimizer.zero_grad()
                loss = model.training_step(batch, i)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                val = np.mean([model.validation_step(b, i).item()
                               for i, b in enumerate(val_loader)])
            print(f"epoch {epoch}: train_loss {np.mean(model.logged['train_loss']):.4f} "
                  f"val_loss {val:.5f}")
        return val


def main():
    train = simulate(120, crashes=True)
    val = simulate(30)
    model = WorldModel()
    trainer = Trainer(max_epochs=10)
    val_loss = trainer.fit(model, DataLoader(train, batch_size=64, shuffle=True),
                           DataLoader(val, batch_size=256))
    persist = F.mse_loss(val.tensors[0], val.tensors[2]).item()
    print("val loss %.5f, of a model that predicts no change %.5f" % (val_loss, persist))


if __name__ == "__main__":
    main()
