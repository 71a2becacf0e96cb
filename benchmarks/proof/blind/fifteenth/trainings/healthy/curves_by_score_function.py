r"""REINFORCE with Gaussian outputs that learns four simple curves, as a check of the method.

Source: https://discuss.pytorch.org/t/vanilla-reinforce-for-continuous-distributions/25718
Healthy: the samples are drawn with sample(), so no gradient flows through them; the loss is the
    log-probability times the error, and its value says nothing about the progress.
"""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


def curves(x):
    return torch.cat([x, x ** 2, x ** 3, torch.sin(2 * x)], dim=1)


def build(h):
    # Two layer MLP, producing means and log sigmas for the output
    return nn.Sequential(
        nn.Linear(1, h), nn.Tanh(),
        nn.Linear(h, h), nn.Tanh(),
        nn.Linear(h, 8)
    )


def evaluate(model, n=400):
    with torch.no_grad():
        x = torch.linspace(-1, 1, n).unsqueeze(1)
        res = model(x)
        means, sigs = res[:, :4], torch.exp(res[:, 4:])
        err = F.mse_loss(means, curves(x), reduction='none').mean(dim=0)
    return err, sigs.mean(dim=0)


def go(arg):
    torch.manual_seed(arg.seed)
    model = build(arg.hidden)
    opt = torch.optim.Adam(model.parameters(), lr=arg.lr)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=arg.iterations // 3, gamma=0.3)
    baseline = torch.zeros(4)

    err0, _ = evaluate(model)
    print('before', ' '.join('%.3f' % v for v in err0.tolist()))

    for i in range(arg.iterations):
        x = 2 * torch.rand(arg.batch, 1) - 1
        y = curves(x)

        res = model(x)
        means, sigs = res[:, :4], torch.exp(res[:, 4:].clamp(-3, 1))

        dists = torch.distributions.Normal(means, sigs)
        samples = dists.sample()

        # REINFORCE
        mloss = F.mse_loss(samples, y, reduction='none')
        loss = - dists.log_prob(samples) * - (mloss - baseline)
        loss = loss.mean()

        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        baseline = 0.95 * baseline + 0.05 * mloss.mean(dim=0)

        if i % arg.print_every == 0:
            err, sig = evaluate(model)
            print('{: 6} loss {:8.4f}'.format(i, loss.item()))
            print('       error of the means', ' '.join('%.4f' % v for v in err.tolist()))
            print('       sigs', ' '.join('%.3f' % v for v in sig.tolist()))

    err, sig = evaluate(model)
    print('done   error of the means', ' '.join('%.4f' % v for v in err.tolist()))
    print('       sigs', ' '.join('%.3f' % v for v in sig.tolist()))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-b', '--batch', type=int, default=256)
    parser.add_argument('-i', '--iterations', type=int, default=2400)
    parser.add_argument('-l', '--lr', type=float, default=0.004)
    parser.add_argument('--hidden', type=int, default=48)
    parser.add_argument('--print-every', type=int, default=400)
    parser.add_argument('--seed', type=int, default=3)
    go(parser.parse_args())
