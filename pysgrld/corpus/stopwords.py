"""Stop words: words that say how a sentence is built and not what it is about.

Closed classes only (articles, pronouns, prepositions, conjunctions, auxiliaries, a few adverbs of
degree, time and place) and what contractions leave when they are cut at the apostrophe. Words like
"system" or "fire", which long lists elsewhere hold, are somebody's topic.
"""

from __future__ import annotations

_ENGLISH = """
the an this that these those such same other another others each every either neither both all any
some none no few fewer many more most much less least several enough own half
me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves one ones oneself
who whom whose which what whoever whichever whatever someone somebody something anyone anybody
anything everyone everybody everything nobody nothing noone
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought need cannot
about above across after against along alongside amid among amongst around as at before behind
below beneath beside besides between beyond but by concerning despite down during except for from
in inside into like near of off on onto out outside over past per regarding round since than
through throughout till to toward towards under underneath until up upon versus via with within
without
and or nor so yet if unless because although though while whilst whereas whether once lest
when whenever where wherever whence why how however hence thus therefore thereby therein thereof
thereafter whereby wherein whereupon hereby herein moreover furthermore nevertheless nonetheless
otherwise instead meanwhile
not never ever always often sometimes seldom usually already still just only even also too very
quite rather almost nearly again then there here now ago soon later indeed perhaps maybe else
elsewhere everywhere somewhere anywhere nowhere together apart away back forth further well
somehow anyhow anyway somewhat merely mostly largely mainly namely especially actually really
simply particularly respectively etc eg ie
don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn needn mightn
shan ain ll ve re
dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt couldnt shouldnt cant
"""

#: The lists that have a name.
NAMED = {"english": frozenset(_ENGLISH.split())}
