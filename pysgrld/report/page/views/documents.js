// The page of a document, and texts whose words are tinted.

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
  return h("article.detail",
    h("header.detail-head", h("div.title", h("h1", h("bdi", shown(title)))), steps),
    h("p.about", about.map((one, at) => [at ? " · " : "", one])),
    strip(theta.map(([k, mean]) => [k, mean]), "tall"), h(reader ? "div.cols.doc" : "div", reader, thetaCard(theta, reader)));
}

function readerOf(content) {
  if (!content) return null;
  if (content.words) return card("Its words", `By count${content.words.length < 60 ? "" : ", the 60 most frequent"}; the tint is the ${TOPIC} that a word most likely has here, stronger the surer. The ${NOUNS}' texts were not kept.`, h("p.reader.counted", content.words.map(([word, n, k, sure]) =>
    [byId.has(k) ? tint(shown(word), k, sure / 100) : h("span", bdi(word)), n > 1 && h("small", `${NARROW}${n}`), "  "])));
  if (content.text === undefined) return null;
  const [before, after] = content.cut ?? [0, 0];
  const left = (n, where) => n > 0 && h("p.remark", `${count(n)} characters ${where} are left out.`);
  return card(null, null, left(before, "before"), h("div.reader", { dir: "auto", click: openWord }, tinted(content)), left(after, "after"),
    h("p.remark", `A word's tint is the ${TOPIC} that it most likely has here, stronger the surer; a click opens the word.`));
}

async function openWord(event) {
  const mark = event.target.closest("mark");
  if (!mark || !getSelection().isCollapsed) return;
  const word = folded(mark.textContent);
  if ((await vocabulary()).place.has(word)) location.hash = wordAddress(word);
}

/** Topics of a document; one that is chosen leaves its words alone in colour. */
function thetaCard(theta, reader) {
  const show = (button, id) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const other of button.closest("ul").querySelectorAll("button")) other.setAttribute("aria-pressed", String(on && other === button));
    for (const mark of reader.querySelectorAll("mark")) mark.classList.toggle("off", on && Number(mark.dataset.topic) !== id);
  };
  const name = (t) => reader ? h("button.pick", { "aria-pressed": "false", click: (event) => show(event.currentTarget, t.id) }, dot(t), cutBdi(nameOf(t))) : topicLink(t);
  const row = ([id, mean, low, high]) => byId.has(id) && h("li", hued(byId.get(id)), h("div.row", name(byId.get(id)),
    h("a.go", { href: topicAddress(id), "aria-label": `to ${nameOf(byId.get(id))}` }, "→")),
    h("div.row", bar({ mean, low, high }, 1), h("span.figure", shareOf(mean, low, high))));
  const remark = `${reader ? "Choose one to see its words alone. " : ""}${ofFirstChain().trim()}`;
  return card(`Its ${TOPICS}`, remark || null, h("ul.theta", theta.map(row)));
}

// ---- texts whose words are tinted

/** A stretch of a text, words tinted by their likeliest topic (or those of one alone), stronger the surer. */
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
  return h("mark.hue", { "--h": byId.get(id).hue, "--sure": sure.toFixed(2), "data-topic": id }, text);
}
