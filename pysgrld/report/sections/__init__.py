"""The sections of a run's page, in the order in which the page's menu lists them."""

from pysgrld.report.reported_run import Section
from pysgrld.report.sections.agreement import Agreement
from pysgrld.report.sections.components import ComponentsInUse
from pysgrld.report.sections.corpus import CorpusAtAGlance
from pysgrld.report.sections.documents import ShownDocuments
from pysgrld.report.sections.effects import EffectsOfColumns
from pysgrld.report.sections.groups import GroupShares
from pysgrld.report.sections.layers import Layers
from pysgrld.report.sections.map import TopicMap
from pysgrld.report.sections.method import RunMethod
from pysgrld.report.sections.predictions import PredictionsByLength
from pysgrld.report.sections.slices import TopicsInSlices
from pysgrld.report.sections.sure import HowSure
from pysgrld.report.sections.topics import TopicRecords
from pysgrld.report.sections.words import WordList

#: Sections by the names of their files in ``page/views``.
#: docs/internals/adding-a-section.md describes how to add one.
SECTIONS: dict[str, type[Section]] = {
    "corpus": CorpusAtAGlance,
    "topics": TopicRecords,
    "components": ComponentsInUse,
    "layers": Layers,
    "map": TopicMap,
    "words": WordList,
    "documents": ShownDocuments,
    "groups": GroupShares,
    "slices": TopicsInSlices,
    "effects": EffectsOfColumns,
    "sure": HowSure,
    "predictions": PredictionsByLength,
    "agreement": Agreement,
    "method": RunMethod,
}
