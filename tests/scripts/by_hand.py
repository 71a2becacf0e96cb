# Learning PyTorch with Examples: a network that is updated by hand
import sys

import torch

torch.manual_seed(0)
x = torch.linspace(-3, 3, 50).unsqueeze(-1).pow(torch.tensor([1, 2, 3]))
y = torch.sin(x[:, 0])
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
learning_rate = 1e-4
for t in range(12):
    y_pred = model(x)
    loss = (y_pred - y).pow(2).sum()
    if t % 4 == 3:
        print(t, loss.item())
    model.zero_grad()
    loss.backward()
    # truth: before("model", model.parameters(), loss, lr=None)
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad
linear = model[0]
print(f"Result: y = {linear.bias.item()} + {linear.weight[:, 0].item()} x + ...")
torch.save(model.state_dict(), sys.argv[1])
