"""One model of a whole parameter file, composed of the parameters that the stages declare.

No knob is declared here: a section that stages read in parts is put together, and every other one is a stage's own.
"""

from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union

from pydantic import ConfigDict, Field, StringConstraints, ValidatorFunctionWrapHandler, WrapValidator

from tasks.bits.length import LengthParameters, Measured
from tasks.bits.translation import Pilot, TranslationPair
from tasks.codes.parameters import CorpusCodes, HeldOut, VocabularySizes
from tasks.compare.entries import Comparison
from tasks.compared import parameters as compared
from tasks.corpora.concatenate import Concatenated
from tasks.corpora.generate import Builtin
from tasks.corpora.prepare import Corpus
from tasks.downstream.parameters import Classification, Classified, Generation, Labelled, LanguageModels, Modelled
from tasks.exact import evaluate as exact_evaluate
from tasks.exact import held_out as exact_held_out
from tasks.exact.markov_experiment import Prompts
from tasks.exact.markov_model import MarkovModel
from tasks.exact.train_lm import LanguageModel
from tasks.exact.vocabularies import ChainParameters, MarkovVocabulary
from tasks.patches import parameters as patches
from tasks.patches.stored_tokenizers import Tokenizers
from tasks.patches.texts import Texts
from tasks.runtime.stage import Parameters
from tasks.segmentation.entropy import Scored
from tasks.segmentation.entropy_model import EntropyModel
from tasks.segmentation.evaluation.own_text import OwnText
from tasks.segmentation.methods import METHODS, SegmentedCorpus
from tasks.segmentation.public_model import PublicModel
from tasks.segmentation.splits import Splitting
from tasks.segmentation.tokenizer import Bpe, Full
from tokenlab.codes.options import LatomOptions
from tokenlab.core.errors import ParameterError
from tokenlab.networks.options import Computation
from tokenlab.ngrams.options import StatisticsOptions
from tokenlab.segment.words.options import WordOptions
from tokenlab.tokenizers.export.options import ExportOptions

Checked = TypeVar("Checked")


def _located(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """An error of the library's own check as one of pydantic, which knows the place and goes on to the next section."""
    try:
        return check(value)
    except ParameterError as error:
        raise ValueError(str(error)) from error


Own = Annotated[Checked, WrapValidator(_located)]
"""A section of one stage, with the checks of the library."""

Name = Annotated[str, StringConstraints(pattern=r"^[\w-]+$")]
"""A name in the parameters: a part of paths and of addresses in DVC."""

Entries = dict[Name, Own[Checked]]
"""Named variants, each a stage or a row."""

if TYPE_CHECKING:
    _Method = Any
else:  # the kinds of the registry, told apart by `by`
    _Method = Annotated[Union[tuple(METHODS.values())], Field(discriminator="by")]  # noqa: UP007


class Segmentation(Splitting):
    """The section `segmentation`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpora: Entries[SegmentedCorpus]
    statistics: Own[StatisticsOptions]
    word_models: Entries[WordOptions]
    methods: Entries[_Method]
    bpe: Own[Bpe]
    full: Own[Full]
    export: Entries[ExportOptions]
    own_text: Entries[OwnText]


class Entropy(Parameters):
    """The section `entropy`."""

    models: Entries[EntropyModel]
    public: Entries[PublicModel]
    scored: Entries[Scored]


class Codes(Parameters):
    """The section `codes`."""

    corpora: Entries[CorpusCodes]
    tables: str
    latom: Own[LatomOptions]
    held_out: HeldOut
    vocabulary_sizes: VocabularySizes


class MarkovExperiment(Parameters):
    """An entry of `exact.markov`."""

    chain: ChainParameters
    vocabularies: Entries[MarkovVocabulary]
    model: Own[MarkovModel]
    prompts: Prompts


class Exact(Parameters):
    """The section `exact`."""

    markov: Entries[MarkovExperiment]
    held_out: exact_held_out.HeldOut
    models: Entries[LanguageModel]
    evaluated: Entries[exact_evaluate.Evaluated]


class Bits(LengthParameters):
    """The section `bits`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    corpora: Entries[Measured]
    translation: Entries[TranslationPair]
    pilot: Own[Pilot]


class Patches(Parameters):
    """The section `patches`."""

    texts: Texts
    context: int
    tokenizers: Entries[Tokenizers]
    longest: list[Annotated[int, Field(ge=2)]] = Field(min_length=1)
    corpora: Entries[patches.PatchCorpus]
    entropy_model: Own[patches.EntropyModel]
    patchers: Entries[patches.Patcher]
    sizes: Entries[patches.Size]
    variants: Entries[patches.Variant]
    models: Entries[patches.Models]
    training: Own[patches.Training]
    computation: Own[Computation]
    workers: int
    evaluation: patches.Evaluation
    zero_shot: Entries[patches.ZeroShot]


class Downstream(Parameters):
    """The section `downstream`."""

    corpora: Entries[Labelled]
    classified: Entries[Classified]
    classification: Own[Classification]
    language_models: Entries[Modelled]
    language_model: Own[LanguageModels]
    generation: Own[Generation]


class Compared(Parameters):
    """The section `compared`."""

    corpora: Entries[compared.ComparedCorpus]
    methods: Entries[Annotated[compared.Method, Field(discriminator="kind")]]
    texts: Texts
    trainings: Own[compared.Trainings]
    evaluation: compared.Evaluation
    workers: int = Field(ge=1)


class Sections(Parameters):
    """A whole params.yaml."""

    preset: Name
    root: str
    params_file: str
    corpora: Entries[Corpus]
    concatenated: Entries[Concatenated]
    segmentation: Own[Segmentation]
    entropy: Entropy
    codes: Codes
    exact: Exact
    bits: Bits
    patches: Patches
    downstream: Downstream
    compared: Compared
    compare: Own[Comparison]


class RawSections(Parameters):
    """The whole of data/raw/params.yaml."""

    builtin: Builtin
