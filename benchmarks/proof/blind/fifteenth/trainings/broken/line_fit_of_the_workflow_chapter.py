r"""Straight line fitted twice, as in the workflow chapter of a beginner course.

Source: https://github.com/mrdbourke/pytorch-deep-learning/issues/399
Fault: the optimizer of the second part is built from the parameters of the first model (model_0),
    while the loop trains model_1, so model_1 never moves and its loss remains the same.
Cause: optimi[sz]er.{0,80}(other|another|different|first|old|wrong|previous|model_0)
    |model_1.{0,80}(not|never|none|no ).{0,60}optimi[sz]er
    |(none|no|not one|0) of .{0,60}(param|weight).{0,60}(optimi[sz]er|updated|step)
    |(param|weight).{0,80}(not|never|n't|missing).{0,40}(in|given|handed|passed|held|part|belong
    |known|reach).{0,30}optimi[sz]er
    |optimi[sz]er.{0,80}(does not|doesn't|do not|never|none|no ).{0,60}(hold|have|contain|own|see
    |get|param|weight|update|step)
Place: model_0|model_1|optimizer|linear_layer
"""
import os
import tempfile

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print(f"Using device: {device}")

weight = 0.7
bias = 0.3
start, end, step = 0, 1, 0.02
X = torch.arange(start, end, step).unsqueeze(dim=1)
y = weight * X + bias

train_split = int(0.8 * len(X))
X_train, y_train = X[:train_split], y[:train_split]
X_test, y_test = X[train_split:], y[train_split:]
print(len(X_train), len(y_train), len(X_test), len(y_test))


class LinearRegressionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(1, dtype=torch.float), requires_grad=True)
        self.bias = nn.Parameter(torch.randn(1, dtype=torch.float), requires_grad=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weights * x + self.bias


torch.manual_seed(42)
model_0 = LinearRegressionModel()
print(list(model_0.parameters()))
print(model_0.state_dict())

with torch.inference_mode():
    y_preds = model_0(X_test)
print(f"Predicted values before training: {y_preds[:3].flatten()}")

loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(params=model_0.parameters(), lr=0.01)

epochs = 100
train_loss_values = []
test_loss_values = []
epoch_count = []
for epoch in range(epochs):
    model_0.train()
    y_pred = model_0(X_train)
    loss = loss_fn(y_pred, y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    model_0.eval()
    with torch.inference_mode():
        test_pred = model_0(X_test)
        test_loss = loss_fn(test_pred, y_test.type(torch.float))
        if epoch % 10 == 0:
            epoch_count.append(epoch)
            train_loss_values.append(loss.detach().numpy())
            test_loss_values.append(test_loss.detach().numpy())
            print(f"Epoch: {epoch} | MAE Train Loss: {loss} | MAE Test Loss: {test_loss} ")

print("The model learned the following values for weights and bias:")
print(model_0.state_dict())
print(f"weights: {weight}, bias: {bias}")

MODEL_PATH = tempfile.mkdtemp()
MODEL_SAVE_PATH = os.path.join(MODEL_PATH, "01_pytorch_workflow_model_0.pth")
torch.save(obj=model_0.state_dict(), f=MODEL_SAVE_PATH)
loaded_model_0 = LinearRegressionModel()
loaded_model_0.load_state_dict(torch.load(f=MODEL_SAVE_PATH))
loaded_model_0.eval()
with torch.inference_mode():
    print("same predictions:", torch.allclose(loaded_model_0(X_test), model_0(X_test)))


# putting it all together
class LinearRegressionModel2(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_layer = nn.Linear(in_features=1, out_features=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear_layer(x)


torch.manual_seed(42)
model_1 = LinearRegressionModel2()
print(model_1, model_1.state_dict())
model_1.to(device)

loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(params=model_0.parameters(),  # here
                            lr=0.01)

torch.manual_seed(42)
epochs = 1000
X_train = X_train.to(device)
X_test = X_test.to(device)
y_train = y_train.to(device)
y_test = y_test.to(device)

for epoch in range(epochs):
    model_1.train()
    y_pred = model_1(X_train)
    loss = loss_fn(y_pred, y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    model_1.eval()
    with torch.inference_mode():
        test_pred = model_1(X_test)
        test_loss = loss_fn(test_pred, y_test)
    if epoch % 100 == 0:
        print(f"Epoch: {epoch} | Train loss: {loss} | Test loss: {test_loss}")

print("The model learned the following values for weights and bias:")
print(model_1.state_dict())
print("And the original values for weights and bias are:")
print(f"weights: {weight}, bias: {bias}")
