import json

import numpy as np
import pytest

from tokenlab.cli import main
from tokenlab.core.errors import InputError
from tokenlab.metrics import registry
from tokenlab.metrics.registry import Metric, of_segmentation, of_tokenization
from tokenlab.metrics.segmentation import score_segmentation


def test_text_without_gold_words_has_undefined_metrics():
    assert of_segmentation(None) == dict.fromkeys(metric.name for metric in registry.SEGMENTATION)


def test_tokenization_of_numbers_and_of_arrays():
    single = of_tokenization(10, 20.0, 40)
    assert single.items() >= {"tokens": 10, "perplexity": 4.0, "bits_per_character": 0.5}.items()
    several = of_tokenization(np.array([10, 5]), np.array([20.0, 5.0]), np.array([40, 40]))
    for nothing in (0, np.array([3, 0])):
        with pytest.raises(InputError, match="without tokens"):
            of_tokenization(nothing, 0.0, 0)
    assert several["perplexity"].tolist() == [4.0, 2.0] and several["bits_per_character"].tolist() == [0.5, 0.125]


def test_a_new_metric_is_a_line(monkeypatch, tmp_path, capsys):
    words = Metric("words_per_sentence", lambda score: score.words.predicted / score.sentences, "words", "lower")
    length = Metric("characters_per_token", lambda counts: counts.characters / counts.tokens, "characters", "higher")
    monkeypatch.setattr(registry, "SEGMENTATION", (*registry.SEGMENTATION, words))
    monkeypatch.setattr(registry, "TOKENIZATION", (*registry.TOKENIZATION, length))
    (tmp_path / "gold").write_text("ab c\nd\n")
    score = score_segmentation([["ab", "c"], ["d"]], [["a", "b", "c"], ["d"]])
    assert of_segmentation(score)["words_per_sentence"] == 2.0
    assert of_tokenization(4, 8.0, 6)["characters_per_token"] == 1.5
    assert main(["score", str(tmp_path / "gold"), str(tmp_path / "gold")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["words", "per", "sentence", "1.5000", "words"]
    main(["score", str(tmp_path / "gold"), str(tmp_path / "gold"), "--json"])
    assert json.loads(capsys.readouterr().out)["words_per_sentence"] == 1.5
