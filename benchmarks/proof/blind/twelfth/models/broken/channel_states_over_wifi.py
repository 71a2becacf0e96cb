r"""An autoencoder of wifi channel states with a quantized bottleneck, a decoder and a classifier.

Source: https://github.com/NTU-AIoT-Lab/EfficientFi/issues/4
Fault: The straight-through step is written inputs + (quantized - inputs) with no detach, which is
    just quantized: nothing of the reconstruction or of the classes gets back to the encoder.
Cause: detach|straight[ -]?through|stop[ -]?grad\w*|(inputs?|encoder)\b.{0,80}(cancel\w*
    |no gradient)
    |gradients? .{0,80}(encoder|bottleneck|quantiz)|encoder .{0,60}(gradient|not trained|only from)
Place: Quantize|quantized|inputs
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantize(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super(Quantize, self).__init__()
        self._embedding_dim = embedding_dim
        self._num_embeddings = num_embeddings
        self._embedding = nn.Embedding(self._num_embeddings, self._embedding_dim)
        self._embedding.weight.data.uniform_(-1 / self._num_embeddings, 1 / self._num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        # BCHW -> BHWC
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)

        distances = (torch.sum(flat_input ** 2, dim=1, keepdim=True)
                     + torch.sum(self._embedding.weight ** 2, dim=1)
                     - 2 * torch.matmul(flat_input, self._embedding.weight.t()))
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)

        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss

        quantized = inputs + (quantized - inputs)  # here
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity


class Encoder(nn.Module):
    def __init__(self, dim):
        super(Encoder, self).__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(32, dim, 1))

    def forward(self, x):
        return self.encoder(x)


class Decoder(nn.Module):
    def __init__(self, dim):
        super(Decoder, self).__init__()
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(dim, 32, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1))

    def forward(self, x):
        return self.decoder(x)


class EfficientFi(nn.Module):
    def __init__(self, num_embeddings=32, embedding_dim=8, commitment_cost=0.25, num_classes=6):
        super(EfficientFi, self).__init__()
        self._encoder = Encoder(embedding_dim)
        self._vq_vae = Quantize(num_embeddings, embedding_dim, commitment_cost)
        self._decoder = Decoder(embedding_dim)
        self._classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(embedding_dim * 6 * 5, 64), nn.ReLU(),
            nn.Linear(64, num_classes))

    def forward(self, x):
        z = self._encoder(x)
        loss, quantized, perplexity = self._vq_vae(z)
        x_recon = self._decoder(quantized)
        logits = self._classifier(quantized)
        return loss, x_recon, logits


def build():
    torch.manual_seed(0)
    return EfficientFi()


def example_inputs():
    torch.manual_seed(1)
    return (torch.randn(6, 3, 24, 20),)
