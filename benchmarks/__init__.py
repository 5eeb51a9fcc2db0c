"""Speed and memory of the library beside its peers: `python -m benchmarks [NAME ...]`, results in docs/benchmarks.md.

`corpora` writes the texts and `resampled` draws longer ones from them, `measure` runs one task in a process of its own,
and every other module says what is measured and prints one table. Where a peer computes what we compute, the results
are compared before any time is printed; a claim is a ratio of two times of one run on one text.
"""
