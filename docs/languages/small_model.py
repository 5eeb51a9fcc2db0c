"""A small language model over a trained tokenizer, by `transformers` and torch alone.

    python small_model.py TOKENIZER TRAIN HELD_OUT MODEL

TOKENIZER is a folder of `tokenlab train`; TRAIN and HELD_OUT are texts, one a line; MODEL is the folder to write. A
GPT-2 is trained for 300 steps, over TRAIN as often as these need it. Prints its weights, and bits per byte of HELD_OUT.
"""

import math
import sys
from pathlib import Path

import torch
from torch.nn.functional import pad
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

LENGTH, ROWS, STEPS = 128, 16, 300
IGNORED = -100  # no loss


def rows_of(tokenizer, path):
    """The lines, each with the end of text behind it, as rows of tokens, int64[rows, LENGTH]; and their bytes."""
    ids, size = [], 0
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            ids += [*tokenizer.encode(line.rstrip("\n")), tokenizer.eos_token_id]
            size += len(line.encode())
    return pad(torch.tensor(ids), (0, -len(ids) % LENGTH), value=IGNORED).view(-1, LENGTH), size


def loss_of(model, rows):
    """Mean loss in nats; each row is a text of its own, which begins after an end of text."""
    rows = pad(rows, (1, 0), value=model.config.eos_token_id)
    labels = rows.clone()
    labels[:, 0] = IGNORED
    return model(input_ids=rows.clamp(min=0), labels=labels).loss


def bits_per_byte(model, rows, size):
    """Bits per byte of rows that spell `size` bytes; a line end counts as the byte that the end of text stands for."""
    model.eval()
    with torch.no_grad():
        nats = sum(loss_of(model, part).item() * (part != IGNORED).sum().item() for part in rows.split(ROWS))
    return nats / math.log(2) / size


def main(folder, train, held_out, output):
    torch.manual_seed(0)
    logging.set_verbosity_error()  # A row may end in padding, which the loss leaves out: no mask is needed.
    tokenizer = AutoTokenizer.from_pretrained(folder)
    end = tokenizer.eos_token_id
    shape = {"n_positions": LENGTH + 1, "n_embd": 128, "n_layer": 4, "n_head": 4}
    dropout = dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0)  # Text is read once.
    marks = {"bos_token_id": end, "eos_token_id": end, "pad_token_id": tokenizer.pad_token_id}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **dropout, **marks))
    print(f"{sum(weight.numel() for weight in model.parameters()):,} weights")
    rows, _ = rows_of(tokenizer, train)
    passes = -(-STEPS * ROWS // len(rows))
    batches = rows[torch.cat([torch.randperm(len(rows)) for _ in range(passes)])].split(ROWS)[:STEPS]
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / 20, 1 - step / len(batches)),  # warm-up, linear decay
    )
    model.train()
    for number, batch in enumerate(batches, 1):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if number % 50 == 0 or number == len(batches):
            print(f"step {number} of {len(batches)}: loss {loss.item():.3f} nats per token", flush=True)
    print(f"{bits_per_byte(model, *rows_of(tokenizer, held_out)):.3f} bits per byte of {held_out}")
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
