"""Stage `builtin`: the built-in corpora, generated from a seeded grammar, the same sentences in every language, and
questions for language models in English."""

from pathlib import Path

from tasks.runtime.stage import Parameters, Stage, run
from tokenlab.generated.corpora import LANGUAGES, generate
from tokenlab.generated.questions import write_questions
from tokenlab.text.store import write_corpus


class Builtin(Parameters):
    """Size and seed of the built-in corpora, and the number of questions of each kind."""

    sentences: int
    questions: int
    seed: int


def generate_corpora(stage: Stage) -> None:
    """Write a corpus of each language, and the questions."""
    builtin = stage.parameters("builtin", Builtin)
    for language in LANGUAGES:
        write_corpus(generate(language, sentences=builtin.sentences, seed=builtin.seed), f"data/raw/builtin/{language}")
    write_questions(Path("data/raw/builtin/bench"), questions=builtin.questions, seed=builtin.seed)


if __name__ == "__main__":
    run(generate_corpora)
