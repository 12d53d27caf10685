"""How topics' shares go with columns of the documents: effects of a formula."""

from pysgrld.effects.answers import Effect, Effects, effect

__all__ = ["Effect", "Effects", "effect"]
