r"""Policy gradient for a small control task, with a policy that ends in probabilities.

Source: https://github.com/DeepReinforcementLearning/DeepReinforcementLearningInAction/issues/32
Fault: The softmax runs over axis 0, right for one state, but over the states for a batch.
Cause: softmax|(probabilit\w+) .*(sum|batch|axis|dim|states?)
    |normalis\w+ (over|along|across) .*(batch|states?|samples?)|(mix|depend)\w* .*(batch|samples?)
Place: \bmodel\.3\b|\bSoftmax\b
"""

import numpy as np
import torch

np.random.seed(0)
torch.manual_seed(0)


class Cart:
    """The cart has to stay near the origin; the action pushes it left or right."""

    def reset(self):
        self.state = np.random.uniform(-0.05, 0.05, 4).astype(np.float32)
        self.steps = 0
        return self.state

    def step(self, action):
        x, v, a, w = self.state
        push = 0.2 if action == 1 else -0.2
        x, v = x + 0.1 * v, v + push
        a, w = a + 0.1 * w, w + 0.2 * a - 1.5 * push
        self.state = np.array([x, v, a, w], dtype=np.float32)
        self.steps += 1
        done = abs(a) > 0.6 or self.steps >= 40
        return self.state, 1.0, done


l1, l2, l3 = 4, 64, 2
model = torch.nn.Sequential(
    torch.nn.Linear(l1, l2),
    torch.nn.LeakyReLU(),
    torch.nn.Linear(l2, l3),
    torch.nn.Softmax(dim=0),  # here
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def discount_rewards(rewards, gamma=0.95):
    returns = torch.zeros(len(rewards))
    running = 0.0
    for i in reversed(range(len(rewards))):
        running = rewards[i] + gamma * running
        returns[i] = running
    return returns


env, scores = Cart(), []
for episode in range(100):
    state, done, transitions = env.reset(), False, []
    while not done:
        with torch.no_grad():
            prob = model(torch.from_numpy(state)).numpy()
        action = np.random.choice(2, p=prob / prob.sum())
        following, reward, done = env.step(action)
        transitions.append((state, action, reward))
        state = following
    scores.append(len(transitions))
    states, actions, rewards = zip(*transitions, strict=True)
    returns = discount_rewards(rewards)
    pred_batch = model(torch.from_numpy(np.stack(states)))
    prob_batch = pred_batch.gather(1, torch.tensor(actions)[:, None]).squeeze(1)
    loss = -torch.sum(torch.log(prob_batch) * (returns - returns.mean()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"mean length of the first 20 episodes {np.mean(scores[:20]):.1f}")
print(f"mean length of the last 20 episodes {np.mean(scores[-20:]):.1f}")
