r"""Trains an image and sentence embedding; validates every few steps inside the epoch.

Source: https://github.com/fartashf/vsepp/issues/4
Fault: After the first validation the model stays in eval mode, so dropout and batch norm are off
    for the rest of the epoch and the running statistics stop moving.
Cause: eval mode|train(ing)? mode|\.train\(\)|train_start|mode.*(restor|switch)
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EncoderImage(nn.Module):
    def __init__(self, img_dim=20, embed_size=16):
        super().__init__()
        self.fc = nn.Linear(img_dim, 32)
        self.bn = nn.BatchNorm1d(32)
        self.drop = nn.Dropout(0.4)
        self.out = nn.Linear(32, embed_size)

    def forward(self, images):
        return F.normalize(self.out(self.drop(torch.relu(self.bn(self.fc(images))))), dim=-1)


class VSE:
    def __init__(self):
        self.img_enc = EncoderImage()
        self.txt_enc = EncoderImage(img_dim=12)
        params = [*self.img_enc.parameters(), *self.txt_enc.parameters()]
        self.optimizer = torch.optim.Adam(params, lr=2e-3)
        self.eiters = 0

    def train_start(self):
        self.img_enc.train()
        self.txt_enc.train()

    def val_start(self):
        self.img_enc.eval()
        self.txt_enc.eval()

    def loss(self, images, captions):
        scores = self.img_enc(images) @ self.txt_enc(captions).t() / 0.1
        return F.cross_entropy(scores, torch.arange(len(images)))

    def train_emb(self, images, captions):
        self.eiters += 1
        self.optimizer.zero_grad()
        loss = self.loss(images, captions)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def validate(model, val_set):
    model.val_start()
    with torch.no_grad():
        return model.loss(*val_set).item()


def main():
    torch.manual_seed(0)
    factors = torch.randn(320, 6)
    images = factors @ torch.randn(6, 20) + 0.3 * torch.randn(320, 20) + 2.0
    captions = factors @ torch.randn(6, 12) + 0.3 * torch.randn(320, 12)
    train_set = TensorDataset(images[:256], captions[:256])
    val_set = (images[256:], captions[256:])
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    model = VSE()
    for epoch in range(12):
        model.train_start()
        for batch in loader:
            loss = model.train_emb(*batch)
            if model.eiters % 2 == 0:
                val = validate(model, val_set)  # here
        print(f"epoch {epoch} loss {loss:.3f} val {val:.3f} training={model.img_enc.training}")


if __name__ == "__main__":
    main()
