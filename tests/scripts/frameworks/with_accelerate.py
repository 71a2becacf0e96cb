"""Accelerate, which wraps the optimizer, and accumulates gradients."""

import sys

import torch
from accelerate import Accelerator
from data import BATCH, Points, make_net

accelerator = Accelerator(cpu=True)
model = make_net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
loader = torch.utils.data.DataLoader(Points(), batch_size=BATCH)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        optimizer.zero_grad()
        loss = model(**batch)["loss"]
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    accelerator.print(loss.item())
torch.save(accelerator.unwrap_model(model).state_dict(), sys.argv[1])
