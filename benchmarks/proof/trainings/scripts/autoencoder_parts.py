"""An autoencoder of two modules with one optimizer, each with its own learning rate."""

import json

import torch
from torch import nn


def main():
    torch.manual_seed(37)
    encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
    decoder = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(
        [
            {"params": encoder.parameters(), "lr": 1e-3},
            {"params": decoder.parameters(), "lr": 3e-3},
        ]
    )
    basis, losses = torch.randn(3, 16), []
    for epoch in range(5):
        for _ in range(20):
            x = torch.tanh(torch.randn(32, 3) @ basis)
            z = encoder(x)
            y = decoder(z)
            loss = nn.functional.mse_loss(y, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(epoch, losses[-1])
    row = ["Adam", 100, losses[0], losses[-1]]
    print("TRUTH", json.dumps({"encoder": row, "decoder": row}))


main()
