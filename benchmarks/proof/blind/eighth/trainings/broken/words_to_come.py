r"""Language model of a small grammar with the transformer encoder of the library.

Source: https://github.com/pytorch/tutorials/pull/2662
Fault: No mask is given to the encoder, so each position sees the word that it has to predict.
Cause: mask|causal|(future|next|later|following)\b.{0,50}(token|word|position|see|visible|attend)
    |(see|look|attend|peek|copy|copies)\w*.{0,50}(future|next|later|following|target|ahead)|leak
Place: \w*mask|model|is_causal|transformer_encoder|forward
"""

import math
from typing import Optional

import torch
from torch import Tensor, nn

torch.manual_seed(113)
ntokens, bptt, d_hid = 12, 16, 48
table = torch.randint(0, ntokens, (ntokens, ntokens, 2))


def get_batch(size=24) -> tuple[Tensor, Tensor]:
    words = torch.randint(0, ntokens, (size, 2))
    for _ in range(bptt - 1):
        choice = (torch.rand(size) < 0.25).long()
        following = table[words[:, -2], words[:, -1], choice]
        words = torch.cat([words, following[:, None]], 1)
    return words[:, :-1].T, words[:, 1:].T.reshape(-1)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 64):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[: x.size(0)]


class TransformerModel(nn.Module):
    def __init__(self, ntoken: int, d_model: int, nhead: int, nlayers: int):
        super().__init__()
        self.d_model = d_model
        self.pos_encoder = PositionalEncoding(d_model)
        layers = nn.TransformerEncoderLayer(d_model, nhead, 2 * d_model, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layers, nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.linear = nn.Linear(d_model, ntoken)

    def forward(self, src: Tensor, src_mask: Optional[Tensor] = None) -> Tensor:
        src = self.pos_encoder(self.embedding(src) * math.sqrt(self.d_model))
        return self.linear(self.transformer_encoder(src, src_mask))


model = TransformerModel(ntokens, d_hid, nhead=4, nlayers=2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=150)
model.train()
for batch in range(150):
    data, targets = get_batch()
    output = model(data)  # here
    loss = criterion(output.view(-1, ntokens), targets)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    if batch % 30 == 29:
        print(f"| {batch + 1:3d} batches | loss {loss.item():5.2f} | ppl {loss.exp().item():8.2f}")

model.eval()
with torch.no_grad():
    data, targets = get_batch(300)
    for length in (4, 8, 16):
        out = model(data[:length])[-1]
        wanted = targets.view(bptt, -1)[length - 1]
        print(f"words {length:2d}: loss of the next word {criterion(out, wanted).item():.3f}")
