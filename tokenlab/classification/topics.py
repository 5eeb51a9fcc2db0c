"""The sentences of the built-in corpora with the topics of their paragraphs as classes, the same in every language."""

from tokenlab.classification.labelled import LabelledTexts, labelled_texts
from tokenlab.generated.corpora import generate
from tokenlab.generated.lexicon import load_lexicon
from tokenlab.generated.meanings import paragraphs


def labelled_topics(language: str, *, sentences: int, seed: int) -> LabelledTexts:
    """The documents of `generate`, labelled; passages are paragraphs.

    Raises ParameterError as `generate`, InputError for too few sentences to have two topics.
    """
    of_sentences = (
        (paragraph.topic, str(number))
        for number, paragraph in enumerate(paragraphs(load_lexicon(), seed))
        for _ in paragraph.sentences()
    )
    documents = generate(language, sentences=sentences, seed=seed)
    rows = ((document.id, document.text, *own) for document, own in zip(documents, of_sentences, strict=False))
    return labelled_texts(rows, None, f"built-in corpus of seed {seed}")
