r"""Pictures in bytes are compressed to a short code and drawn again.

Source: https://github.com/pkmital/pycadl/pull/5
Fault: The batches are divided by 255 in the pipeline and once more in the training loop.
Cause: (twice|second|double|again|two times|already).{0,80}(255|normali|scal|divid)
    |(255|normali|scal|divid)\w*.{0,80}(twice|second|double|again|two times|already)
    |(input|pixel|batch|value|feature|data)s?\w*.{0,60}(tiny|(very|too) small|near(ly)? zero|0\.00)
    |(input|pixel|batch|value|feature|data)s?\w*.{0,60}(range|hardly var)
    |(255|normali|scal|divid)\w*.{0,80}once more
Place: 255|\bxs\b|batch|train_input_pipeline
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Bytes(Dataset):
    def __init__(self, count, side=10):
        yy, xx = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        place = torch.rand(count, 2) * (side - 1)
        size = 1 + 1.5 * torch.rand(count)
        d2 = (yy - place[:, :1, None]) ** 2 + (xx - place[:, 1:, None]) ** 2
        self.data = (255 * torch.exp(-d2 / size[:, None, None] ** 2)).to(torch.uint8)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index].float().flatten()


def train_input_pipeline(dataset, batch_size):
    for batch in DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True):
        yield batch / 255.0


class Drawer(nn.Module):
    def __init__(self, n_inputs, n_code=6, n_hidden=96):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_inputs, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_code)
        )
        self.decoder = nn.Sequential(
            nn.Linear(n_code, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_inputs)
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def explained(net, images):
    with torch.no_grad():
        drawn = net(images).sigmoid()
    return 1 - (F.mse_loss(drawn, images) / images.var(dim=0).mean()).item()


def train(n_epochs=14, batch_size=40):
    torch.manual_seed(8)
    train_set, valid_set = Bytes(800), Bytes(200)
    valid = (valid_set.data.float().flatten(1) / 255.0) / 255.0
    net = Drawer(100)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(n_epochs):
        for batch in train_input_pipeline(train_set, batch_size):
            xs = batch / 255.0  # here
            loss = F.binary_cross_entropy_with_logits(net(xs), xs)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 2 == 1:
            print(f"epoch {epoch} loss {loss.item():.4f} explained {explained(net, valid):.3f}")


if __name__ == "__main__":
    train()
