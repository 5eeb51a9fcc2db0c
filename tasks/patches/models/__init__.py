"""Language models of a comparison: their plans and trainings."""
