"""Zero-shot tasks through the model interface of lm-evaluation-harness."""
