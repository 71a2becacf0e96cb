r"""A stroke autoencoder: a bidirectional LSTM reads pen movements, a decoder draws a Bezier curve.

Source: https://github.com/dasayan05/stroke-ae/issues/3
Fault: The cell state of the forward direction is concatenated with itself, [-1, 0] and [-1, 0]; the
    cell state of the backward direction is not used in the latent code.
Cause: (backward|reverse\w*|second|other)[ -]?(direction|cell|pass|state|lstm)?.{0,80}(unused
    |ignored
    |never|not (used|read|part|in)|missing|dropped|discarded|lost|no (effect|gradient)|left out)
    |(same|twice|itself|duplicat\w*|repeat\w*) .{0,80}(direction|state|slice|half|tensor|concat
    |cat\b)
    |(concat\w*|cat\b) .{0,60}(itself|twice|same|with its)|c_final\[-1, ?1\]
    |(ignore|discard|drop|lose|miss)\w* .{0,40}(backward|reverse)
Place: c_final|C\b|RNNEncoder|cat
"""

import torch
import torch.nn as nn


class RNNEncoder(nn.Module):
    def __init__(self, n_input, n_hidden, n_layer, n_latent, bidirectional=True):
        super().__init__()
        self.n_input, self.n_hidden, self.n_layer = n_input, n_hidden, n_layer
        self.bidirectional = 2 if bidirectional else 1
        self.cell = nn.LSTM(n_input, n_hidden, n_layer, bidirectional=bidirectional,
                            batch_first=True)
        self.hc_to_latent = nn.Linear(2 * self.bidirectional * n_hidden, n_latent)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True,
                                                   enforce_sorted=False)
        _, (h_final, c_final) = self.cell(packed)
        B = x.size(0)
        h_final = h_final.view(self.n_layer, self.bidirectional, B, self.n_hidden)
        c_final = c_final.view(self.n_layer, self.bidirectional, B, self.n_hidden)
        H = torch.cat([h_final[-1, 0], h_final[-1, 1]], 1)
        C = torch.cat([c_final[-1, 0], c_final[-1, 0]], 1)  # here
        latent = self.hc_to_latent(torch.cat([H, C], 1))
        return torch.relu(latent)


class BezierDecoder(nn.Module):
    def __init__(self, n_latent, degree, n_points):
        super().__init__()
        self.degree = degree
        self.fc = nn.Linear(n_latent, n_latent)
        self.ctrlpts = nn.Linear(n_latent, 2 * (degree + 1))
        t = torch.linspace(0, 1, n_points)
        self.register_buffer('T', torch.stack([t ** i for i in range(degree + 1)], dim=1))
        self.register_buffer('M', self._bezier_matrix(degree))

    @staticmethod
    def _comb(n, k):
        r = 1
        for i in range(k):
            r = r * (n - i) // (i + 1)
        return r

    def _bezier_matrix(self, d):
        M = torch.zeros(d + 1, d + 1)
        for i in range(d + 1):
            for j in range(i + 1):
                M[i, j] = self._comb(d, i) * self._comb(i, j) * (-1) ** (i - j)
        return M

    def forward(self, latent):
        latent = torch.tanh(self.fc(latent))
        P = self.ctrlpts(latent).view(-1, self.degree + 1, 2)
        return self.T @ self.M @ P, P


class BezierAE(nn.Module):
    def __init__(self, n_input=2, n_hidden=32, n_layer=2, n_latent=48, degree=5, n_points=20):
        super().__init__()
        self.encoder = RNNEncoder(n_input, n_hidden, n_layer, n_latent)
        self.decoder = BezierDecoder(n_latent, degree, n_points)

    def forward(self, x, lengths):
        latent = self.encoder(x, lengths)
        curve, ctrlpts = self.decoder(latent)
        return curve, ctrlpts


def build():
    torch.manual_seed(0)
    return BezierAE()


def example_inputs():
    torch.manual_seed(1)
    t = torch.linspace(0, 1, 20).unsqueeze(0)
    a = torch.rand(6, 1) * 3
    x = torch.stack([torch.cos(a * t * 3) * t, torch.sin(a * t * 3 + a)], dim=-1)
    return x, torch.tensor([20, 18, 15, 20, 12, 17])
