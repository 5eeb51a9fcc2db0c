"""`tokenlab segment`: cut sentences into words, by n-gram statistics, a language model's entropies, or a word model."""

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenlab.cli.corpus import Corpus, add_corpus, add_json, open_corpus, source_name
from tokenlab.cli.entropy import ONE_THREAD, Scoring, add_scoring_options, scoring_of
from tokenlab.cli.ngram_statistics import add_statistics_from, statistics_of
from tokenlab.cli.options import (
    Commands,
    add_cluster,
    add_command,
    add_options,
    check_way,
    flags_of,
    named_as_flags,
    options_from,
)
from tokenlab.cli.output import (
    check_output,
    json_line,
    named_errors,
    note,
    steps_shown,
    whole_output,
    with_progress,
    write,
    written,
)
from tokenlab.core.batches import in_batches
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.core.options import MemoryOptions, size
from tokenlab.core.shards import ClusterOptions, map_shards, open_cluster
from tokenlab.entropy.options import DeviceOptions, ScoringOptions
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.segment.options import BoundaryOptions, SegmentOptions
from tokenlab.segment.words.options import WordOptions

if TYPE_CHECKING:
    from tokenlab.entropy.scored_lines import Line
    from tokenlab.segment.segmentation import Segmentation
    from tokenlab.segment.words.model import WordModel

_BATCH = 1 << 17
"""Characters of a batch of sentences that are segmented by entropies, unless a single one has more."""

_FEWEST_KNOWN = 0.5
"""Share of the characters of a text below which a word model is for another language."""

_METHODS = {
    "variation": "n-gram statistics (PMI, branching entropy and its variation)",
    "statistics": "the same without the variation, which is not in the paper (--variation 0)",
    "words": "a model of pairs of words, fitted to INPUT, which takes up to a minute or so",
}
_ISOLATION = {"isolate": "--isolate", "split_kana": "--split-kana"}
_STATISTICS = flags_of(StatisticsOptions, SegmentOptions, MemoryOptions, statistics_from="--statistics-from")
_BOUNDARIES = flags_of(BoundaryOptions, **_ISOLATION)
_SCORED = _BOUNDARIES | flags_of(DeviceOptions, ScoringOptions)
del _SCORED["unit"]  # `--unit` is that of the statistics.


def add_parser(commands: Commands) -> None:
    what = "cut sentences into words by n-gram statistics, a word model or a language model"
    parser = add_command(commands, _segment, what, argument_default=argparse.SUPPRESS)
    add_corpus(parser, "sentence")
    methods = "; ".join(f"{name}: {what}" for name, what in _METHODS.items())
    parser.add_argument("--method", choices=list(_METHODS), help=f"{methods} (default variation)")
    signal = parser.add_mutually_exclusive_group()
    model = "a word model of --save-model, or a language model: a folder, or a name on the Hugging Face hub"
    signal.add_argument("--model", metavar="FILE_OR_NAME", help=model)
    entropies = "use the entropies of INPUT that `tokenlab entropy --json` or `-o` wrote"
    signal.add_argument("--entropies", metavar="FILE", help=entropies)
    add_statistics_from(signal)
    form = parser.add_mutually_exclusive_group()
    add_json(
        form, "print `text` and the character `offsets` [start, end) of its segments; without, spaces between them"
    )
    delimiter = "put this character at boundaries and keep spaces, as for SentencePiece's --pretokenization_delimiter"
    form.add_argument("--delimiter", metavar="C", help=delimiter)
    scripts = parser.add_argument_group("scripts", "A word model always isolates scripts.")
    add_options(scripts, SegmentOptions, only=_ISOLATION)
    utilities = parser.add_argument_group("utilities of segments (with --method variation or statistics)")
    add_utilities(utilities, without=_ISOLATION)
    counting = parser.add_argument_group("n-gram statistics (with the same methods)")
    add_options(counting, StatisticsOptions)
    add_options(counting, MemoryOptions)
    words = parser.add_argument_group("word model (with --method words)")
    add_options(words, WordOptions, without=["split_kana"])
    sample = (
        "fit the model to lines of so many characters, such as 5M, drawn by a hash of their content, and segment all "
        "of INPUT by it, with memory that does not grow with INPUT (default: fit it to all of INPUT)"
    )
    words.add_argument("--sample", metavar="SIZE", help=sample)
    words.add_argument("--save-model", metavar="FILE", help="keep the fitted model there, for --model")
    group = parser.add_argument_group("boundaries by entropy (with --entropies or a language model)")
    add_options(group, BoundaryOptions)
    add_scoring_options(parser)
    add_cluster(parser, f"The segments by words and statistics do not depend on it. Language models: {ONE_THREAD}")


def add_utilities(target: argparse._ActionsContainer, without: Collection[str] = ()) -> None:
    """Add the options of segmentation by statistics."""
    alternatives = ("weight", "entropy_only")
    add_options(target.add_mutually_exclusive_group(), SegmentOptions, only=alternatives)
    add_options(target, SegmentOptions, without=[*alternatives, *without])


def _segment(options: argparse.Namespace) -> None:
    """Cut sentences, one per line, into words without a dictionary. Whitespace in a line is always a boundary. Word F1
    by a month of Chinese news, on sentences held out: --method statistics 78, variation (default) 79, words 82.
    """
    way = _way(options)
    _, segment = _WAYS[way]
    check_way(options, way, {one: flags for one, (flags, _) in _WAYS.items()})
    delimiter = _delimiter(options)
    # A text may contain the delimiter in its last line, so nothing is printed before all of it is segmented.
    with nullcontext(write) if delimiter is None else whole_output() as output:
        form = partial(_printed, source_name(options.input), options.json, delimiter)
        segment(options, _Output(output, form, options_from(options, ClusterOptions)))


def _printed(name: str, as_json: bool, delimiter: str | None, batch: "Segmentation") -> str:
    """The lines of a batch of the text of this name."""
    if as_json:
        found = zip(batch.sentences(), batch.spans(), strict=True)
        return "".join(json_line({"text": sentence, "offsets": spans}) for sentence, spans in found)
    with named_errors(name):
        return batch.text() if delimiter is None else batch.delimited(delimiter)


class _Output(NamedTuple):
    """Where segments are printed, how, and where they are found."""

    write: Callable[[str], None]
    form: Callable[["Segmentation"], str]
    place: ClusterOptions

    def segmented(self, segment: Callable[[Any], "Segmentation"], batches: Iterable[Any]) -> None:
        """Segment batches and print their lines."""

        def write_all(texts: Iterator[str]) -> None:
            for text in texts:
                self.write(text)

        with open_cluster(self.place, segment, self.form) as cluster:
            map_shards(_segmented_text, batches, write_all, cluster)


def _segmented_text(segment: Callable[[Any], "Segmentation"], form: Callable[..., str], batch: Any) -> str:
    return form(segment(batch))


def _way(options: argparse.Namespace) -> str:
    """The way of segmenting that was chosen: a key of `_WAYS`."""
    given = [f"--{name}" for name in ("model", "entropies") if hasattr(options, name)]
    if given and hasattr(options, "method"):
        raise ParameterError(f"--method has no meaning with {given[0]}; leave one of them out")
    if hasattr(options, "model"):
        return "a fitted word model" if Path(options.model).is_file() else "a language model"
    return given[0] if given else f"--method {getattr(options, 'method', 'variation')}"


def _delimiter(options: argparse.Namespace) -> str | None:
    given: str | None = getattr(options, "delimiter", None)
    if given is not None and (len(given) != 1 or given.isspace() or not given.isprintable()):
        raise ParameterError(f"--delimiter is {given!r}; it must be one visible character that the text does not have")
    return given


def _by_entropy(options: argparse.Namespace, output: _Output) -> None:
    source = getattr(options, "entropies", None)
    _check_file("--entropies", source)
    boundaries = options_from(options, BoundaryOptions)
    chosen = options_from(options, SegmentOptions)
    with open_corpus(options, checked=True) as text:
        if source is None:
            scoring, blocks = scoring_of(text, options, output.place)
            if chosen.isolate == "script":
                blocks = _noting_scripts(blocks, text.name)
            output.segmented(partial(_scored_and_segmented, scoring, boundaries, chosen), blocks)
            return
        batches = in_batches(_read_entropies(text, source), _BATCH, size=lambda line: len(line[0]) + 1)
        output.segmented(partial(_at_boundaries, boundaries, chosen), batches)


def _scored_and_segmented(
    scoring: Scoring, boundaries: BoundaryOptions, chosen: SegmentOptions, lines: Sequence[str]
) -> "Segmentation":
    return _at_boundaries(boundaries, chosen, scoring.score(lines))


def _at_boundaries(boundaries: BoundaryOptions, chosen: SegmentOptions, lines: Sequence["Line"]) -> "Segmentation":
    from tokenlab.segment.by_entropy import segment_by_entropy

    sentences, entropies = zip(*lines, strict=True)
    return segment_by_entropy(sentences, entropies, boundaries, chosen.isolate, chosen.split_kana)


def _check_file(option: str, source: str | None) -> None:
    if source == "-":
        raise InputError(f"{option}: standard input cannot be read here; name a file")


def _read_entropies(text: Corpus, source: str) -> Iterator["Line"]:
    """The lines of a text with their entropies from a file. It is read once before, so that errors come first."""
    from tokenlab.entropy.scored_lines import read_entropy_lines

    def checked() -> Iterator["Line"]:
        records = read_entropy_lines(source, text.longest_line)
        number = 0
        for number, sentence in enumerate(text.lines(), 1):
            record = next(records, None)
            if record is None:
                raise InputError(f"{source}: ends before line {number} of {text.name}; score the text again")
            if record[0] != sentence:
                raise InputError(
                    f"{source}: line {number} of {text.name} is not its line {number}; score the text again"
                )
            yield record
        if next(records, None) is not None:
            raise InputError(f"{source}: goes on behind line {number}, the last of {text.name}; score the text again")

    for _ in checked():
        pass
    return checked()


def _by_statistics(options: argparse.Namespace, output: _Output) -> None:
    from tokenlab.segment.by_statistics import Segmenter

    defaults = {"vbe_weight": 0.0} if getattr(options, "method", None) == "statistics" else {}
    counted, chosen = options_from(options, StatisticsOptions), options_from(options, SegmentOptions, defaults=defaults)
    source = getattr(options, "statistics_from", None)
    _check_file("--statistics-from", source)
    with open_corpus(options, checked=source is not None) as text:  # Counting reads all of it, too.
        statistics = statistics_of(text, source, counted, options_from(options, MemoryOptions))
        with named_as_flags(SegmentOptions):
            segmenter = Segmenter(statistics, chosen)
        del statistics  # The segmenter keeps the part that it needs.
        batches = with_progress(segmenter.batches(text.lines()), "segmenting", _characters)
        if chosen.isolate == "script":
            batches = _noting_scripts(batches, text.name)
        output.segmented(segmenter.segment_batch, batches)


def _by_words(options: argparse.Namespace, output: _Output) -> None:
    from tokenlab.segment.words.model import WordModel
    from tokenlab.text.sample import sample_lines

    chosen = options_from(options, WordOptions)
    kept, sampled = getattr(options, "save_model", None), getattr(options, "sample", None)
    check_output("--save-model", kept, [options.input])
    drawn = None if sampled is None else size("--sample", sampled)
    if drawn is None and any(hasattr(options, name) for name in ("workers", "cluster")):
        raise ParameterError("--workers and --cluster share what follows the fitting to a sample; add --sample")
    with open_corpus(options) as text:
        lines = list(text.lines()) if drawn is None else sample_lines(with_progress(text.lines(), "drawing"), drawn)
        with steps_shown("fitting", " sweeps") as progress, named_errors(text.name):
            model = WordModel.fit(lines, chosen, progress=progress)
        del lines
        if kept is not None:
            with written(kept):
                model.save(kept)
        if drawn is None:
            assert model.training is not None, "`fit` segments its text"
            output.write(output.form(model.training))
        else:
            _by_model(model, text, output)


def _by_word_model(options: argparse.Namespace, output: _Output) -> None:
    from tokenlab.segment.words.model import WordModel

    model = WordModel.load(options.model)
    with open_corpus(options, checked=True) as text:
        _by_model(model, text, output)


def _by_model(model: "WordModel", text: Corpus, output: _Output) -> None:
    batches = with_progress(model.batches(text.lines()), "segmenting", _characters)
    output.segmented(model.segment_batch, _noting_scripts(batches, text.name, frozenset("".join(model.units))))


def _characters(lines: Sequence[str]) -> int:
    return sum(map(len, lines))


def _noting_scripts(batches: Iterable[Sequence[str]], name: str, known: Collection[str] | None = None) -> Iterator[Any]:
    """The batches of lines; where they end without a character that the method segments, that is said on standard
    error, and where a model does not know most of the first ones."""
    import regex

    from tokenlab.segment.isolation import run_sets

    segmented = regex.compile(f"[{''.join(run_sets())}]")
    found = False
    for lines in batches:
        if not found and (characters := segmented.findall("\n".join(lines))):
            found = True
            share = 1.0 if known is None else sum(map(known.__contains__, characters)) / len(characters)
            if share < _FEWEST_KNOWN:
                note(f"{name}: the model knows {share:.0%} of its characters; fit one to such text by --method words")
        yield lines
    if not found:
        note(
            f"{name}: no character of a script that is written without spaces (Chinese, kana, Thai, Lao, "
            "Khmer, Burmese, Tibetan), so words are what stands between spaces and punctuation; with statistics, "
            "`--isolate punctuation` segments all scripts"
        )


_WAYS: dict[str, tuple[dict[str, str], Callable[[argparse.Namespace, _Output], None]]] = {
    "--method variation": (_STATISTICS, _by_statistics),
    "--method statistics": (_STATISTICS, _by_statistics),
    "--method words": (flags_of(WordOptions, sample="--sample", save_model="--save-model"), _by_words),
    "a fitted word model": ({}, _by_word_model),
    "a language model": (_SCORED, _by_entropy),
    "--entropies": (_BOUNDARIES, _by_entropy),
}
"""The ways of segmenting: the flags that have a meaning with each, by the names of the options, and the function."""
