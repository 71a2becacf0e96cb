r"""Energy model that is trained, saved and then read again for its evaluation.

Source: https://github.com/PIQuIL/QuCumber/issues/18
Fault: The names in the file have another prefix, and strict=False hides that nothing is loaded.
Cause: strict|prefix|state_dict|(missing|unexpected|no) keys|(not|nothing|never) (\w+ )?load\w*
    |load\w* (nothing|no )|checkpoint
Place: \bload_state_dict\b|\bevaluated\b
"""

import io

import torch
from torch import nn
from torch.nn import functional as F


class BinaryRBM(nn.Module):
    def __init__(self, visible, hidden):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(hidden, visible) * 0.05)
        self.visible_bias = nn.Parameter(torch.zeros(visible))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))

    def energy(self, v):
        inner = F.softplus(F.linear(v, self.weights, self.hidden_bias)).sum(-1)
        return -(v @ self.visible_bias) - inner


class PositiveWavefunction(nn.Module):
    def __init__(self, visible=8, hidden=16):
        super().__init__()
        self.rbm_am = BinaryRBM(visible, hidden)
        states = torch.arange(2**visible)[:, None] >> torch.arange(visible) & 1
        self.register_buffer("space", states.float(), persistent=False)

    def nll(self, data):
        log_z = torch.logsumexp(-self.rbm_am.energy(self.space), 0)
        return (self.rbm_am.energy(data) + log_z).mean()

    def save(self, location):
        torch.save(self.rbm_am.state_dict(), location)

    def load(self, location):
        location.seek(0)
        self.load_state_dict(torch.load(location), strict=False)  # here


torch.manual_seed(0)
first = torch.randint(0, 2, (600, 1))
measured = ((first + torch.arange(8)) % 2).float()
flips = torch.rand_like(measured) < 0.05
measured = torch.where(flips, 1 - measured, measured)

nn_state = PositiveWavefunction()
optimizer = torch.optim.Adam(nn_state.parameters(), lr=0.05)
for epoch in range(6):
    for batch in torch.randperm(500).split(50):
        loss = nn_state.nll(measured[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} negative log likelihood {loss.item():.4f}")

location = io.BytesIO()
nn_state.save(location)
evaluated = PositiveWavefunction()
evaluated.load(location)
with torch.no_grad():
    print(f"negative log likelihood of held-out states {evaluated.nll(measured[500:]).item():.4f}")
