"""Texts and options for n-gram statistics, as strategies of hypothesis."""

from hypothesis import strategies as st
from unicode_text import text

from tokenlab.ngrams import StatisticsOptions

alphabets = st.sampled_from(["ab的国\U00020000 \u3000\n", "กทีำ e\u0301क\u094d\u1100\u1161🇫\u200d\n"])
texts = st.lists(
    alphabets.flatmap(lambda alphabet: st.text(alphabet, max_size=12)) | text, min_size=1, max_size=6
).filter(lambda sentences: any(sentence.strip() for sentence in sentences))
all_options = st.builds(
    StatisticsOptions,
    n_max=st.integers(1, 7),
    count_tokens=st.sampled_from(["ngram", "unigram", "bigram"]),
    edge=st.sampled_from(["skip", "symbol"]),
    min_frequency=st.integers(1, 3),
    log_base=st.sampled_from(["e", "2"]),
    unit=st.sampled_from(["cluster", "character"]),
)
