// The page of a document, and texts with words in the colours of topics.

view(capital(NOUNS), { documents: docPage, doc: docPage }, report.docs);

async function docPage(rest) {
  const { docs } = report;
  const i = rest === "" ? 0 : Number(rest);
  if (!Number.isInteger(i) || i < 0 || i >= docs.row.length) return nothing(`There is no ${NOUN} ${shown(rest)} on this page; it has ${plural(docs.row.length, report.noun)} of ${count(docs.of)}.`);
  const list = side("docs");
  list.mark(i);
  const content = (await contents())[i];
  const theta = content?.theta ?? pairs2(docs.main[i]).map(([k, share]) => [k, share, null, null]);
  const of = { title: docs.title[i], id: docs.id[i], tokens: docs.tokens[i], held: docs.held[i], row: docs.row[i], theta };
  return { title: docTitle(i), node: docArticle(of, content, beside(list, docAddress)), side: list };
}

function docArticle({ title, id, tokens, held, row, theta }, content, steps) {
  const place = `number ${count(row + 1)} of ${count(report.docs.of)} in the corpus`;
  const about = [plural(tokens, ["word", "words"]), held ? "held out: not trained on" : null, id !== title ? ["id ", bdi(id)] : null, report.folder ? h("a", { href: rowAddress(row) }, place) : place].filter(Boolean);
  const reader = readerOf(content);
  const like = h("div");
  likeThis(theta, row).then((found) => found && like.append(found));
  return h("article.detail",
    h("header.detail-head", h("div.title", h("h1", h("bdi", shown(title)))), steps),
    h("p.about", about.map((one, at) => [at ? " · " : "", one])),
    strip(theta, "tall"), isTooShort(theta) && h("p.remark", `Too short or too mixed to say which ${TOPICS} it is about: no share is surely ${percent(SAID)} or more.`),
    h(reader ? "div.cols.doc" : "div", reader, h("div.stack", thetaCard(theta, reader), like)));
}

/** Minimum share at which a document surely is about a topic. */
const SAID = 0.1;
const isTooShort = (theta) => theta.length > 0 && theta.every(([, , low]) => isThere(low) && low < SAID);

/** Finds documents of the page with the most similar proportions, by the sum of the square roots of products. */
async function likeThis(theta, row) {
  const root = new Map(theta.map(([k, mean]) => [k, Math.sqrt(mean)]));
  const all = (await contents()).map(({ theta: other }, i) => [i, other.reduce((sum, [k, mean]) => sum + (root.get(k) ?? 0) * Math.sqrt(mean), 0)]);
  const near = sorted(all.filter(([i]) => report.docs.row[i] !== row), ([, affinity]) => affinity, false).slice(0, 5);
  const remark = report.docs.row.length < report.docs.of ? `Compared with the ${count(report.docs.row.length)} ${NOUNS} on this page.` : null;
  return near.length > 0 && card(`${capital(NOUNS)} like this one`, remark, h("ul.near", near.map(([i]) => h("li", h("a.cut", { href: docAddress(i) }, bdi(docTitle(i))), strip(pairs2(report.docs.main[i]), "mini")))));
}

function readerOf(content) {
  if (!content) return null;
  if (content.words) return card("Its words", `By count${content.words.length < 60 ? "" : ", the 60 most frequent"}. The tint of a word is its likeliest ${TOPIC} here; a stronger tint is more certain. The ${NOUNS}' texts were not kept.`, h("div.reader.counted", reachable("Its words, by count"), content.words.map(([word, n, k, sure]) =>
    [byId.has(k) ? tint(shown(word), k, sure / 100) : h("span", bdi(word)), n > 1 && h("small", `${NARROW}${n}`), "  "])));
  if (content.text === undefined) return null;
  const [before, after] = content.cut ?? [0, 0];
  const left = (n, where) => n > 0 && h("p.remark", `${count(n)} characters ${where} are left out.`);
  const say = readout("Point at a word, or move with the arrow keys, for its topic.");
  const text = h("div.reader", { ...reachable("Text. Arrow keys move from word to word, Enter opens the word."), dir: "auto", click: openWord }, tinted(content));
  const tell = (mark) => {
    text.querySelector(".at")?.classList.remove("at");
    mark.classList.add("at");
    say.replaceChildren(bold(bdi(mark.textContent)), " ", topicLink(byId.get(Number(mark.dataset.topic))), ` ${percent(Number(mark.dataset.sure))} sure`);
  };
  text.addEventListener("pointerover", (event) => event.target.closest("mark") && tell(event.target.closest("mark")));
  text.addEventListener("keydown", (event) => {
    const all = [...text.querySelectorAll("mark:not(.off)")], at = all.findIndex((mark) => mark.classList.contains("at"));
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && at >= 0) all[at].click();
    if (!by || !all.length) return;
    event.preventDefault();
    const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
    tell(next);
    next.scrollIntoView({ block: "nearest" });
  });
  return card(null, null, left(before, "before"), text, left(after, "after"), say,
    h("p.remark", `Tint and underline show the likeliest ${TOPIC} of a word here; stronger ones are more certain. Words without a tint are not in the model: stop words, numbers, rare words.`));
}

async function openWord(event) {
  const mark = event.target.closest("mark");
  if (!mark || !getSelection().isCollapsed) return;
  const word = folded(mark.textContent);
  if ((await vocabulary()).place.has(word)) location.hash = wordAddress(word);
}

/** The topics of a document; if one is chosen, only its words keep their colour. */
function thetaCard(theta, reader) {
  const picks = new Map();
  const show = () => {
    const one = picks.has(chosen.pick) ? chosen.pick : null;
    for (const [id, button] of picks) button.setAttribute("aria-pressed", String(id === one));
    for (const mark of reader.querySelectorAll("mark")) mark.classList.toggle("off", one !== null && Number(mark.dataset.topic) !== one);
  };
  const name = (t) => {
    if (!reader) return topicLink(t);
    picks.set(t.id, h("button.pick", { click: () => { chosen.pick = chosen.pick === t.id ? null : t.id; show(); } }, dot(t), cutBdi(nameOf(t))));
    return picks.get(t.id);
  };
  const row = ([id, mean, low, high]) => byId.has(id) && h("li", hued(byId.get(id)), h("div.row", name(byId.get(id)),
    h("a.go", { href: topicAddress(id), "aria-label": `to ${nameOf(byId.get(id))}` }, "→")),
    h("div.row", bar({ mean, low, high }, 1), h("span.figure", shareOf(mean, low, high))));
  const remark = `${reader ? "Choose one to see its words alone. " : ""}${ofFirstChain().trim()}`;
  const made = card(`Its ${TOPICS}`, remark || null, h("ul.theta", theta.map(row)));
  if (reader) show();
  return made;
}

// ---- texts with words in the colours of topics

/** A part of a text, with words in the colour of their likeliest topic (or of one topic only), stronger for a surer topic. */
function tinted(content, from = 0, to = content.text.length, only = null) {
  const nodes = [];
  let at = from;
  eachSpan(content.spans, (start, end, id, sure) => {
    if (end <= from || start >= to || start < at || (only !== null && id !== only) || !byId.has(id)) return;
    nodes.push(running(content.text.slice(at, start)), tint(running(content.text.slice(start, end)), id, sure));
    at = end;
  });
  nodes.push(running(content.text.slice(at, to)));
  return nodes;
}

function eachSpan(spans, tell) {
  let at = 0;
  for (let i = 0; i + 3 < spans.length; i += 4) {
    const start = at + spans[i];
    at = start + spans[i + 1];
    tell(start, at, spans[i + 2], spans[i + 3] / 100);
  }
}

function tint(text, id, sure) {
  return h("mark.hue", { "--h": byId.get(id).hue, "--sure": sure.toFixed(2), "data-sure": sure, "data-topic": id }, text);
}
