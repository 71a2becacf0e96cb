r"""Spots keyword sequences with connectionist temporal classification.

Source: https://github.com/castorini/howl/pull/47
    https://github.com/SeanNaren/deepspeech.pytorch/pull/603
Fault: The labels start at 0 and the network reserves its last output for the blank, but the loss
    keeps the default blank 0, so the first keyword is confused with silence.
Cause: blank
Place: criterion|CTCLoss|blank
"""

import torch
from torch import nn

NUM_WORDS, FRAMES = 4, 20
blank_label = NUM_WORDS


class AcousticModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 32, bidirectional=True)
        self.fc = nn.Linear(64, NUM_WORDS + 1)

    def forward(self, x):
        return self.fc(self.rnn(x)[0]).log_softmax(-1)


def utterances(n):
    words = torch.randint(0, NUM_WORDS, (n, 3))
    frames = 0.3 * torch.randn(FRAMES, n, 6)
    for k in range(3):
        for t in range(2):
            frames[3 + 5 * k + t, torch.arange(n), words[:, k]] += 2.0
    return frames, words


def decode(log_probs):
    best = log_probs.argmax(-1).T
    out = []
    for row in best.tolist():
        merged = [a for i, a in enumerate(row) if i == 0 or a != row[i - 1]]
        out.append([a for a in merged if a != blank_label])
    return out


torch.manual_seed(0)
model = AcousticModel()
criterion = nn.CTCLoss(zero_infinity=True)  # here
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(120):
    audio, labels = utterances(32)
    scores = model(audio)
    lengths = torch.full((32,), FRAMES), torch.full((32,), 3)
    loss = criterion(scores, labels, *lengths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 24 == 23:
        right = sum(a == b for a, b in zip(decode(scores), labels.tolist())) / 32
        print(f"step {step} loss {loss.item():.4f} sequences right {right:.3f}")
