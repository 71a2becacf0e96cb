"""Short captions by reward, compared with what the same net says by its best words.

Source: https://github.com/ruotianluo/self-critical.pytorch
Odd: The base of the reward is made by the net itself in evaluation mode without gradient, the
    loss is near zero or negative all the time and does not tell how good the captions are.
"""

import torch
from torch import nn

torch.manual_seed(1024)
SCENES, WORDS, LENGTH, SIZE = 16, 12, 4, 48
wanted = torch.randint(1, WORDS, (SCENES, LENGTH))
picture = torch.randn(SCENES, 20)


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.look, self.word = nn.Linear(20, SIZE), nn.Embedding(WORDS, SIZE)
        self.cell, self.drop = nn.GRUCell(SIZE, SIZE), nn.Dropout(0.1)
        self.out = nn.Linear(SIZE, WORDS)

    def forward(self, image, given=None, greedy=False):
        state = torch.tanh(self.look(image))
        word = torch.zeros(len(image), dtype=torch.long)
        words, logprobs = [], []
        for place in range(LENGTH):
            state = self.cell(self.word(word), state)
            log_prob = self.out(self.drop(state)).log_softmax(1)
            if given is not None:
                word = given[:, place]
            elif greedy:
                word = log_prob.argmax(1)
            else:
                word = log_prob.exp().multinomial(1).squeeze(1)
            words.append(word)
            logprobs.append(log_prob.gather(1, word[:, None]).squeeze(1))
        return torch.stack(words, 1), torch.stack(logprobs, 1)


def score(words, scene):
    return (words == wanted[scene]).float().mean(1)


model = Speaker()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(260):
    scene = torch.randint(0, SCENES, (64,))
    image = picture[scene] + 0.1 * torch.randn(64, 20)
    if step < 20:
        loss = -model(image, given=wanted[scene])[1].mean()
    else:
        model.eval()
        with torch.no_grad():
            greedy, _ = model(image, greedy=True)
        model.train()
        words, logprobs = model(image)
        reward = score(words, scene) - score(greedy, scene)
        loss = -(logprobs * reward[:, None]).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    if step == 19 or step % 60 == 19:
        model.eval()
        with torch.no_grad():
            best = score(model(picture, greedy=True)[0], torch.arange(SCENES)).mean().item()
        model.train()
        print(f"step {step + 1} loss {loss.item():.4f} words as wanted {best:.3f}")
