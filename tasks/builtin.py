"""Stage `builtin`: the built-in corpora, generated from a seeded grammar, the same sentences in every language."""

from tasks.stage import Parameters, Stage, run
from tokenlab.text.builtin import LANGUAGES, generate
from tokenlab.text.store import write_corpus


class BuiltinParameters(Parameters):
    """How much is generated."""

    sentences: int
    seed: int


def generate_corpora(stage: Stage) -> None:
    """Write a corpus of each language, and the record that says that it is generated."""
    parameters = stage.parameters("builtin", BuiltinParameters)
    for language in LANGUAGES:
        folder = f"data/raw/builtin/{language}"
        write_corpus(generate(language, sentences=parameters.sentences, seed=parameters.seed), folder)


if __name__ == "__main__":
    run(generate_corpora)
