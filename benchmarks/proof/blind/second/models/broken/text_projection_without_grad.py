r"""An image-report contrastive model with frozen lower text layers and a trained projection.

Source: https://github.com/edreisMD/ConVIRT-pytorch/issues/7
Fault: the projection of the text is inside torch.no_grad() together with the frozen encoder, so it
    never gets a gradient and stays random.
Cause: no_grad|gradients?\b.*\b(blocked|cut|stops?|none|reach)|(no|without|never \w+ a)
    gradient|not trained
Place: text_l1|text_l2|no_grad
"""

import torch
import torch.nn.functional as F
from torch import nn


class ModelCLR(nn.Module):
    def __init__(self, vocab=200, dim=48, out_dim=32):
        super().__init__()
        self.bert = nn.EmbeddingBag(vocab, dim)
        self.bert.requires_grad_(False)
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU()
        )
        self.res_l1 = nn.Linear(32, 32)
        self.res_l2 = nn.Linear(32, out_dim)
        self.text_l1 = nn.Linear(dim, dim)
        self.text_l2 = nn.Linear(dim, out_dim)

    def image_encoder(self, xis):
        h = self.cnn(xis).mean((2, 3))
        return self.res_l2(F.relu(self.res_l1(h)))

    def text_encoder(self, encoded_inputs):
        with torch.no_grad():  # here
            out_emb = self.bert(encoded_inputs)
            x = self.text_l1(out_emb)
            return self.text_l2(F.relu(x))

    def forward(self, xis, encoded_inputs):
        zis = F.normalize(self.image_encoder(xis), dim=1)
        zls = F.normalize(self.text_encoder(encoded_inputs), dim=1)
        logits = zis @ zls.t() / 0.1
        labels = torch.arange(len(logits))
        loss = 0.75 * F.cross_entropy(logits, labels) + 0.25 * F.cross_entropy(logits.t(), labels)
        return {"loss": loss, "logits": logits}


def example_inputs():
    return torch.randn(8, 1, 32, 32), torch.randint(0, 200, (8, 12))
