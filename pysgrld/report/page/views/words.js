// The page of a word, and the list of words.

view("Words", { words: wordPage, word: wordPage }, "words" in report.blocks);

async function wordPage(rest) {
  const words = await vocabulary();
  const place = words.place.get(rest);
  const ask = wordAsk(words, rest);
  if (rest === "") return { title: "Words", node: h("div.stack", ask, frequentCards(words)) };
  if (place === undefined) return { title: "Words", node: h("div.stack", ask, card("Not among the words of this page", `It has the ${count(words.list.length)} most frequent of ${count(report.words_total)} words, spelt as the corpus was read.`), frequentCards(words)) };
  const [topics, found] = await Promise.all([itsTopics(words, place), itsLines(words, place)]);
  return { title: shown(rest), node: h("div.stack", ask, h("div.cols.word", topics, found)) };
}

function wordAsk(words, value) {
  const seen = value === "" ? "" : visible(value);
  const input = h("input.ask", { value: seen, placeholder: "a word", "aria-label": "word", spellcheck: "false", autocomplete: "off" });
  const submit = async (event) => {
    event.preventDefault();
    const text = input.value.trim().toLowerCase();
    const place = (await searchable()).indexOf(text);
    location.hash = wordAddress(place >= 0 ? words.list[place] : input.value.trim());
  };
  return h("form.asking", { submit }, h("h1", h("label", `In which ${TOPICS} is …`, input)));
}

async function itsTopics(words, place) {
  if (directions) return itsDirections(words, place);
  const all = topicsOfWord(words, place);
  const terms = await Promise.all(all.map(([id]) => termsOf(id)));
  const others = Math.max(0, 1 - all.reduce((sum, [, share]) => sum + share, 0));
  const row = ([id, share], i) => {
    const t = byId.get(id), term = terms[i].find((one) => one.place === place);
    return h("tr", hued(t), rowHead(topicLink(t)), wideCell(bar({ mean: share }, 1)), numeral(bold(percent(share))),
      faint(term ? percent(term.mean, 2) : "–"), faint(term && term.rank <= 30 ? `no. ${term.rank}` : "after 30"), t.found && faint(t.found.join(" of ")));
  };
  const head = [colHead(TOPIC), colHead("share of its uses", null, 2), colHead(`in the ${TOPIC}`, "figure"), colHead("rank there", "figure"), all.length > 0 && byId.get(all[0][0]).found && colHead("came back", "figure")];
  const rest = all.length > 0 && others > 0.005 && h("tr.others-row", rowHead("all others"), wideCell(bar({ mean: others }, 1, "grey")), numeral(percent(others)), h("td"), h("td"));
  const body = all.length ? table("its-topics", head, [all.map(row), rest]) : h("p", `No ${TOPIC} has as much as 4 % of its uses.`);
  return card(`Its ${TOPICS}`, usesOf(words, place), body);
}

function usesOf(words, place) {
  return report.words_tokens && [bold(count(words.count[place])), " uses of “", bdi(words.list[place]), `” in the ${isThere(report.words_of) ? `${count(report.words_of)} training ${NOUNS}` : "corpus"}`];
}

/** The directions with a word among their greatest entries; a word's uses are not divided among directions. */
async function itsDirections(words, place) {
  const lists = await Promise.all(report.topics.map((t) => termsOf(t.id)));
  const found = report.topics.map((t, i) => [t, lists[i].find((term) => term.place === place)]).filter(([, term]) => term);
  const all = sorted(found, ([, term]) => term.mean, false);
  const top = Math.max(...all.map(([, term]) => Math.abs(term.high))) || 1;
  const row = ([t, term]) => h("tr", hued(t), rowHead(topicLink(t)), wideCell(bar(term, top)), numeral(bold(fixed(term.mean, 3))), faint(term.mean > 0 ? `no. ${term.rank}` : "away"));
  const head = [colHead(TOPIC), colHead("entry of the direction", null, 2), colHead("rank there", "figure")];
  return card(`Its ${TOPICS}`, usesOf(words, place), all.length ? table("its-topics", head, all.map(row)) : h("p", `It is not among the greatest entries of any ${TOPIC}.`));
}

/** Lines of texts with a word, grouped by the word's topic in each line, the surest first. */
async function itsLines(words, place) {
  if (!report.docs || report.texts === "none") return null;
  const word = words.list[place];
  const all = await contents();
  if (report.texts !== "kept") return itsDocuments(word, all);
  const found = linesOf(word, all);
  const topics = [...new Set(found.map((line) => line.topic))].map((id) => [id, found.filter((line) => line.topic === id)]).sort((a, b) => b[1].length - a[1].length);
  const most = innerWidth > 620 ? Math.max(4, Math.floor(12 / topics.length)) : 4;
  const body = topics.slice(0, 8).map(([id, lines]) => h("div.lines", h("h3", topicLink(byId.get(id)), h("small", plural(lines.length, ["use", "uses"]))),
    lines.sort((a, b) => b.sure - a.sure).filter(firstOf).slice(0, most).map((line) => lineOf(line, all))));
  return card("Where it is used", found.length ? `Passages of the texts on this page${report.docs.held.some(Boolean) ? ", held-out texts included" : ""}, by the ${TOPIC} of the word there; the most certain come first.` : "No text on this page has it.", body);
}

const firstOf = (line, i, lines) => lines.findIndex((other) => other.doc === line.doc) === i;

function linesOf(word, all) {
  const found = [];
  all.forEach((content, doc) => {
    if (!content.text) return;
    eachSpan(content.spans, (start, end, topic, sure) => {
      if (byId.has(topic) && folded(content.text.slice(start, end)) === word) found.push({ doc, start, end, topic, sure });
    });
  });
  return found;
}

function lineOf({ doc, start, end, topic, sure }, all) {
  const { text } = all[doc];
  const flat = (from, to) => running(text.slice(Math.max(0, from), to)).replace(/\s+/g, " ");
  return h("div.line", h("span.before", h("bdi", flat(start - 60, start))), tint(running(text.slice(start, end)), topic, sure),
    h("span.after", h("bdi", flat(end, end + 60))), h("a.cut", { href: docAddress(doc) }, bdi(docTitle(doc))));
}

function itsDocuments(word, all) {
  const found = all.map((content, doc) => [doc, content.words?.find(([w]) => w === word)]).filter(([, entry]) => entry).sort((a, b) => b[1][1] - a[1][1]).slice(0, innerWidth > 620 ? 20 : 10);
  const row = ([doc, [, n, topic]]) => h("tr", rowHead(h("a.cut", { href: docAddress(doc) }, bdi(docTitle(doc)))), numeral(`${count(n)} ×`), h("td", byId.has(topic) && topicLink(byId.get(topic))));
  return card(`${capital(NOUNS)} that have it`, found.length ? `Of the ${NOUNS} on this page, with the likeliest ${TOPIC} of the word there; the most uses come first.` : `No ${NOUN} on this page has it.`, found.length > 0 && table("its-topics", null, found.map(row)));
}

function frequentCards(words) {
  if (directions) return frequentAlone(words);
  const some = Array.from({ length: Math.min(4000, words.list.length) }, (_, place) => [place, topicsOfWord(words, place)]);
  const shared = some.filter(([, topics]) => topics.length > 1 && topics[1][1] >= 0.3).slice(0, 30);
  const row = ([place, topics]) => h("tr", rowHead(h("span.cut", wordLink(words.list[place]))), faint(count(words.count[place])), wideCell(strip(topics)),
    h("td.lead-topic", topics.slice(0, 1).map(([id]) => topicLink(byId.get(id), "", briefName))));
  const listed = (list) => table("frequent", [colHead("word"), colHead("uses", "figure"), colHead(TOPICS), colHead("most in", "lead-topic")], list.map(row));
  return h("div.cols.even", card("Frequent words", `How their uses are divided among ${TOPICS}.`, listed(some.slice(0, 30))), shared.length > 0 && card(`Frequent words of two ${TOPICS}`, `The second ${TOPIC} has at least 30 % of the word's uses.`, listed(shared)));
}

/** The frequent words, for models that do not divide the uses of a word among topics. */
function frequentAlone(words) {
  const row = (word, place) => h("li", wordLink(word), h("small", count(words.count[place])));
  return card("Frequent words", `With their numbers of uses. Select a word to see which ${TOPICS} point towards it.`, h("ul.frequent-alone", words.list.slice(0, 90).map(row)));
}
