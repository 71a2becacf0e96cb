r"""A vanilla VAE written with bare weight matrices, after a zoo of generative models.

Source: https://github.com/wiseodd/generative-models/issues/40
Healthy: the KL is the mean over the batch of a sum over the latents and the weights are bare
    tensors in a list; somebody may miss a module or want the sum of the paper, but both losses are
    averaged.
"""
import numpy as np
import torch
import torch.nn.functional as nn
import torch.optim as optim

torch.manual_seed(0)
np.random.seed(0)

mb_size = 64
Z_dim = 6
X_dim = 64
h_dim = 64
c = 0
lr = 2e-3


class Pictures:
    """8 x 8 strokes, pixel values in [0, 1]"""

    def __init__(self, n=2000):
        rng = np.random.RandomState(0)
        self.images = np.zeros((n, 8, 8), np.float32)
        for i in range(n):
            k = rng.randint(3)
            p = rng.randint(1, 7)
            if k == 0:
                self.images[i, p, 1:7] = 1
            elif k == 1:
                self.images[i, 1:7, p] = 1
            else:
                for j in range(1, 7):
                    self.images[i, j, (j + p) % 8] = 1
        self.images = self.images.reshape(n, 64) * 0.96 + 0.02
        self.at = 0

    def next_batch(self, n):
        idx = np.random.randint(0, len(self.images), n)
        return self.images[idx], None


def xavier_init(size):
    in_dim = size[0]
    xavier_stddev = 1. / np.sqrt(in_dim / 2.)
    return (torch.randn(*size) * xavier_stddev).requires_grad_()


# =============================== Q(z|X) ======================================

Wxh = xavier_init(size=[X_dim, h_dim])
bxh = torch.zeros(h_dim, requires_grad=True)

Whz_mu = xavier_init(size=[h_dim, Z_dim])
bhz_mu = torch.zeros(Z_dim, requires_grad=True)

Whz_var = xavier_init(size=[h_dim, Z_dim])
bhz_var = torch.zeros(Z_dim, requires_grad=True)


def Q(X):
    h = nn.relu(X @ Wxh + bxh.repeat(X.size(0), 1))
    z_mu = h @ Whz_mu + bhz_mu.repeat(h.size(0), 1)
    z_var = h @ Whz_var + bhz_var.repeat(h.size(0), 1)
    return z_mu, z_var


def sample_z(mu, log_var):
    eps = torch.randn(mu.size(0), Z_dim)
    return mu + torch.exp(log_var / 2) * eps


# =============================== P(X|z) ======================================

Wzh = xavier_init(size=[Z_dim, h_dim])
bzh = torch.zeros(h_dim, requires_grad=True)

Whx = xavier_init(size=[h_dim, X_dim])
bhx = torch.zeros(X_dim, requires_grad=True)


def P(z):
    h = nn.relu(z @ Wzh + bzh.repeat(z.size(0), 1))
    X = torch.sigmoid(h @ Whx + bhx.repeat(h.size(0), 1))
    return X


# =============================== TRAINING ====================================

params = [Wxh, bxh, Whz_mu, bhz_mu, Whz_var, bhz_var,
          Wzh, bzh, Whx, bhx]

solver = optim.Adam(params, lr=lr)
mnist = Pictures()

for it in range(2000):
    X, _ = mnist.next_batch(mb_size)
    X = torch.from_numpy(X)

    # Forward
    z_mu, z_var = Q(X)
    z = sample_z(z_mu, z_var)
    X_sample = P(z)

    # Loss
    recon_loss = nn.binary_cross_entropy(X_sample, X, reduction='sum') / mb_size
    kl_loss = torch.mean(0.5 * torch.sum(torch.exp(z_var) + z_mu**2 - 1. - z_var, 1))
    loss = recon_loss + kl_loss

    # Backward
    loss.backward()

    # Update
    solver.step()

    # Housekeeping
    for p in params:
        if p.grad is not None:
            p.grad.data.zero_()

    # Print and plot every now and then
    if it % 400 == 0:
        print('Iter-{}; Loss: {:.4}; recon {:.4} kl {:.4}'.format(
            it, loss.item(), recon_loss.item(), kl_loss.item()))
        c += 1

with torch.no_grad():
    X = torch.from_numpy(mnist.images[:200])
    mu, _ = Q(X)
    print('mean squared error of the reconstruction %.4f' % ((P(mu) - X) ** 2).mean().item())
    print('mean squared error of the mean picture   %.4f' % ((X.mean(0) - X) ** 2).mean().item())
