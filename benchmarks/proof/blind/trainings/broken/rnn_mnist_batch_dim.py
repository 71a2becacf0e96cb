r"""Classifies rows of an image with an LSTM, batch in the first dimension.

Source: https://github.com/yunjey/pytorch-tutorial/issues/89
    https://github.com/pytorch/pytorch/issues/1538
Fault: The LSTM was built without batch_first, so it runs along the batch: the state leaks from
    image to image and the time of each image is never seen.
Cause: batch_first|(batch|first) (dim|axis).*(time|sequence)|transpos|permut|along the batch
Place: lstm
"""

import torch
import torch.nn as nn

sequence_length, input_size, hidden_size, num_classes = 10, 4, 24, 2


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, 1)  # here
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])


torch.manual_seed(0)
rnn = RNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(rnn.parameters(), lr=0.01)
for i in range(200):
    labels = torch.randint(0, num_classes, (50,))
    images = 0.3 * torch.randn(50, sequence_length, input_size)
    images[torch.arange(50), torch.randint(0, 9, (50,)), labels] += 2.0
    outputs = rnn(images)
    loss = criterion(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (i + 1) % 40 == 0:
        acc = (outputs.argmax(1) == labels).float().mean().item()
        print(f"Step [{i + 1}/200], Loss: {loss.item():.4f}, Accuracy: {100 * acc:.0f}%")
