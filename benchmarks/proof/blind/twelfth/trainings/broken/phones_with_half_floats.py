r"""Frame classifier of phones in simulated speech, trained with automatic mixed precision.

Source: https://github.com/rwth-i6/returnn/issues/1590
Fault: the gradients are clipped while they are still multiplied by the scale of the GradScaler;
    step() divides them by the scale afterwards, so the clip norm is about 65000 times too small
    and the weights hardly move.
Cause: unscal|(scaled|scaler|scale factor|loss scale).{0,100}clip|clip.{0,120}(scaled|scaler
    |scale factor|loss scale)|GradScaler.{0,80}(clip|norm)
Place: clip_grad_norm_?|scaler|grad_scaler|unscale_?|gradient_clip\w*
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--gradient_clip_global_norm", type=float, default=5.0)
    parser.add_argument("--amp", type=int, default=1)
    return parser.parse_args()


def make_utterances(num, num_phones=8, dim=20, gen=None, prototypes=None):
    feats, labels = [], []
    for _ in range(num):
        seq = []
        while len(seq) < 40:
            p = int(torch.randint(num_phones, (1,), generator=gen))
            seq += [p] * int(torch.randint(3, 8, (1,), generator=gen))
        lab = torch.tensor(seq[:40])
        x = prototypes[lab] + 0.8 * torch.randn(40, dim, generator=gen)
        feats.append(x)
        labels.append(lab)
    return torch.stack(feats), torch.stack(labels)


class Model(nn.Module):
    def __init__(self, dim_in=20, dim_hidden=64, num_targets=8):
        super().__init__()
        self.conv = nn.Conv1d(dim_in, dim_hidden, 5, padding=2)
        self.conv2 = nn.Conv1d(dim_hidden, dim_hidden, 3, padding=1)
        self.out = nn.Linear(dim_hidden, num_targets)

    def forward(self, x):
        x = F.relu(self.conv(x.transpose(1, 2)))
        x = F.relu(self.conv2(x))
        return self.out(x.transpose(1, 2))


class Updater:
    def __init__(self, network, args):
        self.network = network
        self.optimizer = torch.optim.SGD(network.parameters(), lr=args.lr, momentum=0.9)
        self.grad_scaler = torch.amp.GradScaler("cpu", enabled=bool(args.amp))
        self.clip = args.gradient_clip_global_norm

    def step(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        self.grad_scaler.scale(loss).backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)  # here
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()


def train_epoch(model, updater, x, y, args):
    model.train()
    losses = []
    for idx in torch.randperm(len(x)).split(args.batch_size):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bool(args.amp)):
            logits = model(x[idx])
            loss = F.cross_entropy(logits.float().flatten(0, 1), y[idx].flatten())
        updater.step(loss)
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def frame_error(model, x, y):
    model.eval()
    return (model(x).argmax(-1) != y).float().mean().item()


def main():
    args = parse_args()
    gen = torch.Generator().manual_seed(0)
    prototypes = torch.randn(8, 20, generator=gen)
    train = make_utterances(256, gen=gen, prototypes=prototypes)
    dev = make_utterances(64, gen=gen, prototypes=prototypes)
    model = Model()
    updater = Updater(model, args)
    for ep in range(1, args.epochs + 1):
        ce = train_epoch(model, updater, *train, args)
        fer = frame_error(model, *dev)
        print("epoch %i: train ce %.4f, dev frame error %.4f" % (ep, ce, fer))


if __name__ == "__main__":
    main()
