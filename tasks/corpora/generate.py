"""Stage `builtin`: the built-in corpora, generated from a seeded grammar, the same sentences in every language."""

from tasks.runtime.stage import Parameters, Stage, run
from tokenlab.generated.corpora import LANGUAGES, generate
from tokenlab.text.store import write_corpus


class Builtin(Parameters):
    """Size and seed of the built-in corpora."""

    sentences: int
    seed: int


def generate_corpora(stage: Stage) -> None:
    """Write a corpus of each language."""
    builtin = stage.parameters("builtin", Builtin)
    for language in LANGUAGES:
        write_corpus(generate(language, sentences=builtin.sentences, seed=builtin.seed), f"data/raw/builtin/{language}")


if __name__ == "__main__":
    run(generate_corpora)
