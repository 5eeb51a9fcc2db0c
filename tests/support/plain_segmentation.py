"""Segmentation by the definitions, over strings and dictionaries: slow, and without code of the library.

An atom is what no segment cuts: a grapheme cluster, or a code point where clusters may be cut.
"""

import math
from itertools import groupby

import regex

UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"]


# What is kept together beyond the annex: before, after, and between kana or Han, with marks, and small kana.
PREPOSED = "[เแโใไເແໂໃໄᦵᦶᦷᦺꪵꪶꪹꪻꪼ]"
FOLLOWING = r"[ะาๅະາ[\p{Script=Myanmar}&&\p{Mc}]]"
MARK = r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]"
KANA = rf"[\p{{Script=Han}}\p{{Script=Hiragana}}\p{{Script=Katakana}}ーｰ](?:{MARK}|{FOLLOWING})*"
SMALL = (
    "[ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶㇰ-ㇿｧ-ｯーｰ\U0001b132\U0001b150-\U0001b155\U0001b164-\U0001b167]"
)
INK = r"[^\p{GCB=Control}\r\n]"
JOINED = regex.compile(f"(?V1)(?<={PREPOSED})(?={INK})|(?<={INK})(?={FOLLOWING})|(?<={KANA})(?={SMALL})")


def split_units(text, unit):
    """The units of n-grams; `text` is without whitespace."""
    if unit != "cluster":
        return list(text)
    joined = {found.start() for found in JOINED.finditer(text)}
    units, place = [], 0
    for cluster in regex.findall(r"\X", text):
        if place in joined and units:
            units[-1] += cluster
        else:
            units.append(cluster)
        place += len(cluster)
    return units


def split_clusters(text):
    """The clusters of a text with whitespace, which is of none of them."""
    parts = regex.findall(r"[\s\x1C-\x1F]|[^\s\x1C-\x1F]+", text)
    return [unit for part in parts for unit in ([part] if part.isspace() else split_units(part, "cluster"))]


def utility_table(statistics, options):
    """{ngram: utility} by the definitions of the options, from the columns of the statistics."""
    unit = statistics.options.unit
    lengths = range(1, statistics.options.n_max + 1)
    columns = {ngram: row for row, ngram in enumerate(ngram for n in lengths for ngram in statistics.ngrams(n))}
    left, right = statistics.left_entropy, statistics.right_entropy
    counts = [int(statistics.count[row]) for row in range(*statistics.rows(1).indices(10**9))]
    at_start = -sum(f / sum(counts) * math.log(f / sum(counts)) for f in counts)

    def variation(ngram):
        units = split_units(ngram, unit)
        before = (at_start, at_start)
        if len(units) > 1:
            before = (left[columns["".join(units[1:])]], right[columns["".join(units[:-1])]])
        return min(left[columns[ngram]] - before[0], right[columns[ngram]] - before[1])

    table = {}
    for ngram, row in columns.items():
        n = len(split_units(ngram, unit))
        context = min(left[row], right[row])
        weighted = context if options.entropy_only else options.weight * context
        if options.vbe_weight:
            weighted += options.vbe_weight * variation(ngram)
            if n > 2 and statistics.count[row] == 1:
                continue
        if n > 1:
            value = weighted if options.entropy_only else statistics.min_pmi[row] + weighted
        elif options.single_character == "literal":
            value = weighted
        elif options.single_character == "fallback":
            value = -math.inf
        elif options.entropy_only:
            value = 0.0
        elif options.single_character == "self":
            value = math.log(statistics.tokens / statistics.count[row])
        else:
            value = options.single_character
        table[ngram] = value
    return table


def kinds_of(clusters, options):
    """For each cluster `space`, `alone`, `whole`, or the name of the runs that it belongs to, as methods.md says."""
    kinds = [_kind_of(cluster, options) for cluster in clusters]

    def between(place, *allowed):
        return 0 < place < len(kinds) - 1 and kinds[place - 1] in allowed and kinds[place + 1] in allowed

    found = []
    for place, kind in enumerate(kinds):
        if kind == "sign":
            kind = "whole" if between(place, "letter", "digit") else "alone"
        elif kind == "comma":
            kind = "whole" if between(place, "digit") else "alone"
        found.append("whole" if kind in ("letter", "digit") else kind)
    return found


def _kind_of(cluster, options):
    if cluster.isspace():
        return "space"
    if options.isolate == "punctuation":
        return "alone" if regex.search(r"[\p{P}\p{S}\p{Z}]", cluster) else "run"
    if options.isolate == "none":
        return "run"
    visible = regex.sub(r"\p{Cf}", "", cluster)
    if not visible:
        return "alone"
    first = visible[0]
    if first in ".．%％@·'’,":
        return "comma" if first == "," else "sign"
    if regex.match(r"\p{P}", first) and first not in "\u0f0b\u0f0c":
        return "alone"
    for script in UNSPACED:
        if regex.match(rf"\p{{Script={script}}}", first) or first in {"Han": "○", "Katakana": "ーｰ"}.get(script, ""):
            if script in ("Hiragana", "Katakana"):
                return "kana" if options.split_kana else "Han"
            return script
    extends = len(regex.findall(r"\X", "a" + first)) == 1
    if regex.match(r"\p{Nd}", first):
        return "digit"
    return "letter" if regex.match(r"\p{L}", first) or (regex.match(r"\p{M}", first) and not extends) else "alone"


def pieces(text, options, table, unit):
    """(atoms, whether they are segmented by statistics) for the stretches that no segment crosses."""
    atoms = split_units(text, "character" if options.isolate == "none" and unit == "character" else "cluster")
    for kind, group in groupby(zip(atoms, kinds_of(atoms, options), strict=True), lambda pair: pair[1]):
        run = [atom for atom, _ in group]
        if kind == "alone":
            yield from (([atom], False) for atom in run)
        elif kind == "whole":
            yield run, False
        else:
            for known, neighbours in groupby(run, lambda atom: atom in table):
                part = list(neighbours)
                yield from [(part, True)] if known else (([atom], False) for atom in part)


def size(atoms, unit):
    """The length of a span in units."""
    return len(atoms) if unit == "cluster" else len("".join(atoms))


def candidates(atoms, start, table, n_max, unit):
    """(number of atoms, utility) of the spans from an atom on."""
    for n in range(1, len(atoms) - start + 1):
        span = atoms[start : start + n]
        if size(span, unit) > n_max:
            return
        if "".join(span) in table:
            yield n, table["".join(span)]


def plain_greedy(atoms, options, table, n_max, unit):
    start, lengths = 0, []
    while start < len(atoms):
        best = None
        for n, value in candidates(atoms, start, table, n_max, unit):
            if (
                best is None
                or value > best[1] + 1e-9
                or (options.tie == "long" and value > -math.inf and value >= best[1] - 1e-9)
            ):
                best = (n, value)
        lengths.append(best[0])
        start += best[0]
    return lengths


def plain_viterbi(atoms, options, table, n_max, unit):
    best = [(0.0, 0)]
    for stop in range(1, len(atoms) + 1):
        chosen = None
        for n in range(1, min(n_max, stop) + 1):
            value = dict(candidates(atoms[:stop], stop - n, table, n_max, unit)).get(n)
            if value is None:
                continue
            total = best[stop - n][0] + size(atoms[stop - n : stop], unit) * value
            if chosen is None or total > chosen[0] + 1e-9 or (options.tie == "long" and total >= chosen[0] - 1e-9):
                chosen = (total, n)
        best.append(chosen)
    lengths, stop = [], len(atoms)
    while stop:
        lengths.append(best[stop][1])
        stop -= best[stop][1]
    return lengths[::-1]


def plain_segments(sentence, options, table, n_max, unit="cluster"):
    segments = []
    decode = plain_viterbi if options.decoder == "viterbi" else plain_greedy
    for text in sentence.split():
        for atoms, free in pieces(text, options, table, unit):
            start = 0
            for n in decode(atoms, options, table, n_max, unit) if free else [len(atoms)]:
                segments.append("".join(atoms[start : start + n]))
                start += n
    return segments
