r"""Worth of the end of recorded episodes of different lengths, by a recurrent critic.

Source: https://github.com/ray-project/ray/issues/21392
Fault: The state after the longest length is used for all the episodes, so for the shorter ones the
    network has first run over many zeros of padding.
Cause: pad\w*|seq_lens|(sequence|episode)\w*.{0,20}length|(last|final).{0,40}(step|state|position
    |output).{0,60}(short|zero|wrong|valid|real)|pack_padded|variable.{0,10}length
Place: seq_lens|lstm|features|hidden|forward|state
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(23)
OBS, LONGEST = 5, 50


def record(count):
    episodes, worth = [], []
    for _ in range(count):
        length = int(torch.randint(3, LONGEST + 1, ()))
        obs = torch.randn(length, OBS)
        weight = 0.8 ** torch.arange(length - 1, -1, -1.0)
        episodes.append(obs)
        worth.append((weight * torch.tanh(obs[:, 0] + obs[:, 1])).sum())
    seq_lens = torch.tensor([len(e) for e in episodes])
    return pad_sequence(episodes, batch_first=True), seq_lens, torch.stack(worth)


class LSTMWrapper(nn.Module):
    def __init__(self, cell_size=32):
        super().__init__()
        self.dense = nn.Linear(OBS, cell_size)
        self.lstm = nn.LSTM(cell_size, cell_size, batch_first=True)
        self.value_branch = nn.Linear(cell_size, 1)

    def forward_rnn(self, inputs, seq_lens):
        features, state = self.lstm(torch.tanh(self.dense(inputs)))
        return features[:, -1], state  # here

    def value_function(self, inputs, seq_lens):
        hidden, _ = self.forward_rnn(inputs, seq_lens)
        return self.value_branch(hidden).squeeze(-1)


def main():
    critic = LSTMWrapper()
    optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=100)
    for iteration in range(100):
        obs, seq_lens, worth = record(32)
        loss = F.smooth_l1_loss(critic.value_function(obs, seq_lens), worth)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        if iteration % 20 == 0:
            print(f"iteration {iteration}: vf_loss {loss.item():.4f}")
    with torch.no_grad():
        obs, seq_lens, worth = record(500)
        residual = worth - critic.value_function(obs, seq_lens)
    print(f"explained variance {1 - (residual.var() / worth.var()).item():.3f}")


if __name__ == "__main__":
    main()
