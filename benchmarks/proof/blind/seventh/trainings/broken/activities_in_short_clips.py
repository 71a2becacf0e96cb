r"""Twelve activities in short clips: a frame encoder followed by a recurrent layer.

Source: https://github.com/doronharitan/human_activity_recognition_LRCN/issues/4
Fault: The network ends with a softmax and its output goes to the cross entropy, which has its own.
Cause: softmax.{0,80}(twice|second|double|already|again|before|into|fed|own|built|includes)
    |(twice|double|two|second).{0,30}softmax|(probabilit).{0,60}(logit|cross.?entropy)
    |(logit).{0,60}(expect|not probabilit|instead of probabilit)
    |softmax.{0,80}(another|loss (applies|has|takes)|cross.?entropy)
Place: softmax|ConvLstm|criterion
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = dict(classes=12, frames=8, side=8, batch=32, epochs=6, lr=1e-3)
torch.manual_seed(4)


def make_clips(count, prototypes):
    labels = torch.randint(0, CONFIG["classes"], (count,))
    speed = 0.5 + torch.rand(count, 1)
    t = torch.arange(CONFIG["frames"]) * speed
    weight = torch.sin(t)[:, :, None, None]
    clips = prototypes[labels, 0][:, None] * weight
    clips = clips + prototypes[labels, 1][:, None] * torch.cos(t)[:, :, None, None]
    return (clips + 0.7 * torch.randn_like(clips)).unsqueeze(2), labels


class FrameEncoder(nn.Module):
    def __init__(self, latent=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.fc = nn.Linear(16 * 16, latent)

    def forward(self, x):
        return self.fc(self.conv(x))


class ConvLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = FrameEncoder()
        self.lstm = nn.LSTM(32, 48, batch_first=True)
        self.output_layer = nn.Sequential(
            nn.Linear(48, 32),
            nn.ReLU(),
            nn.Linear(32, CONFIG["classes"]),
            nn.Softmax(dim=-1),  # here
        )

    def forward(self, clips):
        batch, frames = clips.shape[:2]
        features = self.encoder(clips.flatten(0, 1)).view(batch, frames, -1)
        states, _ = self.lstm(features)
        return self.output_layer(states[:, -1])


prototypes = torch.randn(CONFIG["classes"], 2, CONFIG["side"], CONFIG["side"])
train = TensorDataset(*make_clips(640, prototypes))
test_x, test_y = make_clips(300, prototypes)
loader = DataLoader(train, batch_size=CONFIG["batch"], shuffle=True)
model = ConvLstm()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
for epoch in range(CONFIG["epochs"]):
    model.train()
    total = 0.0
    for clips, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(clips), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {total / len(train):.3f} test accuracy {accuracy:.3f}")
