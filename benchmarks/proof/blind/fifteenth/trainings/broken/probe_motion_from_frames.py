r"""Motion of an ultrasound probe refined from noisy tracking, with a validation loop of its own.

Source: https://github.com/ImFusionGmbH/DualTrack/issues/4
Fault: the validation loop hands the inputs of the batch to the criterion instead of the
    prediction of the model, so the validation loss is the same in every epoch and the "best"
    weights are those of the first epoch.
Cause: (\bval(?!ue)\w*|evaluat\w*|criterion|loss).{0,120}(input)s?.{0,120}(instead of|in place of
    |rather than|not) .{0,30}(predict|output|model)
    |(\bval(?!ue)\w*|evaluat\w*).{0,100}(without|never|does not|doesn.t|no) .{0,40}(model|predict
    |forward|network|net\b|output)
    |(model|predict\w*|forward|network).{0,60}(never|not|n.t) .{0,30}(called|used|run|asked
    |evaluated|take part).{0,60}(\bval(?!ue)|evaluat)
    |(\bval(?!ue)\w*|evaluat\w*).{0,60}loss.{0,60}(does not|doesn.t|never|not) depend
    |criterion.{0,60}(on|of|with|gets?|given|compares?) .{0,20}(inputs?|batch)
Place: criterion|run_validation_loss_loop|inputs|loss
"""
import argparse
import copy
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def get_parser():
    p = argparse.ArgumentParser()
    p.add_argument('--epochs', type=int, default=12)
    p.add_argument('--lr', type=float, default=3e-3)
    p.add_argument('--batch_size', type=int, default=16)
    p.add_argument('--hidden', type=int, default=32)
    p.add_argument('--seq_len', type=int, default=32)
    p.add_argument('--use_amp', action='store_true')
    p.add_argument('--seed', type=int, default=0)
    return p


class SweepDataset(Dataset):
    """Each sweep is a smooth 6-dof motion; the input is the motion as the tracker saw it."""

    def __init__(self, n, seq_len, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, seq_len)
        self.samples = []
        for _ in range(n):
            freq = 1 + 3 * torch.rand(6, generator=g)
            phase = 2 * math.pi * torch.rand(6, generator=g)
            motion = torch.sin(2 * math.pi * freq[None] * t[:, None] + phase[None])
            drift = torch.cumsum(0.15 * torch.randn(seq_len, 6, generator=g), 0)
            noise = 0.3 * torch.randn(seq_len, 6, generator=g)
            self.samples.append({'tracking': 0.6 * motion + noise + 0.2 * drift,
                                 'targets': motion})

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


class FusionNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.local = nn.Sequential(nn.Conv1d(6, hidden, 5, padding=2), nn.ReLU())
        self.glob = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, 6)

    def forward(self, x):
        h = self.local(x.transpose(1, 2)).transpose(1, 2)
        h, _ = self.glob(h)
        return self.head(h)


def prepare_batch_fn(batch, device):
    return batch['tracking'].to(device), batch['targets'].to(device)


def run_training_loop(model, loader, optimizer, criterion, prepare_batch_fn, epoch, device,
                      use_amp=False):
    model.train()
    total_loss = 0
    for i, batch in enumerate(loader):
        inputs, targets = prepare_batch_fn(batch, device)
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=use_amp):
            pred = model(inputs)
            loss = criterion(pred, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total_loss += loss.item()
    return total_loss / len(loader)


@torch.no_grad()
def run_validation_loss_loop(model, loader, criterion, prepare_batch_fn, epoch, device,
                             use_amp=False):
    model.eval()
    total_loss = 0
    for i, batch in enumerate(loader):
        inputs, targets = prepare_batch_fn(batch, device)
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=use_amp):
            loss = criterion(inputs, targets)  # here
        if loss is not None:
            total_loss += loss.item()
    return total_loss / len(loader)


@torch.no_grad()
def full_test(model, dataset):
    model.eval()
    err = []
    for s in dataset:
        pred = model(s['tracking'][None])[0]
        err.append((pred - s['targets']).abs().mean().item())
    return sum(err) / len(err)


def main():
    args = get_parser().parse_args()
    torch.manual_seed(args.seed)
    device = 'cpu'
    train_loader = DataLoader(SweepDataset(320, args.seq_len, 1), args.batch_size, shuffle=True)
    val_loader = DataLoader(SweepDataset(64, args.seq_len, 2), args.batch_size)
    test_set = SweepDataset(64, args.seq_len, 3)
    model = FusionNet(args.hidden).to(device)
    criterion = nn.L1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.3)

    best_score, best_weights, best_epoch = float('inf'), None, -1
    for epoch in range(args.epochs):
        train_loss = run_training_loop(model, train_loader, optimizer, criterion,
                                       prepare_batch_fn, epoch, device, args.use_amp)
        val_loss = run_validation_loss_loop(model, val_loader, criterion, prepare_batch_fn, epoch,
                                            device, args.use_amp)
        scheduler.step()
        if val_loss < best_score:
            best_score, best_epoch = val_loss, epoch
            best_weights = copy.deepcopy(model.state_dict())
        print(f'epoch {epoch}: train loss {train_loss:.4f}, val loss {val_loss:.4f}, '
              f'best {best_score:.4f}')

    print('last weights: test error {:.4f}'.format(full_test(model, test_set)))
    model.load_state_dict(best_weights)
    print('best weights (epoch {}): test error {:.4f}'.format(best_epoch,
                                                              full_test(model, test_set)))


if __name__ == '__main__':
    main()
