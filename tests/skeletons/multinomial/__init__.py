"""One multinomial over words: the example of a model that docs/adding-a-model.md walks through."""
