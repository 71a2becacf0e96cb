r"""Music tagger on short made-up clips with validation, a plateau scheduler and early stopping.

Source: https://github.com/ilaria-manco/music-audio-tagging-pytorch/issues/4
Fault: k_patience is never set back to zero when the validation improves, so all epochs without
    improvement add up and the training stops while it still improves and before the scheduler can
    lower the rate.
Cause: (patience|counter|early.?stop\w*).{0,140}(reset|back to (zero|0)|never|set back|accumulat
    |add(s|ed)? up|cumulat|starts? over|cleared|consecutive|in a row|zeroed|only grows)
    |(reset|zeroed|set back|cleared).{0,80}(patience|counter|improv)
Place: k_patience|patience|is_val_improving|early_stop
"""
import argparse
import math
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TAGS = ['flute', 'bass', 'drums', 'noise', 'slow', 'fast']


class ClipDataset(Dataset):
    def __init__(self, num, seed, length=400):
        rng = np.random.RandomState(seed)
        self.audio, self.tags = [], []
        t = np.arange(length) / 400.0
        for _ in range(num):
            tag = (rng.rand(6) < 0.4).astype(np.float32)
            tag[5] = 1 - tag[4]
            rate = 3 if tag[4] else 9
            x = np.zeros(length)
            if tag[0]:
                x += 0.6 * np.sin(2 * math.pi * rng.uniform(60, 80) * t)
            if tag[1]:
                x += 0.8 * np.sin(2 * math.pi * rng.uniform(8, 14) * t)
            if tag[2]:
                x += 1.5 * (np.sin(2 * math.pi * rate * t + rng.rand()) > 0.95)
            if tag[3]:
                x += 0.6 * rng.randn(length)
            x = x * (1 + 0.3 * np.sin(2 * math.pi * rate * t)) + 0.25 * rng.randn(length)
            flip = rng.rand(6) < 0.06
            self.audio.append(x.astype(np.float32))
            self.tags.append(np.where(flip, 1 - tag, tag).astype(np.float32))

    def __len__(self):
        return len(self.audio)

    def __getitem__(self, idx):
        return torch.from_numpy(self.audio[idx]), torch.from_numpy(self.tags[idx])


class WaveFront(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.conv0 = nn.Conv1d(1, 16, 15, stride=3, padding=7)
        self.conv1 = nn.Conv1d(16, 24, 7, stride=2, padding=3)
        self.conv2 = nn.Conv1d(24, 24, 7, stride=2, padding=3)
        self.bn0, self.bn1, self.bn2 = nn.BatchNorm1d(16), nn.BatchNorm1d(24), nn.BatchNorm1d(24)
        self.dense = nn.Linear(48, 48)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(48, num_tags)

    def forward(self, x):
        x = torch.relu(self.bn0(self.conv0(x.unsqueeze(1))))
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        x = torch.cat([x.mean(2), x.max(2)[0]], dim=1)
        return torch.sigmoid(self.out(self.drop(torch.relu(self.dense(x)))))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.train_loader = DataLoader(ClipDataset(600, 0), batch_size=args.batch_size,
                                       shuffle=True)
        self.val_loader = DataLoader(ClipDataset(100, 1), batch_size=50)
        self.model = WaveFront(len(TAGS))
        self.criterion = nn.BCELoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, 'min', factor=0.2, patience=args.plateau_patience)
        self.model_path = os.path.join(tempfile.mkdtemp(), 'best.pth')

    def train_epoch(self):
        self.model.train()
        losses = []
        for audio, tags in self.train_loader:
            loss = self.criterion(self.model(audio), tags)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    def validate(self):
        self.model.eval()
        losses, hits = [], []
        with torch.no_grad():
            for audio, tags in self.val_loader:
                pred = self.model(audio)
                losses.append(self.criterion(pred, tags).item())
                hits.append(((pred > 0.5) == (tags > 0.5)).float().mean().item())
        return np.mean(losses), np.mean(hits)

    def train(self):
        best_val_loss = np.inf
        k_patience = 0
        for epoch in range(self.args.epochs):
            train_loss = self.train_epoch()
            val_loss, val_acc = self.validate()
            self.scheduler.step(val_loss)
            is_val_improving = val_loss < best_val_loss
            print('epoch {:3d} lr {:.5f} train loss {:.4f} val loss {:.4f} val acc {:.4f} {}'
                  .format(epoch, self.optimizer.param_groups[0]['lr'], train_loss, val_loss,
                          val_acc, '*' if is_val_improving else ''))
            if is_val_improving:
                best_val_loss = val_loss
                torch.save(self.model.state_dict(), self.model_path)
            else:
                k_patience += 1  # here
            if k_patience >= self.args.patience:
                print('Early stopping, best validation loss {:.4f}'.format(best_val_loss))
                break
        self.model.load_state_dict(torch.load(self.model_path))
        return epoch + 1, self.validate()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=40)
    parser.add_argument('--batch_size', type=int, default=32)
    parser.add_argument('--lr', type=float, default=6e-3)
    parser.add_argument('--patience', type=int, default=8)
    parser.add_argument('--plateau_patience', type=int, default=4)
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    epochs, (loss, acc) = Trainer(args).train()
    print('stopped after {} epochs: val loss {:.4f} acc {:.4f}'.format(epochs, loss, acc))
