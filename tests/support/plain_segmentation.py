"""Segmentation by the definitions, over strings and dictionaries: slow, and without code of the library."""

import math
import unicodedata

import regex


def utility_table(statistics, options):
    """{ngram: utility} by the definitions of the options, from the columns of the statistics."""
    columns = {}
    for n in range(1, statistics.options.n_max + 1):
        for points, row in zip(statistics.code_points(n), range(*statistics.rows(n).indices(10**9)), strict=True):
            columns["".join(map(chr, points))] = row
    left, right = statistics.left_entropy, statistics.right_entropy
    counts = [int(statistics.count[row]) for ngram, row in columns.items() if len(ngram) == 1]
    at_start = -sum(f / sum(counts) * math.log(f / sum(counts)) for f in counts)

    def variation(ngram):
        before = (left[columns[ngram[1:]]], right[columns[ngram[:-1]]]) if len(ngram) > 1 else (at_start, at_start)
        return min(left[columns[ngram]] - before[0], right[columns[ngram]] - before[1])

    table = {}
    for n in range(1, statistics.options.n_max + 1):
        for points, row in zip(statistics.code_points(n), range(*statistics.rows(n).indices(10**9)), strict=True):
            context = min(statistics.left_entropy[row], statistics.right_entropy[row])
            ngram = "".join(map(chr, points))
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


def pieces(sentence, options, table):
    """(text, whether it is segmented by statistics) for the stretches that no segment crosses."""
    if options.isolate == "script":
        pattern = r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ.．%％@·]+|[\p{Script=Han}○]+|\S"
        found = [m.group() for m in regex.finditer(pattern, sentence) if m.group().strip()]
        found = [(text, bool(regex.match(r"[\p{Script=Han}○]", text))) for text in found]
    else:
        found = [(text, True) for text in sentence.split()]
    for text, free in found:
        if not free:
            yield text, False
        else:
            for part in regex.findall(r"\p{Co}|\P{Co}+", "".join(c if c in table else "\ue000" for c in text)):
                yield part, part != "\ue000"


def candidates(text, start, options, table, n_max):
    for n in range(1, min(n_max, len(text) - start) + 1):
        span = text[start : start + n]
        if n > 1 and options.isolate == "punctuation" and any(unicodedata.category(c)[0] in "PSZ" for c in span):
            continue
        if span in table:
            yield n, table[span]


def plain_greedy(text, options, table, n_max):
    start, lengths = 0, []
    while start < len(text):
        best = None
        for n, value in candidates(text, start, options, table, n_max):
            if (
                best is None
                or value > best[1] + 1e-9
                or (options.tie == "long" and value > -math.inf and value >= best[1] - 1e-9)
            ):
                best = (n, value)
        lengths.append(best[0])
        start += best[0]
    return lengths


def plain_viterbi(text, options, table, n_max):
    best = [(0.0, 0)]
    for stop in range(1, len(text) + 1):
        chosen = None
        for n in range(1, min(n_max, stop) + 1):
            value = dict(candidates(text, stop - n, options, table, n_max)).get(n)
            if value is None:
                continue
            total = best[stop - n][0] + n * value
            if chosen is None or total > chosen[0] + 1e-9 or (options.tie == "long" and total >= chosen[0] - 1e-9):
                chosen = (total, n)
        best.append(chosen)
    lengths, stop = [], len(text)
    while stop:
        lengths.append(best[stop][1])
        stop -= best[stop][1]
    return lengths[::-1]


def plain_segments(sentence, options, table, n_max):
    segments = []
    for run in sentence.split():
        start = 0
        for text, free in pieces(run, options, table):
            decode = plain_viterbi if options.decoder == "viterbi" else plain_greedy
            for n in decode(text, options, table, n_max) if free else [len(text)]:
                segments.append(run[start : start + n])
                start += n
    return segments
