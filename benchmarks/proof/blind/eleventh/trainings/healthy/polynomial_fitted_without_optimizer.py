r"""The official regression example with a table of results: a quartic fitted by hand-made descent.

Source: https://github.com/pytorch/examples/blob/main/regression/main.py
Healthy: there is no optimizer and no data set, the parameters are changed through .data after
    backward() and fc.zero_grad() comes before the forward pass; the coefficients are found.
"""
import argparse
from itertools import count

import torch
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument('--degree', type=int, default=4)
parser.add_argument('--batch-size', type=int, default=32)
parser.add_argument('--lr', type=float, default=0.1)
parser.add_argument('--tolerance', type=float, default=1e-3)
parser.add_argument('--max-batches', type=int, default=3000)
parser.add_argument('--runs', type=int, default=3)
args = parser.parse_args()

POLY_DEGREE = args.degree


def make_features(x):
    """Builds features i.e. a matrix with columns [x, x^2, x^3, x^4]."""
    x = x.unsqueeze(1)
    return torch.cat([x ** i for i in range(1, POLY_DEGREE + 1)], 1)


class Problem:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.W_target = torch.randn(POLY_DEGREE, 1, generator=self.g) * 5
        self.b_target = torch.randn(1, generator=self.g) * 5

    def f(self, x):
        """Approximated function."""
        return x.mm(self.W_target) + self.b_target.item()

    def get_batch(self, batch_size):
        """Builds a batch i.e. (x, f(x)) pair."""
        random = torch.rand(batch_size, generator=self.g) * 2 - 1
        x = make_features(random)
        y = self.f(x)
        return x, y


def poly_desc(W, b):
    """Creates a string description of a polynomial."""
    result = 'y = '
    for i, w in enumerate(W):
        result += '{:+.2f} x^{} '.format(w, i + 1)
    result += '{:+.2f}'.format(b[0])
    return result


def fit(problem):
    # Define model
    fc = torch.nn.Linear(problem.W_target.size(0), 1)

    for batch_idx in count(1):
        # Get data
        batch_x, batch_y = problem.get_batch(args.batch_size)

        # Reset gradients
        fc.zero_grad()

        # Forward pass
        output = F.smooth_l1_loss(fc(batch_x), batch_y)
        loss = output.item()

        # Backward pass
        output.backward()

        # Apply gradients
        for param in fc.parameters():
            param.data.add_(-args.lr * param.grad)

        if batch_idx % 1000 == 0:
            print('   batch {:5d} loss {:.6f}'.format(batch_idx, loss))

        # Stop criterion
        if loss < args.tolerance or batch_idx >= args.max_batches:
            break
    return fc, batch_idx, loss


def compare(problem, fc, points=200):
    x = torch.linspace(-1, 1, points)
    with torch.no_grad():
        difference = fc(make_features(x)) - problem.f(make_features(x))
    return difference.abs().mean().item(), difference.abs().max().item()


def main():
    torch.manual_seed(0)
    rows = []
    for seed in range(args.runs):
        problem = Problem(seed)
        fc, batches, loss = fit(problem)
        print('Loss: {:.6f} after {} batches'.format(loss, batches))
        print('==> Learned function:\t' + poly_desc(fc.weight.view(-1), fc.bias))
        print('==> Actual function:\t' + poly_desc(problem.W_target.view(-1), problem.b_target))
        rows.append((seed, batches, loss) + compare(problem, fc))

    print('seed batches  loss      mean gap  largest gap')
    for row in rows:
        print('{:4d} {:7d}  {:.6f}  {:.5f}   {:.5f}'.format(*row))


if __name__ == '__main__':
    main()
