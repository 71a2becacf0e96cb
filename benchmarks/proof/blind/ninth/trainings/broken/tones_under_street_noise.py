r"""Pure tones named under a noise that is drawn anew for every use of a clip.

Source: https://github.com/bubbliiiing/yolox-pytorch/issues/154
Fault: Every worker of every epoch is seeded with the same fixed number, so the noise that should
    be new repeats itself from epoch to epoch and in all workers and the net learns it by heart.
Cause: seed.{0,120}(same|fixed|identical|every (epoch|worker)|each (epoch|worker)|constant|repeat
    |worker_id|not depend|reset)|(same|identical|repeat).{0,80}(noise|augment|random|crop|seed
    |number)|worker_init_fn
Place: worker_init_fn|init_fn|seed_everything|seed|worker_id|DataLoader|loader
"""

import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES, LENGTH, SEED = 6, 64, 23


def seed_everything(seed=SEED):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def worker_init_fn(worker_id):
    seed_everything(SEED)  # here


class Tones(Dataset):
    def __init__(self, count, noise):
        self.label = torch.arange(count) % CLASSES
        self.noise = noise
        time = torch.arange(LENGTH) / LENGTH
        phase = 6.28 * torch.rand(count, 1)
        self.wave = torch.sin(6.28 * (self.label[:, None] + 3) * time + phase)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, index):
        noise = np.random.normal(0, self.noise, LENGTH).astype("float32")
        return self.wave[index] + torch.from_numpy(noise), self.label[index]


if __name__ == "__main__":
    seed_everything()
    clips, unheard = Tones(240, 1.2), Tones(480, 1.2)
    loader = DataLoader(
        clips, batch_size=60, num_workers=2, worker_init_fn=worker_init_fn, persistent_workers=False
    )
    test_x, test_y = next(iter(DataLoader(unheard, batch_size=480)))
    model = nn.Sequential(
        nn.Linear(LENGTH, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, CLASSES)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(24):
        running = 0.0
        for wave, label in loader:
            loss = loss_fn(model(wave), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        if epoch % 6 == 5:
            with torch.no_grad():
                logits = model(test_x)
            accuracy = (logits.argmax(1) == test_y).float().mean().item()
            test_loss = loss_fn(logits, test_y).item()
            print(
                f"epoch {epoch + 1} loss {running / len(loader):.4f} "
                f"test loss {test_loss:.4f} accuracy {accuracy:.3f}"
            )
