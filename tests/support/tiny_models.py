"""Random language models of a few thousand weights with tokenizers of each kind, saved by `save_pretrained`."""

import json

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tokenlab.tokenizers.bpe import train_byte_level

TEXT = "共同创造美好的新世纪，二○二五年的hello world"


def save_model(folder, vocabulary, positions=64, seed=0, **config):
    """A GPT-2 whose predictions are far from uniform."""
    shape = {"n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": positions, "vocab_size": vocabulary}
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=None, eos_token_id=None, **config))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * (0.7 if weight.dim() > 1 else 0.3))
    model.save_pretrained(folder)


def bert_vocabulary():
    """Special tokens, the characters of TEXT that are Han, a whole number and two pieces of words."""
    han = sorted({character for character in TEXT if ord(character) > 0x2E80 and character not in "○，"})
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *han, "，", "2025", "he", "##llo", "a"]


def save_bert(folder, padding_side="right", **config):
    """A character vocabulary as Chinese GPT-2 models have: [CLS] first, lower case, whitespace dropped, [UNK]."""
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(bert_vocabulary()), encoding="utf-8")
    BertTokenizer.from_pretrained(folder, padding_side=padding_side).save_pretrained(folder)
    save_model(folder, len(bert_vocabulary()), **config)


def byte_level(size=256):
    """Byte-level BPE as GPT-2's; without merges every byte is a token."""
    tokenizer = train_byte_level([TEXT] * 3, size)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


def save_bytes(folder, size=256, with_bos=True, **config):
    """Byte-level BPE; <|endoftext|> is BOS but not added by a post-processor, as in GPT-2."""
    tokenizer = byte_level(size)
    names = {"bos_token": "<|endoftext|>"} if with_bos else {}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    save_model(folder, tokenizer.get_vocab_size() + with_bos, **config)


def save_characters(folder, **config):
    """A bare tokenizer.json of characters, without special tokens other than the unknown one."""
    folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({c: i for i, c in enumerate(["<unk>", *sorted(set(TEXT))])}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.enable_padding(length=50)
    tokenizer.enable_truncation(7)
    tokenizer.save(str(folder / "tokenizer.json"))
    save_model(folder, tokenizer.get_vocab_size(), **config)


def edit_json(path, **changes):
    """Set keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
