"""transformers' Trainer, with any module that returns a loss."""

import sys

import torch
import transformers
from data import BATCH, Points, make_net

model = make_net()
arguments = transformers.TrainingArguments(
    output_dir=sys.argv[1] + ".trainer",
    num_train_epochs=1,
    per_device_train_batch_size=BATCH,
    learning_rate=0.01,
    lr_scheduler_type="constant",
    optim="adamw_torch",
    max_grad_norm=1.0,
    train_sampling_strategy="sequential",
    save_strategy="no",
    logging_steps=2,
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
    dataloader_pin_memory=False,
)
trainer = transformers.Trainer(model, arguments, train_dataset=Points())
trainer.train()
torch.save(model.state_dict(), sys.argv[1])
