r"""Network of two layers for digits, as in a well-known series of videos.

Source: https://whosebug.com/index.php/question/6116914/neural-network-trained-with-PyTorch-outputs-the-mean-value-for-every-input
Fault: With sigmoids and squared errors a rate of 0.001 hardly moves the weights in these epochs.
Cause: learning rate|\blr\b|step size|(steps?|updates?|changes?) .*(small|tiny)
    |hardly (move|change)|too slow
Place: \blr\b
"""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(64, 80)
        self.layer2 = torch.nn.Linear(80, 10)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        return torch.sigmoid(self.layer2(x))


torch.manual_seed(3)
patterns = (torch.rand(10, 64) < 0.4).float()
labels = torch.randint(0, 10, (640,))
images = (patterns[labels] + 0.3 * torch.randn(640, 64)).clamp(0, 1)
dataset = torch.utils.data.TensorDataset(images, labels)
training_set = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)

net = Net()
loss_function = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)  # here
for epoch in range(5):
    for batch, digit in training_set:
        optimizer.zero_grad()
        desired = torch.nn.functional.one_hot(digit, 10).float()
        loss = loss_function(net(batch), desired)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    output = net(images)
print("first outputs", output[:2].numpy().round(3))
print(f"loss {loss.item():.4f}, accuracy {(output.argmax(1) == labels).float().mean().item():.3f}")
