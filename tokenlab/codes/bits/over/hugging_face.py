"""A bit-level code as a tokenizer of `transformers`. Importing this module registers it with AutoTokenizer:

    from tokenlab.codes import BitLevelTokenizer
    tokenizer = BitLevelTokenizer.from_base("mistral/tokenizer.json")
    tokenizer.save_pretrained("folder")
    AutoTokenizer.from_pretrained("folder")

A tokenizer.json cannot express the code, so this is a tokenizer in Python around the base. A saved folder has the base
as base_tokenizer.json, and the options in tokenizer_config.json. There is no tokenizer.json on purpose: without this
module, AutoTokenizer would read it and give the ids of the base without an error; so it refuses the folder.

Special tokens, and BOS and EOS around a text, are those of the base. A text without special tokens is encoded as
`BitTokenizer` does, so decoding restores it; in a text with special tokens, the base decides about spaces around them.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizer
from transformers.utils import to_py_obj

from tokenlab.codes.bits.decoding import Decoded, OnError, Spellings, spellings
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import Base, base_of
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.symbols import OTHER
from tokenlab.core.errors import InputError
from tokenlab.formats.hugging_face import USUAL_BOS, USUAL_EOS
from tokenlab.formats.tokenizer_file import read_tokenizer

_BASE_FILE = "base_tokenizer.json"
_USUAL = {
    "bos_token": USUAL_BOS,
    "eos_token": USUAL_EOS,
    "unk_token": ("<unk>",),
    "pad_token": ("<pad>",),
}


class BitLevelTokenizer(PreTrainedTokenizer):
    """A bit-level code over a base tokenizer, with the interface of `transformers`.

    Attributes:
        bits: the code.
        decode_errors: undecodable places in all that was decoded so far. `decode` and `batch_decode` take
            `on_error="error" | "replace" | "skip"`; a generated text is no reason to stop, so the default replaces.
    """

    # There is no such file of remote code. The entry makes AutoTokenizer take the registered class beside the
    # config.json of every model: without it, those of Mistral and Qwen make it take the tokenizers of these models.
    _auto_map = {"AutoTokenizer": ["from_tokenlab_codes_import_BitLevelTokenizer_first.BitLevelTokenizer", None]}  # noqa: RUF012
    vocab_files_names = {"base_file": _BASE_FILE}  # noqa: RUF012
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(
        self,
        base_file: str | None = None,
        tokenizer_file: str | None = None,
        tokenizer_object: Tokenizer | None = None,
        bits_mode: str = "lossless",
        bits_prefixes: int = 4,
        bits_emission: str = "run",
        bits_recycled: bool | Sequence[int] | None = None,
        on_error: OnError = "replace",
        **kwargs: Any,
    ) -> None:
        """See `from_base` and, for saved folders, `from_pretrained`.

        Args:
            base_file, tokenizer_file, tokenizer_object: the base, as file or in memory; in memory, the file is its name
                in messages.
            bits_mode, bits_prefixes, bits_emission: `tokenlab.codes.bits.options.BitOptions`.
            bits_recycled: ids of the base that are given to added symbols; True for all that can never occur.
            on_error: what decoding does about undecodable tokens.
            kwargs: as for other tokenizers of `transformers`, such as `eos_token`.

        Raises InputError for a base without byte fallback, ParameterError for bad options.
        """
        options = BitOptions(bits_mode, bits_prefixes, bits_emission)  # type: ignore[arg-type]
        base = _base(tokenizer_object, base_file or tokenizer_file)
        self.bits = BitTokenizer(base, options, False if bits_recycled is None else bits_recycled)
        self.on_error = on_error
        self.decode_errors = 0
        self._whole = Tokenizer.from_str(base.tokenizer.to_str())
        self._whole.no_truncation()
        self._whole.no_padding()
        self._templates = [_template(self._whole, pair) for pair in (False, True)]
        self._names = _names(self.bits)
        self._id_of = {name: id for id, name in enumerate(self._names)}
        if len(self._id_of) < len(self._names):
            raise InputError("the base has a token with the name of an added one, such as <N:100>; rename it")
        self._tables: dict[bool, Spellings] = {}
        self._later: list[str] = []
        added = base.tokenizer.get_added_tokens_decoder()
        self._special = re.compile("|".join(re.escape(t.content) for t in added.values() if t.special) or "(?!)")
        self._added_tokens_decoder = dict(added)
        saved = {
            "bits_mode": bits_mode,
            "bits_prefixes": bits_prefixes,
            "bits_emission": bits_emission,
            "bits_recycled": self.bits.recycled,
            "on_error": on_error,
        }
        super().__init__(**saved, **kwargs)

    @classmethod
    def from_base(
        cls,
        base: str | Path | Tokenizer,
        options: BitOptions | None = None,
        recycle: bool = False,
        **kwargs: Any,
    ) -> "BitLevelTokenizer":
        """A bit-level code over a tokenizer.

        Args:
            base: a file or folder of any format of `read_base`, or a tokenizer of the library `tokenizers`.
            options: of the code.
            recycle: whether added symbols take ids of the base that can never occur.
            kwargs: as for other tokenizers of `transformers`. What is not given is taken from the
                tokenizer_config.json beside the file, else special tokens are known by usual names.

        Raises InputError for a file that cannot be read or has no byte fallback.
        """
        options = options or BitOptions()
        if isinstance(base, Tokenizer):
            tokenizer, known = base, {}
        else:
            file = read_tokenizer(base)
            tokenizer, known = file.tokenizer, _configured(file.path.parent)
        for key, names in _USUAL.items():
            found = [name for name in names if tokenizer.token_to_id(name) is not None]
            if found and not any(name.endswith("_token") for name in known):
                kwargs.setdefault(key, found[0])
        return cls(
            base_file=None if isinstance(base, Tokenizer) else str(base),
            tokenizer_object=tokenizer,
            bits_mode=options.mode,
            bits_prefixes=options.prefixes,
            bits_emission=options.emission,
            bits_recycled=recycle or None,
            **{**known, **kwargs},
        )

    @property
    def vocab_size(self) -> int:
        """The number of ids without tokens that were added later."""
        return self.bits.size

    def get_vocab(self) -> dict[str, int]:
        """The id of every token by its name: `<N:1A0>`, `<P:39>` and `<R>` for added symbols."""
        return {**self._id_of, **self._added_tokens_encoder}

    def tokenize(self, text: str, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the tokens of a text."""
        if kwargs.pop("split_special_tokens", self.split_special_tokens):
            return [self._names[id] for id in self.bits.encode(text).tolist()]
        return super().tokenize(text, *args, split_special_tokens=False, **kwargs)

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Encodes a list of ordinary texts at once; token by token, as the parent does, it takes six times as long."""
        many = isinstance(text, list | tuple) and all(isinstance(one, str) for one in text)
        marked = kwargs.get("is_split_into_words") or kwargs.get("sanitize_control_tokens")
        if many and text and text_pair is None and not marked:
            split = kwargs.get("split_special_tokens", self.split_special_tokens)
            ordinary = [one for one in text if split or self._is_ordinary(one)]
            encoded = iter(self.bits.encode_batch(ordinary))
            text = [next(encoded).tolist() or "" if split or self._is_ordinary(one) else one for one in text]
        return super()._encode_plus(text, text_pair, *args, **kwargs)

    def _is_ordinary(self, text: str) -> bool:
        """Whether a text holds neither special tokens nor tokens that were added later."""
        return not self._special.search(text) and not any(token in text for token in self._later)

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        if self._special.search(text):
            of_base = self._whole.encode(text, add_special_tokens=False).ids
            ids = self.bits.rewrite([np.array(of_base, np.int32)])[0]
        else:
            ids = self.bits.encode(text)
        return [self._names[id] for id in ids.tolist()]

    def _update_trie(self, unique_no_split_tokens: list[str] | None = None) -> None:
        """Only tokens that were added later split a text beforehand: the base knows its own."""
        self._later = [token.content for id, token in self._added_tokens_decoder.items() if id >= self.vocab_size]
        self.tokens_trie.update(self._later)

    def _update_total_vocab_size(self) -> None:
        self._tables.clear()
        super()._update_total_vocab_size()

    def _convert_token_to_id(self, token: str) -> int | None:
        id = self._id_of.get(token)
        return self.unk_token_id if id is None else id

    def _convert_id_to_token(self, index: int) -> str:
        return self._names[index] if 0 <= index < len(self._names) else ""

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of tokens by their names."""
        return self._decode(self.convert_tokens_to_ids(tokens))

    def decode_with_errors(
        self, ids: Any, skip_special_tokens: bool = False, on_error: OnError | None = None
    ) -> Decoded:
        """The text of one sequence of ids, and what was undecodable in it.

        Special tokens are written by their names, or left out; they end a run either way. An id out of range is left
        out, as models have rows that stand for no token.
        """
        found = np.atleast_1d(np.asarray(ids, np.int64))
        return self._decode_joined(found, [len(found)], skip_special_tokens, on_error)[0]

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """The text of a sequence of ids, or the texts of a list of them; see `decode_with_errors`.

        kwargs: `on_error` and `clean_up_tokenization_spaces`.
        """
        rows: Any = to_py_obj(token_ids)
        if not isinstance(rows, list | tuple) or not rows or not isinstance(rows[0], list | tuple):
            return self._decode(rows, skip_special_tokens, **kwargs)
        ids = np.concatenate([np.asarray(row, np.int64) for row in rows])
        decoded = self._decode_joined(ids, list(map(len, rows)), skip_special_tokens, kwargs.get("on_error"))
        return [self._cleaned(one.text, kwargs.get("clean_up_tokenization_spaces")) for one in decoded]

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        on_error: OnError | None = None,
        **kwargs: Any,
    ) -> str:
        text = self.decode_with_errors(token_ids, skip_special_tokens, on_error).text
        return self._cleaned(text, clean_up_tokenization_spaces)

    def _cleaned(self, text: str, clean: bool | None) -> str:
        return (
            self.clean_up_tokenization(text) if clean or (clean is None and self.clean_up_tokenization_spaces) else text
        )

    def _decode_joined(
        self, ids: np.ndarray, lengths: list[int], skip_special_tokens: bool, on_error: OnError | None
    ) -> list[Decoded]:
        table = self._table(skip_special_tokens)
        added = ids - self.bits.size + self.bits.base.size
        last = len(table.offsets) - 2  # spells nothing
        inside = (ids >= 0) & (ids < self.bits.size)
        others = OTHER + np.where((added < self.bits.base.size) | (added > last), last, added)
        symbols = np.where(inside, self.bits.ids.symbols.take(np.where(inside, ids, 0)), others)
        decoded = self.bits.decode_joined(symbols, lengths, table, on_error or self.on_error)
        self.decode_errors += sum(len(one.errors) for one in decoded)
        return decoded

    def _table(self, skip_special_tokens: bool) -> Spellings:
        """What the tokens of the base spell, then those added later, and nothing at last."""
        if skip_special_tokens not in self._tables:
            tokens = [token or b"" for token in self.bits.base.tokens]
            tokens += [b""] * (len(self) - self.bits.size)
            special = set(self.all_special_ids)
            for id, token in self._added_tokens_decoder.items():
                place = id if id < self.bits.base.size else id - self.bits.size + self.bits.base.size
                skipped = skip_special_tokens and (token.special or id in special)
                tokens[place] = b"" if skipped else token.content.encode()
            self._tables[skip_special_tokens] = spellings([*tokens, b""])
        return self._tables[skip_special_tokens]

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """One text or two with the special tokens that the base puts around them."""
        sequences = (token_ids_0, token_ids_1 or [])
        template = self._templates[token_ids_1 is not None]
        return [id for special, text in template for id in ([special] if text is None else sequences[text])]

    def get_special_tokens_mask(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """1 for each special token that the base puts around one text or two, 0 for their tokens."""
        if already_has_special_tokens:
            return super().get_special_tokens_mask(token_ids_0, token_ids_1, True)
        lengths = (len(token_ids_0), len(token_ids_1 or []))
        template = self._templates[token_ids_1 is not None]
        return [mark for _, text in template for mark in ([1] if text is None else [0] * lengths[text])]

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write the base."""
        path = Path(save_directory) / f"{filename_prefix + '-' if filename_prefix else ''}{_BASE_FILE}"
        self.bits.base.tokenizer.save(str(path))
        return (str(path),)


class BitLevelConfig(PreTrainedConfig):
    """Registers the tokenizer with AutoTokenizer, which wants a configuration; models keep their own."""

    model_type = "bit_level"


def _base(tokenizer: Tokenizer | None, file: str | None) -> Base:
    if tokenizer is not None:
        return base_of(tokenizer, file) if file else base_of(tokenizer)
    if file is None:
        raise InputError(f"no {_BASE_FILE} and no tokenizer.json here; BitLevelTokenizer.from_base reads other files")
    return base_of(read_tokenizer(file).tokenizer, file)


def _configured(folder: Path) -> dict[str, Any]:
    """Special tokens and chat template of the tokenizer_config.json of a folder."""
    file = folder / "tokenizer_config.json"
    if not file.is_file():
        return {}
    config = json.loads(file.read_text(encoding="utf-8"))
    wanted = ("chat_template", "model_max_length", "extra_special_tokens", "padding_side")
    found = {key: value for key, value in config.items() if key in wanted or key.endswith("_token")}
    for key, value in found.items():
        if key.endswith("_token") and isinstance(value, dict):
            found[key] = AddedToken(**{name: value[name] for name in value if name != "__type"})
    return {key: value for key, value in found.items() if not isinstance(value, bool) and value is not None}


def _names(bits: BitTokenizer) -> list[str]:
    """The name of every id."""
    names = [f"<unused {id}>" for id in range(bits.size)]
    for token, id in bits.base.tokenizer.get_vocab().items():
        names[id] = token
    return [f"<{added}>" if (added := bits.name(id)) else name for id, name in enumerate(names)]


def _template(tokenizer: Tokenizer, pair: bool) -> list[tuple[int, int | None]]:
    """What the base puts around one text or two: (id, None) for a special token, (0, 0) and (0, 1) for the texts."""
    encoding = tokenizer.encode("a", "a" if pair else None)
    places: list[tuple[int, int | None]] = []
    for id, text in zip(encoding.ids, encoding.sequence_ids, strict=True):
        if text is None:
            places.append((id, None))
        elif (0, text) not in places:
            places.append((0, text))
    return places


AutoTokenizer.register(BitLevelConfig, BitLevelTokenizer, exist_ok=True)
