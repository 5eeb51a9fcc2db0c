"""Candidates of all kinds: trained, kept, read again; those that lose text are refused. The division of a text."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers
from unicode_text import is_utf8

from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import write_code
from tokenlab.codes.registry import learn_code
from tokenlab.comparison import candidates
from tokenlab.comparison.candidates import (
    CodeRecipe,
    PatchRecipe,
    read_candidate,
    suited_recipes,
    token_recipe,
    train_candidates,
)
from tokenlab.comparison.chunk_coder import ChunkCoder
from tokenlab.comparison.code_patches import CodePatchCoder
from tokenlab.comparison.measures import units_of
from tokenlab.comparison.texts import check_spelled, divide, write_documents
from tokenlab.core.errors import InputError
from tokenlab.generated import generate
from tokenlab.language.coding import ByteCoder
from tokenlab.language.passages import open_passages
from tokenlab.patches.by_bytes import SpacePatcher
from tokenlab.patches.options import SpaceOptions
from tokenlab.patches.registry import save_patcher

TEXTS = [document.text for document in generate("zh", sentences=60, seed=1)]
OTHER = "A text that was not seen: naïve café, 👍🏽\n\tมาก\r\n".encode()
RECIPES = [
    token_recipe("bpe", "gpt2", 300),
    token_recipe("bytes", "none", 256),
    PatchRecipe("patches", token_recipe("bpe", "gpt2", 300), 3),
    CodeRecipe("latom", "latom", 600),
    CodeRecipe("latom-words", "latom", 600, "words"),
    CodeRecipe("characters", "character", None),
    CodeRecipe("bits-words", "bits", 900, "words"),
]
CODE = learn_code("random", character_corpus(TEXTS), unknown="byte")
MORE = (("chunks", ChunkCoder(4.0).save), ("code-patches", CodePatchCoder(CODE, SpacePatcher(SpaceOptions(6))).save))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("candidates")
    train_candidates(RECIPES, TEXTS, folder)
    write_code(CODE, folder / "atoms.json")
    for name, save in (
        ("space", lambda place: save_patcher(SpacePatcher(), place)),
        ("coder", ByteCoder().save),
        *MORE,
    ):
        (folder / name).mkdir()
        save(folder / name)
    return folder


@pytest.mark.parametrize(
    "name", [*(recipe.name for recipe in RECIPES), "atoms.json", "space", "coder", *(name for name, _ in MORE)]
)
def test_every_kind_spells_texts_that_it_has_not_seen(folder, name):
    coder = read_candidate(folder / name)
    check_spelled(coder, [*TEXTS, OTHER.decode()], 64, name)
    (passage,) = coder.code([OTHER])
    assert coder.decode(passage.ids.tolist()) == OTHER and passage.size == len(OTHER)
    assert passage.ids.max() < len(coder.spellings)


def test_merges_of_a_code_shorten_its_texts_and_stay_inside_words_in_training(folder):
    coders = [read_candidate(folder / name) for name in ("latom", "latom-words", "atoms.json")]
    texts = [text.encode() for text in TEXTS]
    crossing, inside, plain = (sum(len(passage.ids) for passage in coder.code(texts)) for coder in coders)
    assert crossing < inside and crossing < 0.8 * plain
    assert len(coders[0].spellings) == len(coders[1].spellings)


def test_patches_of_atoms_are_those_of_their_patcher_at_whole_characters(folder):
    coder = read_candidate(folder / "code-patches")
    for text in [OTHER, *(text.encode() for text in TEXTS[:20])]:
        (passage,) = coder.code([text])
        assert passage.starts[0] == 0 and (np.diff([*passage.starts, len(passage.ids)]) > 0).all()
        before = [coder.decode(passage.ids[:start].tolist()) for start in passage.starts]
        given = SpacePatcher(SpaceOptions(6)).starts([text])[0].tolist()
        moved = [next(end for end in range(start, len(text) + 1) if is_utf8(text[:end])) for start in given]
        assert [len(part) for part in before] == sorted({place for place in moved if place < len(text)})
    (tokens,) = units_of(coder).encode_batch([TEXTS[0]])
    (passage,) = coder.code([TEXTS[0].encode()])
    assert len(tokens.ids) == len(passage.starts) and tokens.byte_tokens == 0


def test_what_is_there_is_not_trained_again(folder, monkeypatch):
    monkeypatch.setattr(candidates, "_train_tokens", None)
    told = []
    with pytest.raises(TypeError):
        train_candidates([*RECIPES, token_recipe("new", "none", 300)], TEXTS, folder, told.append)
    assert told == ["new"] and not (folder / "new").exists()


def test_recipes_suit_the_script():
    english = [document.text for document in generate("en", sentences=20, seed=1)]
    of_english, of_chinese = ({recipe.name for recipe in suited_recipes(texts, 1000)} for texts in (english, TEXTS))
    assert of_english - of_chinese == {"bytes"} and of_chinese - of_english == {"latom"}


def test_candidates_that_lose_text_are_refused(tmp_path):
    lower = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    lower.normalizer = normalizers.Lowercase()
    lower.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match=r"given: .* has a code"):
        check_spelled(read_candidate(tmp_path), [*TEXTS, OTHER.decode()], 64, "given")
    code = learn_code("random", character_corpus(TEXTS), unknown="skip")
    write_code(code, tmp_path / "skip.json")
    with pytest.raises(InputError, match=r"given: .* loses text"):
        check_spelled(read_candidate(tmp_path / "skip.json"), [*TEXTS, OTHER.decode()], 64, "given")


def test_held_out_documents_are_a_twentieth_in_the_order_of_the_text():
    texts = [f"{number} " + "x" * (number % 7) for number in range(1000)]
    parts = divide([*texts, ""], seed=3)
    assert sorted([*parts.training, *parts.held_out], key=texts.index) == texts
    assert [*parts.training] == [text for text in texts if text in set(parts.training)]
    size = sum(map(len, texts))
    assert 0.05 * size <= sum(map(len, parts.held_out)) < 0.05 * size + 20
    assert divide(texts, seed=3) == parts != divide(texts, seed=4)
    few = divide(texts[:20])
    assert len(few.training) == len(few.held_out) == 10
    with pytest.raises(InputError, match=r"20 documents .* has 19"):
        divide(texts[:19])


def test_passages_carry_the_number_of_their_document(tmp_path):
    texts = ["a b " * 40, "c", "ศ" * 50]
    write_documents(texts, 64, tmp_path / "passages")
    (block,) = open_passages(tmp_path / "passages").blocks()
    documents = [int(id.split(":")[0]) for id in block.ids]
    joined = [
        b"".join(data for data, n in zip(block.data, documents, strict=True) if n == number) for number in range(3)
    ]
    assert joined == [text.encode() for text in texts] and max(map(len, block.data)) <= 64
    assert np.all(block.words == [len(data.split()) for data in block.data])
