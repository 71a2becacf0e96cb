r"""Speech-like sequences with connectionist temporal classification.

Source: https://github.com/SeanNaren/deepspeech.pytorch
    https://github.com/distillpub/post--ctc/issues/34
Odd: In the first steps the network predicts nothing but blanks and the loss stands on a plateau;
    the peaks of the symbols appear later.
"""

import torch
from torch import nn


class DeepSpeech(nn.Module):
    def __init__(self, labels=5):
        super().__init__()
        self.rnn = nn.GRU(8, 32, bidirectional=True)
        self.fc = nn.Linear(64, labels + 1)

    def forward(self, x):
        return self.fc(self.rnn(x)[0]).log_softmax(-1)


torch.manual_seed(0)
model, criterion = DeepSpeech(), nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(150):
    labels = torch.randint(1, 6, (24, 3))
    audio = 0.2 * torch.randn(18, 24, 8)
    for k in range(3):
        audio[2 + 5 * k : 5 + 5 * k, torch.arange(24), labels[:, k]] += 1.5
    out = model(audio)
    loss = criterion(out, labels, torch.full((24,), 18), torch.full((24,), 3))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 400)
    optimizer.step()
    if step % 25 == 24:
        blanks = (out.argmax(-1) == 0).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} share of blanks {blanks:.3f}")
