"""One multinomial over words, the example in docs/internals/adding-a-model.md."""
