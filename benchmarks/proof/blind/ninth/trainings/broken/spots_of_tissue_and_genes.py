r"""Pictures of tissue and the genes read at the same spot, brought into one space.

Source: https://github.com/bowang-lab/BLEEP/issues/5
Fault: The similarities in the soft targets are multiplied by the temperature while the logits are
    divided by it, so the targets are almost uniform and the pairs are not told apart.
Cause: (target|similarit).{0,160}temperature|temperature.{0,160}(target|similarit|multipl
    |instead of|invert|inconsisten|opposite)|multipl.{0,80}temperature|target.{0,60}(uniform|flat)
Place: temperature|targets?|softmax|similarity|images_similarity|spots_similarity
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(121)
PIXELS, GENES, CAUSES = 48, 30, 6
look, read = torch.randn(CAUSES, PIXELS), torch.randn(CAUSES, GENES)


def spots(count):
    cause = torch.randn(count, CAUSES)
    image = torch.tanh(cause @ look) + 0.3 * torch.randn(count, PIXELS)
    genes = F.relu(cause @ read) + 0.3 * torch.randn(count, GENES)
    return image, genes


class Projection(nn.Module):
    def __init__(self, inputs, size=32):
        super().__init__()
        self.first, self.second = nn.Linear(inputs, size), nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        projected = self.first(x)
        return self.norm(self.second(F.gelu(projected)) + projected)


def cross_entropy(preds, targets):
    return (-targets * F.log_softmax(preds, dim=-1)).sum(1)


class Model(nn.Module):
    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature
        self.image_projection, self.spot_projection = Projection(PIXELS), Projection(GENES)

    def embed(self, image, genes):
        image = F.normalize(self.image_projection(image), dim=1)
        return image, F.normalize(self.spot_projection(genes), dim=1)

    def forward(self, image, genes):
        images, spots = self.embed(image, genes)
        logits = spots @ images.T / self.temperature
        images_similarity, spots_similarity = images @ images.T, spots @ spots.T
        mean = (images_similarity + spots_similarity) / 2
        targets = F.softmax(mean * self.temperature, dim=-1)  # here
        loss = cross_entropy(logits, targets) + cross_entropy(logits.T, targets.T)
        return loss.mean() / 2


image, genes = spots(1000)
test_image, test_genes = spots(100)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(12):
    running = 0.0
    for rows in torch.randperm(len(image)).split(50):
        loss = model(image[rows], genes[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            images, reads = model.embed(test_image, test_genes)
        found = ((reads @ images.T).topk(5).indices == torch.arange(100)[:, None]).any(1)
        recall = found.float().mean().item()
        print(f"epoch {epoch + 1} loss {running / 20:.4f} recall at 5 of 100 {recall:.3f}")
