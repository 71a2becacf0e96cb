r"""Plain variational autoencoder on rendered numerals, in one file.

Source: https://github.com/ethanluoyc/pytorch-vae/issues/3
Fault: both terms are means over all their elements, so the reconstruction is divided by the number
    of pixels and the divergence only by the eight latents; the divergence outweighs, the code is
    ignored and every image comes out as the same blur.
Cause: (\bmean\b|averag|divid|reduction).{0,140}(pixels?|elements?|latent|dimension|divergence|KL
    |sum)|(KL|divergence|latent (loss|term)|prior).{0,140}(weigh|strong|dominat|outweigh
    |too (large|big|much)|relative|balance|scale)|(reconstruction|MSE).{0,140}(\bmean\b|averag
    |too (small|weak)|divid|scale|\bsum\b)|posterior collapse|ignores? the (code|latent)
Place: latent_loss|criterion|MSELoss|reduction|ll|loss
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

SEGMENTS = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc", 5: "afgcd", 6: "afgedc",
            7: "abc", 8: "abcdefg", 9: "abcdfg"}


def render(n):
    g = torch.Generator().manual_seed(n)
    out = torch.zeros(n, 14, 14)
    lab = torch.randint(10, (n,), generator=g)
    for i in range(n):
        y, x = torch.randint(0, 3, (2,), generator=g).tolist()
        for s in SEGMENTS[int(lab[i])]:
            if s == "a":
                out[i, y, x + 2:x + 9] = 1
            elif s == "g":
                out[i, y + 5, x + 2:x + 9] = 1
            elif s == "d":
                out[i, y + 10, x + 2:x + 9] = 1
            elif s == "f":
                out[i, y:y + 6, x + 2] = 1
            elif s == "b":
                out[i, y:y + 6, x + 8] = 1
            elif s == "e":
                out[i, y + 5:y + 11, x + 2] = 1
            else:
                out[i, y + 5:y + 11, x + 8] = 1
    return out.view(n, -1)


class Encoder(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(Encoder, self).__init__()
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, D_out)

    def forward(self, x):
        x = F.relu(self.linear1(x))
        return F.relu(self.linear2(x))


class Decoder(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(Decoder, self).__init__()
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, D_out)

    def forward(self, x):
        x = F.relu(self.linear1(x))
        return torch.sigmoid(self.linear2(x))


class VAE(torch.nn.Module):
    latent_dim = 8

    def __init__(self, encoder, decoder):
        super(VAE, self).__init__()
        self.encoder = encoder
        self.decoder = decoder
        self._enc_mu = torch.nn.Linear(100, 8)
        self._enc_log_sigma = torch.nn.Linear(100, 8)

    def _sample_latent(self, h_enc):
        """
        Return the latent normal sample z ~ N(mu, sigma^2)
        """
        mu = self._enc_mu(h_enc)
        log_sigma = self._enc_log_sigma(h_enc)
        sigma = torch.exp(log_sigma)
        std_z = torch.randn_like(sigma)

        self.z_mean = mu
        self.z_sigma = sigma

        return mu + sigma * std_z  # Reparameterization trick

    def forward(self, state):
        h_enc = self.encoder(state)
        z = self._sample_latent(h_enc)
        return self.decoder(z)


def latent_loss(z_mean, z_stddev):
    mean_sq = z_mean * z_mean
    stddev_sq = z_stddev * z_stddev
    return 0.5 * torch.mean(mean_sq + stddev_sq - torch.log(stddev_sq) - 1)


if __name__ == "__main__":

    input_dim = 14 * 14
    batch_size = 32

    images = render(2000)
    dataloader = DataLoader(TensorDataset(images), batch_size=batch_size, shuffle=True)

    print("Number of samples: ", len(images))

    encoder = Encoder(input_dim, 100, 100)
    decoder = Decoder(8, 100, input_dim)
    vae = VAE(encoder, decoder)

    criterion = nn.MSELoss()

    optimizer = optim.Adam(vae.parameters(), lr=0.001)
    l = None
    for epoch in range(20):
        for i, data in enumerate(dataloader, 0):
            inputs = data[0]
            optimizer.zero_grad()
            dec = vae(inputs)
            ll = latent_loss(vae.z_mean, vae.z_sigma)
            loss = criterion(dec, inputs) + ll  # here
            loss.backward()
            optimizer.step()
            l = loss.item()
        print(epoch, l)

    with torch.no_grad():
        recon = vae(images[:500])
        print("error per pixel: %.4f, of the mean image: %.4f" % (
            F.mse_loss(recon, images[:500]), F.mse_loss(images.mean(0).expand(500, -1),
                                                         images[:500])))
        made = decoder(torch.randn(200, 8))
        print("spread among generated images: %.4f, among real ones: %.4f" % (
            made.std(0).mean(), images.std(0).mean()))
