"""Encoders by their definition and all texts of a length: the truth for automata over small vocabularies.

Tokens are bytes; encodings are tuples of ids.
"""

from itertools import product

from plain_bpe import by_rank, merged


def texts(alphabet, longest, shortest=0):
    """All texts over single bytes (a bytes object) of `shortest` to `longest` bytes."""
    for length in range(shortest, longest + 1):
        for symbols in product(alphabet, repeat=length):
            yield bytes(symbols)


def longest_match(tokens, text):
    """Maximum prefix encoding; of equal tokens the first."""
    encoding, at = [], 0
    while at < len(text):
        length, id = max((len(token), -id) for id, token in enumerate(tokens) if token and text.startswith(token, at))
        encoding.append(-id)
        at += length
    return tuple(encoding)


def merge_in_order(tokens, merges, text):
    """Algorithm 3 of the paper: one pass over the text for each merge (left id, right id, new id), in their order."""
    ids = [tokens.index(text[i : i + 1]) for i in range(len(text))]
    for left, right, new in merges:
        ids = merged(ids, (left, right), new)
    return tuple(ids)


def merge_lowest(tokens, merges, text, ranks=None):
    """Again and again the pair of lowest rank, the leftmost of equals; what a priority queue gives."""
    ids = [tokens.index(text[i : i + 1]) for i in range(len(text))]
    ranks = range(len(merges)) if ranks is None else ranks
    table = {(left, right): (rank, new) for (left, right, new), rank in zip(merges, ranks, strict=True)}
    return tuple(by_rank(ids, table))


def best_path(tokens, scores, text):
    """Unigram: all segmentations, scores added from the left, the longest last token among equals, recursively."""
    best = [(0.0, ())] + [None] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(end):
            if best[start] is not None and text[start:end] in tokens:
                id = tokens.index(text[start:end])
                score = best[start][0] + scores[id]
                if best[end] is None or score > best[end][0]:
                    best[end] = (score, (*best[start][1], id))
    return best[len(text)][1]


def spelled(tokens, encoding):
    """The text of an encoding."""
    return b"".join(tokens[id] for id in encoding)


def state_after(automaton, encoding):
    """The state after tokens, each of which must be allowed."""
    state = automaton.start()
    for token in encoding:
        state = automaton.step(state, token)
        assert state is not None, encoding
    return state


def random_tokens(rng, most):
    """An alphabet of 2 to 4 letters, and tokens in any order: the letters and up to `most` random words."""
    alphabet = b"abcd"[: rng.choice([2, 2, 3, 4])]
    words = {bytes(rng.choices(alphabet, k=rng.randint(2, 4))) for _ in range(rng.randint(1, most))}
    tokens = [alphabet[i : i + 1] for i in range(len(alphabet))] + sorted(words)
    rng.shuffle(tokens)
    return alphabet, tokens


def beginnings(encode, tokens, strings, longest):
    """All sequences of at most `longest` bytes with which encodings of the texts begin."""
    found = set()
    for text in strings:
        encoding, length = encode(text), 0
        found.add(())
        for count, id in enumerate(encoding, 1):
            length += len(tokens[id])
            if length > longest:
                break
            found.add(tuple(encoding[:count]))
    return found


def live_sequences(automaton, longest, in_tokens=False):
    """All live sequences of at most `longest` bytes, or tokens, by `allowed` and `step`; checks that the two agree.

    Returns a dictionary from sequences to their states.
    """
    vocabulary = automaton.vocabulary
    lengths = [1] * len(vocabulary) if in_tokens else vocabulary.length.tolist()
    found, waiting = {}, [((), automaton.start(), 0)]
    while waiting:
        sequence, state, length = waiting.pop()
        found[sequence] = state
        allowed = automaton.allowed(state)
        assert allowed.shape == (len(vocabulary),) and allowed.dtype == bool
        for position, id in enumerate(vocabulary.ids.tolist()):
            after = automaton.step(state, id)
            assert (after is not None) == allowed[position], (sequence, id)
            if after is not None and length + lengths[position] <= longest:
                waiting.append(((*sequence, id), after, length + lengths[position]))
    return found


def check_live_sequences(automaton, encode, tokens, alphabet):
    """Compare live sequences and encodings with those of all short texts, each of which may end."""
    longest = {2: 7, 3: 5, 4: 4}[len(alphabet)]
    strings = list(texts(alphabet, longest))
    found = live_sequences(automaton, longest)
    assert set(found) == beginnings(encode, tokens, strings, longest)
    assert all(automaton.may_end(state) for state in found.values())
    assert all(tuple(automaton.encode(text)) == encode(text) for text in strings)


def check_endless(automaton, encode, tokens, alphabet, lengths):
    """The same for texts that never end; lengths: by the size of the alphabet, of live sequences and of the texts."""
    longest, far = lengths[len(alphabet)]
    ends = texts(alphabet, far, far - 3)  # one of the lengths ends with a token
    found = live_sequences(automaton, longest)
    assert set(found) == beginnings(encode, tokens, ends, longest)
    assert not any(automaton.may_end(state) for state in found.values())


def random_merges(random, alphabet, count):
    """Tokens and merges of random pairs of earlier tokens; a text has one token, so a token may have several merges.

    random: random.Random; alphabet: bytes. Returns tokens (list of bytes) and merges (left id, right id, new id).
    """
    tokens = [alphabet[i : i + 1] for i in range(len(alphabet))]
    merges = []
    while len(merges) < count:
        left, right = random.randrange(len(tokens)), random.randrange(len(tokens))
        text = tokens[left] + tokens[right]
        if any(merge[:2] == (left, right) for merge in merges):
            continue
        if text not in tokens:
            tokens.append(text)
        merges.append((left, right, tokens.index(text)))
    return tokens, merges
