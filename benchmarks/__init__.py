"""Speed and memory of the library beside its peers: `python -m benchmarks [NAME ...]`, results in docs/benchmarks.md.

`corpora` writes the texts, `measure` runs one task in a process of its own, and `statistics`, `segmentation` and
`reading` say what is measured and print one table each. Every peer's result is compared with ours before any time is
printed; a claim is a ratio of two times of one run on one text.
"""
