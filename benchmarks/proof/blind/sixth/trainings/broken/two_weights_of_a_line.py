r"""One linear layer learns the two weights of a sum, as a first exercise.

Source: https://discuss.pytorch.org/t/why-the-model-fail-to-converge-without-a-manul-weight-initialization/50431
Fault: The squeezed output is not kept, so a column is compared with a row, each with each.
Cause: broadcast|shape|squeeze|\(\d+, ?1\)|size.{0,40}(differ|match|not)
    |each with each|every pair|outer
Place: squeeze|Net\.forward
"""

import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.layer1 = torch.nn.Linear(input_dim, output_dim, bias=False)

    def forward(self, x):
        x = self.layer1(x)
        x.squeeze()  # here
        return x


np.random.seed(0)
torch.manual_seed(0)
sample_size, input_dim, output_dim, epochs, bs = 2000, 2, 1, 5, 100

data = np.random.randn(sample_size, 3)
data[:, 2] = 5 * data[:, 0] + 3 * data[:, 1] + 0.1 * np.random.randn(sample_size)
data = torch.tensor(data, dtype=torch.float32)
train_x, train_y = data[:, :input_dim], data[:, input_dim]

net = Net(input_dim, output_dim)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.1)
for i in range(epochs):
    for start in range(0, sample_size, bs):
        x, y = train_x[start : start + bs], train_y[start : start + bs]
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch: {i}, loss: {loss.item():.4f}")
print("weights:", [round(w, 3) for w in net.layer1.weight.flatten().tolist()])
