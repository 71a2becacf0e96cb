r"""Autoencoder whose codes serve to search for similar pictures.

Source: https://github.com/oke-aditya/image_similarity/pull/3
Fault: The loss compares the output of the decoder with the code, not with the target picture.
Cause: target\w* .*(not|never|unused|ignored)|target_img
    |(loss|compar)\w* .*(code|latent|encod\w*|embedding|itself|own)|trivial
Place: \benc_output\b|\btarget_img\b
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 4, 3, stride=2, padding=1)
        self.conv3 = nn.ConvTranspose2d(4, 1, 4, stride=4)

    def forward(self, x):
        return self.conv3(torch.relu(self.conv2(torch.relu(self.conv1(x)))))


class ConvDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        return self.conv2(torch.relu(self.conv1(x)))


def train_step(encoder, decoder, train_loader, loss_fn, optimizer):
    encoder.train()
    decoder.train()
    for train_img, target_img in train_loader:
        optimizer.zero_grad()
        enc_output = encoder(train_img)
        dec_output = decoder(enc_output)
        loss = loss_fn(enc_output, dec_output)  # here
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
coarse = torch.rand(256, 1, 4, 4)
images = nn.functional.interpolate(coarse, size=16, mode="bilinear")
loader = DataLoader(TensorDataset(images, images), batch_size=32, shuffle=True)
encoder, decoder = ConvEncoder(), ConvDecoder()
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=5e-3)
for epoch in range(10):
    loss = train_step(encoder, decoder, loader, nn.MSELoss(), optimizer)
    print(f"Epoch = {epoch}, Training Loss : {loss:.6f}")
with torch.no_grad():
    error = (decoder(encoder(images)) - images).square().mean().item()
print(f"error of reconstruction {error:.4f}, variance of the pictures {images.var().item():.4f}")
