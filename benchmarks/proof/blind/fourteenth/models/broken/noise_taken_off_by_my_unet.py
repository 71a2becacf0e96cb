r"""A small U-Net that guesses the noise in a picture, with a table of sines for the time step.

Source: https://github.com/BrianPulfer/PapersReimplementations/issues/9
Fault: sine and cosine alternate over the rows (the time steps) instead of over the columns (the
    dimensions), and the cosine is taken of rows that are already sines of other steps; half of
    the steps get nearly the same row in almost all columns and the table does not encode time.
Cause: (\bsin\b|\bcos\b|sinus|\bsines?\b|\bcosines?\b|sin_mask).{0,100}(\brows?\b|time.?steps?
    |\bsteps?\b|positions?|wrong (dim|axis|index)|first (dim|axis)|dim(ension)? 0|axis 0)|(alternat
    |interleav|\bodd\b).{0,60}(\brows?\b|\bsteps?\b|positions?|columns?|dimension)
    |cos.{0,40}of.{0,20}\bsin|(rows|steps|positions|entries|embeddings).{0,60}(the same|identical
    |equal|duplicate|nearly|indistinguish|collide|coincide)|sin_mask
Place: sinusoidal_embedding|sin_mask|time_embed|embedding
"""

import torch
import torch.nn as nn


def sinusoidal_embedding(n, d):
    # Returns the standard positional embedding
    embedding = torch.tensor([[i / 10_000 ** (2 * j / d) for j in range(d)] for i in range(n)])
    sin_mask = torch.arange(0, n, 2)

    embedding[sin_mask] = torch.sin(embedding[sin_mask])  # here
    embedding[1 - sin_mask] = torch.cos(embedding[sin_mask])  # here

    return embedding


class MyBlock(nn.Module):
    def __init__(self, shape, in_c, out_c, kernel_size=3, stride=1, padding=1, activation=None,
                 normalize=True):
        super(MyBlock, self).__init__()
        self.ln = nn.LayerNorm(shape)
        self.conv1 = nn.Conv2d(in_c, out_c, kernel_size, stride, padding)
        self.conv2 = nn.Conv2d(out_c, out_c, kernel_size, stride, padding)
        self.activation = nn.SiLU() if activation is None else activation
        self.normalize = normalize

    def forward(self, x):
        out = self.ln(x) if self.normalize else x
        out = self.conv1(out)
        out = self.activation(out)
        out = self.conv2(out)
        out = self.activation(out)
        return out


class MyUNet(nn.Module):
    def __init__(self, n_steps=200, time_emb_dim=64):
        super(MyUNet, self).__init__()

        # Sinusoidal embedding
        self.time_embed = nn.Embedding(n_steps, time_emb_dim)
        self.time_embed.weight.data = sinusoidal_embedding(n_steps, time_emb_dim)
        self.time_embed.requires_grad_(False)

        # First half
        self.te1 = self._make_te(time_emb_dim, 1)
        self.b1 = nn.Sequential(
            MyBlock((1, 16, 16), 1, 10),
            MyBlock((10, 16, 16), 10, 10),
        )
        self.down1 = nn.Conv2d(10, 10, 4, 2, 1)

        self.te2 = self._make_te(time_emb_dim, 10)
        self.b2 = nn.Sequential(
            MyBlock((10, 8, 8), 10, 20),
            MyBlock((20, 8, 8), 20, 20),
        )
        self.down2 = nn.Conv2d(20, 20, 4, 2, 1)

        # Bottleneck
        self.te_mid = self._make_te(time_emb_dim, 20)
        self.b_mid = nn.Sequential(
            MyBlock((20, 4, 4), 20, 20),
            MyBlock((20, 4, 4), 20, 20),
        )

        # Second half
        self.up1 = nn.ConvTranspose2d(20, 20, 4, 2, 1)
        self.te4 = self._make_te(time_emb_dim, 40)
        self.b4 = nn.Sequential(
            MyBlock((40, 8, 8), 40, 20),
            MyBlock((20, 8, 8), 20, 10),
        )

        self.up2 = nn.ConvTranspose2d(10, 10, 4, 2, 1)
        self.te_out = self._make_te(time_emb_dim, 20)
        self.b_out = nn.Sequential(
            MyBlock((20, 16, 16), 20, 10),
            MyBlock((10, 16, 16), 10, 10, normalize=False),
        )

        self.conv_out = nn.Conv2d(10, 1, 3, 1, 1)

    def forward(self, x, t):
        # x is (N, 1, 16, 16) (image with positional embedding stacked on channel dimension)
        t = self.time_embed(t)
        n = len(x)
        out1 = self.b1(x + self.te1(t).reshape(n, -1, 1, 1))  # (N, 10, 16, 16)
        out2 = self.b2(self.down1(out1) + self.te2(t).reshape(n, -1, 1, 1))  # (N, 20, 8, 8)

        out_mid = self.b_mid(self.down2(out2) + self.te_mid(t).reshape(n, -1, 1, 1))

        out4 = torch.cat((out2, self.up1(out_mid)), dim=1)  # (N, 40, 8, 8)
        out4 = self.b4(out4 + self.te4(t).reshape(n, -1, 1, 1))  # (N, 10, 8, 8)

        out = torch.cat((out1, self.up2(out4)), dim=1)  # (N, 20, 16, 16)
        out = self.b_out(out + self.te_out(t).reshape(n, -1, 1, 1))

        out = self.conv_out(out)

        return out

    def _make_te(self, dim_in, dim_out):
        return nn.Sequential(
            nn.Linear(dim_in, dim_out),
            nn.SiLU(),
            nn.Linear(dim_out, dim_out)
        )


def build():
    torch.manual_seed(0)
    return MyUNet()


def example_inputs():
    torch.manual_seed(1)
    x0 = torch.full((12, 1, 16, 16), -1.0)
    for i in range(12):
        r, c = torch.randint(1, 10, (2,)).tolist()
        x0[i, :, r:r + 5, c:c + 5] = 1.0
    t = torch.randint(0, 200, (12,))
    alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 200), 0)[t].reshape(-1, 1, 1, 1)
    noisy = alpha_bar.sqrt() * x0 + (1 - alpha_bar).sqrt() * torch.randn_like(x0)
    return noisy, t
