r"""The VAE of the official examples, on small digits, with its loss inside of the forward pass.

Source: https://github.com/pytorch/examples/issues/824
Healthy: the divergence has a minus sign in front and both parts are sums over the batch, so that
    the loss is in the thousands; the asker took the sign for a mistake, but it is right, as the
    loss is the negative bound, and the sums only set the scale.
"""

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()

        self.fc1 = nn.Linear(256, 200)
        self.fc21 = nn.Linear(200, 20)
        self.fc22 = nn.Linear(200, 20)
        self.fc3 = nn.Linear(20, 200)
        self.fc4 = nn.Linear(200, 256)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5*logvar)
        eps = torch.randn_like(std)
        return mu + eps*std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 256))
        z = self.reparameterize(mu, logvar)
        return loss_function(self.decode(z), x, mu, logvar)


# Reconstruction + KL divergence losses summed over all elements and batch
def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 256), reduction='sum')

    # see Appendix B from VAE paper:
    # Kingma and Welling. Auto-Encoding Variational Bayes. ICLR, 2014
    # https://arxiv.org/abs/1312.6114
    # 0.5 * sum(1 + log(sigma^2) - mu^2 - sigma^2)
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())

    return BCE + KLD


def build():
    torch.manual_seed(1)
    return VAE()


def example_inputs():
    torch.manual_seed(1)
    x = torch.zeros(32, 1, 16, 16)
    for i in range(32):
        r, c = torch.randint(1, 10, (2,)).tolist()
        if i % 2:
            x[i, 0, r:r + 5, c:c + 5] = 1.0
        else:
            x[i, 0, r:r + 2, 2:14] = 0.8
    return (x,)
