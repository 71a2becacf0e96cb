"""What the other scripts of this folder do, as a plain loop."""

import sys

import torch
from data import BATCH, Points, make_net

model = make_net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
for batch in torch.utils.data.DataLoader(Points(), batch_size=BATCH):
    optimizer.zero_grad()
    loss = model(**batch)["loss"]
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    # truth: before("model", optimizer, loss)
    optimizer.step()
    # truth: after("model")
torch.save(model.state_dict(), sys.argv[1])
