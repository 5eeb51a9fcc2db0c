"""One module per stage of the pipeline: read parameters and inputs, call tokenlab, write outputs."""
