r"""Phones of single frames of speech, trained with a rate of one cycle.

Source: https://github.com/espnet/espnet/pull/3319
Fault: The one-cycle schedule counts batches but is stepped once per epoch, so it stays at its
    start.
Cause: (one.?cycle|schedul).{0,120}(per|each|every|once|after).{0,30}(epoch|batch|step)
    |(learning rate|\blr\b).{0,80}(never|hardly|barely|not|stay|remain|too (low|small)|warm)
    |warm.?up.{0,60}(never|not|unfinish|end)|total_steps
Place: scheduler|OneCycleLR
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
PHONES, DIM = 12, 26


class FrameNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norm = nn.BatchNorm1d(DIM)
        self.body = nn.Sequential(
            nn.Linear(DIM, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.out = nn.Linear(width, PHONES)

    def forward(self, frames):
        return self.out(self.body(self.norm(frames)))


class Trainer:
    def __init__(self, model, train_loader, valid, epochs=10, max_lr=0.2):
        self.model, self.loader, self.valid, self.epochs = model, train_loader, valid, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.scheduler = OneCycleLR(
            self.optimizer,
            max_lr=max_lr,
            total_steps=epochs * len(train_loader),
            div_factor=100,
            cycle_momentum=False,
        )

    def train_one_epoch(self):
        self.model.train()
        losses = []
        for frames, phones in self.loader:
            loss = nn.functional.cross_entropy(self.model(frames), phones)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        frames, phones = self.valid
        return (self.model(frames).argmax(1) == phones).float().mean().item()

    def run(self):
        for epoch in range(self.epochs):
            loss = self.train_one_epoch()
            self.scheduler.step()  # here
            print(f"epoch {epoch + 1} loss {loss:.3f} valid accuracy {self.validate():.3f}")


centres = torch.randn(PHONES, 2, DIM)
labels = torch.randint(0, PHONES, (2600,))
frames = centres[labels, torch.randint(0, 2, (2600,))] + 0.9 * torch.randn(2600, DIM)
loader = DataLoader(TensorDataset(frames[:2000], labels[:2000]), batch_size=64, shuffle=True)
Trainer(FrameNet(), loader, (frames[2000:], labels[2000:])).run()
