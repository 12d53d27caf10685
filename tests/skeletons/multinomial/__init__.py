"""One multinomial over words: the example of a family that docs/adding-a-model.md walks through."""
