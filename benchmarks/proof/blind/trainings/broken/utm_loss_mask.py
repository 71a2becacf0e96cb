r"""Predicts the outputs of random programs; a mask marks the positions to ignore.

Source: https://github.com/google-deepmind/neural_networks_solomonoff_induction/issues/4
Fault: The mask is 1 where the loss should be ignored, but it is used as the positions to keep; the
    model trains on the random filler and not on the program's output.
Cause: mask.*(invert|opposite|wrong|revers|complement|1 - |ignore)|(invert|opposite).*mask
"""

import torch
import torch.nn.functional as F
from torch import nn


def sample(batch_size=32, length=16):
    motif = torch.randint(0, 8, (batch_size, 2))
    seq = motif.repeat(1, length // 2)
    loss_mask = torch.zeros(batch_size, length)
    loss_mask[:, 10:] = 1.0
    seq[:, 10:] = torch.randint(0, 8, (batch_size, length - 10))
    return seq, {"loss_mask": loss_mask}


class SequenceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 24)
        self.rnn = nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(48, 8)

    def forward(self, seq):
        shifted = torch.cat([torch.full_like(seq[:, :1], 8), seq[:, :-1]], 1)
        return self.out(self.rnn(self.embed(shifted))[0])


torch.manual_seed(1)
model = SequenceModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    batch, log_dict = sample()
    conditionals = F.log_softmax(model(batch), -1).gather(2, batch[..., None]).squeeze(2)
    mask = log_dict["loss_mask"]
    loss = -(mask * conditionals).sum() / mask.sum()  # here
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 30 == 29:
        program = -conditionals[:, 3:10].mean().item()
        print(f"step {step} loss {loss.item():.4f} loss on the program's output {program:.4f}")
