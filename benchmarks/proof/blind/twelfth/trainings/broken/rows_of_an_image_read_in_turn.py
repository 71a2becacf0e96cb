r"""Recurrent network that reads small images row by row, after the well-known tutorial.

Source: https://github.com/yunjey/pytorch-tutorial/issues/196
Fault: the LSTM has batch_first=False but gets batches of shape (batch, rows, columns), so it reads
    along the samples of the batch; out[:, -1, :] is the last row only, mixed with other samples.
Cause: batch_first|(batch|samples?).{0,100}(time|sequence|step|first (dimension|axis|dim))|(time
    |sequence|step|recurren\w*|LSTM).{0,100}(along|across|over) (the )?(batch|samples?)|(dimension
    |axis|axes|layout|order).{0,80}(swap|exchang|mix|wrong|transpos|permut)|(other
    |different) samples?.{0,60}(mix|leak|influence|depend)|(depends?|influenc\w*|mix\w*
    |leaks?).{0,50}(other|different|another).{0,10}(samples?|images?)|samples?.{0,60}(depends? on
    |influenc|mixed).{0,40}(samples?|batch)
Place: lstm|batch_first|forward|RNN
"""
import torch
import torch.nn as nn

torch.manual_seed(1)

# Device configuration
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Hyper-parameters
sequence_length = 14
input_size = 14
hidden_size = 64
num_layers = 1
num_classes = 10
batch_size = 100
num_epochs = 4
learning_rate = 0.01


def load_digits(n, train):
    # strokes of ten kinds instead of handwritten digits
    g = torch.Generator().manual_seed(42)
    shapes = torch.zeros(num_classes, 14, 14)
    for c in range(num_classes):
        y, x = 7, 7
        for _ in range(45):
            d = int(torch.randint(4, (1,), generator=g))
            y = min(max(y + [0, 0, 1, -1][d], 1), 12)
            x = min(max(x + [1, -1, 0, 0][d], 1), 12)
            shapes[c, y, x] = 1.0
    g = torch.Generator().manual_seed(0 if train else 1)
    labels = torch.randint(num_classes, (n,), generator=g)
    images = shapes[labels]
    dy = torch.randint(-1, 2, (n,), generator=g).tolist()
    dx = torch.randint(-1, 2, (n,), generator=g).tolist()
    images = torch.stack([torch.roll(im, (a, b), (0, 1)) for im, a, b in zip(images, dy, dx)])
    images = (images + 0.25 * torch.randn(images.shape, generator=g)).unsqueeze(1)
    return torch.utils.data.TensorDataset(images, labels)


train_dataset = load_digits(6000, True)
test_dataset = load_digits(1000, False)

# Data loader
train_loader = torch.utils.data.DataLoader(dataset=train_dataset,
                                           batch_size=batch_size,
                                           shuffle=True)

test_loader = torch.utils.data.DataLoader(dataset=test_dataset,
                                          batch_size=batch_size,
                                          shuffle=False)


# Recurrent neural network (many-to-one)
class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, num_classes):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=False)  # here
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        # Set initial hidden and cell states
        h0 = torch.zeros(self.num_layers, x.size(1), self.hidden_size).to(device)
        c0 = torch.zeros(self.num_layers, x.size(1), self.hidden_size).to(device)

        # Forward propagate LSTM
        out, _ = self.lstm(x, (h0, c0))

        # Decode the hidden state of the last time step
        out = self.fc(out[:, -1, :])
        return out


model = RNN(input_size, hidden_size, num_layers, num_classes).to(device)

# Loss and optimizer
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

# Train the model
total_step = len(train_loader)
for epoch in range(num_epochs):
    for i, (images, labels) in enumerate(train_loader):
        images = images.reshape(-1, sequence_length, input_size).to(device)
        labels = labels.to(device)

        # Forward pass
        outputs = model(images)
        loss = criterion(outputs, labels)

        # Backward and optimize
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        if (i + 1) % 20 == 0:
            print("Epoch [{}/{}], Step [{}/{}], Loss: {:.4f}"
                  .format(epoch + 1, num_epochs, i + 1, total_step, loss.item()))

# Test the model
model.eval()
with torch.no_grad():
    correct = 0
    total = 0
    for images, labels in test_loader:
        images = images.reshape(-1, sequence_length, input_size).to(device)
        labels = labels.to(device)
        outputs = model(images)
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()

    print("Test Accuracy of the model on the test images: {} %".format(100 * correct / total))
