import atexit
import sys
import torch

atexit.register(lambda: print("goodbye from atexit"))
torch.manual_seed(0)
model = torch.nn.Bilinear(3, 3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(4):
    loss = model(torch.randn(5, 3), torch.randn(5, 3)).abs().sum()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("model", optimizer, loss)
    optimizer.step()
    # truth: after("model")
    print(i, loss.item())
torch.save(model.state_dict(), sys.argv[1])
print("the model is not good enough", file=sys.stderr)
sys.exit(3)
