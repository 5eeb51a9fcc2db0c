"""Ways of cutting a text, compared on equal terms: a small language model over each, trained with equal compute.

The parts of a comparison, in their order:

1. documents are divided into training and held-out ones and stored as passages (`divide`, `write_documents`);
2. candidates are trained on the training part (`suited_recipes`, `train_candidates`) or read (`read_candidate`);
3. a trial trains one body of a model over a candidate, to a budget of FLOPs or of bytes, and scores the held-out
   documents in nats (`Trial`, `run_trial`);
4. scores of candidates are compared by a paired bootstrap over documents and the spread over seeds (`compare_scores`).
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
