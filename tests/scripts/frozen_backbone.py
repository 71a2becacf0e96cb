import os
import torch
from torch import nn
from torch.optim import SGD


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.bn = nn.BatchNorm2d(6)
        self.body = nn.Conv2d(6, 6, 3, padding=1)

    def forward(self, x):
        x = self.bn(self.stem(x)).relu()
        return {"early": x, "late": self.body(x).relu()}


class Classifier(nn.Module):
    """A frozen backbone and a head; `aux` is never called."""

    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(6, 3)
        self.aux = nn.Linear(6, 3)
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, x):
        features = self.backbone(x)["late"]
        return self.head(features.mean((2, 3))) / self.temperature


torch.manual_seed(2)
model = Classifier()
for parameter in model.backbone.parameters():
    parameter.requires_grad = False
trainable = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()))
optimizer = SGD(trainable, lr=0.5, weight_decay=1e-3)
for epoch in range(2):
    model.train()
    model.backbone.eval()  # keep the running statistics
    for _ in range(3):
        images, labels = torch.rand(6, 3, 6, 6), torch.randint(3, (6,))
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        # truth: before("model", optimizer, loss)
        optimizer.step()
        # truth: after("model")
        print("loss", loss.detach().numpy())
    model.eval()
    with torch.inference_mode():
        print("predictions", model(torch.ones(1, 3, 6, 6)).argmax().item())
torch.save(model.state_dict(), os.environ["CKPT"])
