"""Language models over text: a coder of text into symbols and a network; training, evaluation, generation."""
