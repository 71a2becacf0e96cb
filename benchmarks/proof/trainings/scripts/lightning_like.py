"""A trainer that owns the loop: training_step of a module, and optimizer.step with a closure."""

import json

import torch
from torch import nn


class LightningModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.trainer, self.global_step, self.logged = None, 0, {}

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value))


class LitAutoEncoder(LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return self.encoder(x)

    def training_step(self, batch, batch_idx):
        z = self.encoder(batch)
        loss = nn.functional.mse_loss(self.decoder(z), batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", nn.functional.mse_loss(self.decoder(self(batch)), batch))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=2e-3)
        return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model, train, val):
        model.trainer = self
        optimizer, scheduler = model.configure_optimizers()
        model.eval()
        with torch.no_grad():
            for i, batch in enumerate(val()):
                model.validation_step(batch, i)
        for _ in range(self.max_epochs):
            model.train()
            for i, batch in enumerate(train()):

                def closure():
                    loss = model.training_step(batch, i)
                    optimizer.zero_grad()
                    loss.backward()
                    return loss

                optimizer.step(closure=closure)
                model.global_step += 1
            scheduler.step()
            model.eval()
            with torch.no_grad():
                for i, batch in enumerate(val()):
                    model.validation_step(batch, i)


torch.manual_seed(34)
basis = torch.randn(3, 16)


def data(count):
    def batches():
        for _ in range(count):
            yield torch.tanh(torch.randn(32, 3) @ basis)

    return batches


autoencoder = LitAutoEncoder()
Trainer(max_epochs=6).fit(autoencoder, data(20), data(3))
t = autoencoder.logged["train_loss"]
print(t[0], t[-1], autoencoder.logged["val_loss"][-1])
print("TRUTH", json.dumps({"autoencoder": ["Adam", 120, t[0], t[-1]]}))
