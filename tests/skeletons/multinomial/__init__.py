"""One multinomial over words: the example of docs/internals/adding-a-model.md."""
