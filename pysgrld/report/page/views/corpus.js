// The first screen: the main topics of the documents, a map of all documents, and the list of topics.

view("Overview", { overview: corpusPage }, true);

const LISTED = 40, MANY = 14;
const MARKS_BACK = { again: ["●", "came back, and would again in 9 of 10 trainings"], partly: ["◐", "came back, but may not again"], alone: ["○", "hardly came back"] };

async function corpusPage() {
  const best = report.columns.length && isThere(report.best) ? report.columns[report.best] : null;
  const parts = best && (await block(`group-${report.best}`));
  const along = best ? null : report.along && (await block("along"));
  const touched = matchMedia("(hover: none)").matches, squares = best && !best.ordered && innerWidth > 620;
  const say = readout(report.dots?.map ? `${touched ? "Touch" : "Point at"} a dot${squares ? `, a ${TOPIC} or a square` : touched ? "" : ` or a ${TOPIC}`}. ${touched ? `Touch a dot twice to read its ${NOUN}; + enlarges the map.` : `Click a dot to read its ${NOUN}. Enlarge the map by +, then drag it.`}` : "");
  const map = report.dots?.map && dotMap({ tell: tellDot, open: openDot, say });
  const intro = h("div.glance", h("h1", headline()), h("p.lead", sentences()), report.layer && h("p.remark", `The ${TOPICS} of layer ${report.layer.at} of ${report.layer.of}.`));
  const list = subjects({ best, parts, along, map, say });
  const stage = map && mapCard(map, say, best);
  const node = h(map ? `div.first${best?.levels.length > MANY ? ".many" : ""}` : "div.first.alone", intro, list, stage || (report.missing.length > 0 && missingLines()));
  return { title: report.title, node, seek: map && ((text) => map.light({ text })) };
}

// ---- the main result in words

/** The number of documents, and the largest topics by the same share as the list of topics; no line begins with a comma. */
function headline() {
  const n = report.dots?.of ?? report.docs?.of ?? null;
  const first = sorted(report.topics, (t) => t.weight?.[0] ?? t.documents, false).slice(0, 3).map(briefName);
  const documents = n === null ? "" : `${plural(n, report.noun)}; `;
  return [capital(`${documents}the largest ${TOPICS}: `), first.map((name, i) => [i === 0 ? "" : i === first.length - 1 ? " and " : " ", h("bdi", shown(name), i < first.length - 2 && ",")])];
}

function sentences() {
  const { dots, topics } = report;
  const largest = sorted(topics, (t) => t.weight?.[0] ?? t.documents, false)[0];
  const [share, low, high] = largest.weight ?? [];
  const first = [dots ? "They share " : "There are ", bold(plural(topics.length, report.topic)), isThere(share) && [`; the largest, `, bold(h("bdi", nameOf(largest), ",")), " has ", bold(percent(share, 1)),
    `${NARROW}of all ${mixture ? NOUNS : "words"}`, isThere(low) && [" ", h("bdi", `(${between(low, high, 1)})`)]], ". "];
  const sure = dots && [" ", bold(count(dots.sure)), ` of ${dots.drawn < dots.of ? `${count(dots.drawn)} evenly spaced ` : `the ${count(dots.drawn)} `}${NOUNS} are ${dots.intervals ? "surely " : ""}more than half about one ${TOPIC}`,
    dots.map ? `; the others, pale on the map, are ${dots.intervals ? "too short or too mixed to say" : "more mixed"}.` : "."];
  return [first, recurrence(), sure];
}

/** A sentence on how many topics another training would find again. */
function recurrence() {
  const states = report.topics.map((t) => t.trust?.state).filter((state) => state && state !== "once");
  if (!states.length) return [`Trained once: whether these ${TOPICS} come back is not known`, " (", h("a", { href: "#sure" }, "how sure?"), ")."];
  const n = (kind) => states.filter((state) => state === kind).length;
  const chains = report.topics.find((t) => t.found)?.found[1] ?? report.chains?.count ?? 2;
  const phrase = (kind, text) => n(kind) > 0 && [bold(count(n(kind))), " ", text];
  const told = [phrase("again", `came back, and would again in 9 of 10 trainings${NARROW}●`), phrase("partly", `came back, but may not again${NARROW}◐`), phrase("alone", `hardly came back: do not rely on them${NARROW}○`)].filter(Boolean);
  return [`Trained ${report.replicates ? `again on ${count(chains)} halves of the ${NOUNS}` : chains === 2 ? "twice" : `${count(chains)} times`}: of ${count(states.length)} ${TOPICS} `, told.map((text, i) => [i ? (i === told.length - 1 ? ", and " : ", ") : "", text]), "."];
}

// ---- the map

function mapCard(map, say, best) {
  const { dots } = report;
  const button = (text, name, click) => h("button.small", { click, "aria-label": name, title: name }, text);
  const tools = h("div.dot-tools", button("+", "larger", () => map.zoom(1.6)), button("−", "smaller", () => map.zoom(1 / 1.6)), button("all", `show all ${NOUNS}`, () => map.zoom(0)));
  const true10 = Math.round(dots.map.kept * dots.map.neighbours);
  const sample = dots.documents < dots.of ? ` The map shows ${count(dots.documents)} evenly spaced ${NOUNS} of ${count(dots.of)}.` : "";
  const placed = dots.beside ? ` ${count(dots.laid_out)} evenly spaced ${NOUNS} are laid out; each other ${NOUN} is placed between the three of these that are most similar to it.` : "";
  const drawn = dots.drawn < dots.documents && dots.intervals ? ` Only ${count(dots.drawn)} ${NOUNS} have intervals; the other dots are as pale as those of similar length and share.` : "";
  return h("section.card.dot-card", map.stage, tools, say,
    h("p.remark", `Each dot is ${A_NOUN}. Near dots have similar ${TOPICS}: ${true10} of ${dots.map.neighbours} neighbours here are true neighbours. A dot is opaque if the ${NOUN} is ${dots.intervals ? "surely " : ""}more than half about one ${TOPIC}.${sample}${placed}${drawn}`));
}

async function tellDot(dots, i, say) {
  if (i < 0) return;
  const topic = byId.get(dots.topic[i]), [mean, low, high] = [dots.mean[i], dots.low[i], dots.high[i]].map(ofShare8);
  const share = topic && [" ", topicLink(topic), ` ${percent(mean)}${report.dots.intervals && (dots.own?.[i] ?? 1) ? ` (${between(low, high, 0)})` : ""}. `];
  say.replaceChildren(...[bold(bdi(await dotName(dots, i))), share, await firstWords(dots, i)].flat(2).filter(Boolean));
}

/** Returns the name of a document on the map, from the page or from a file next to the page. */
async function dotName(dots, i) {
  return dots.names[i] ?? (await titleOf(dots.row[i]));
}

/** Returns the first words of a document that is on the page and has a text. */
async function firstWords(dots, i) {
  const at = dots.place.get(dots.row[i]);
  if (at === undefined) return report.folder ? [] : [`This ${NOUN} is not on the page; it is number ${count(dots.row[i] + 1)} in the corpus.`];
  const text = (await contents())[at]?.text;
  const seen = text ? running(text).replace(/\s+/g, " ").slice(0, 160) : "";
  return seen && !seen.startsWith(dots.names[i].replace(/…$/, "")) ? [h("bdi.said", `${seen}…`)] : [];
}

function openDot(dots, i) {
  const at = dots.place.get(dots.row[i]);
  if (at !== undefined) visit(docAddress(at));
  else if (report.folder) visit(rowAddress(dots.row[i]));
}

// ---- the topics

function subjects({ best, parts, along, map, say }) {
  const matrix = best && !best.ordered && parts, axis = best?.ordered ? parts : along;
  const place = h("div");
  const all = report.order.length ? report.order.map((id) => byId.get(id)).filter(Boolean) : report.topics;
  const orders = { likeness: () => all, share: () => report.topics, name: () => sorted(report.topics, nameOf, true) };
  const top = Math.max(...report.topics.map((t) => t.weight?.[2] ?? t.weight?.[0] ?? 0), 1e-9);
  const state = { every: false };
  const levels = matrix ? best.levels.length : 0;
  const known = report.topics.some((t) => MARKS_BACK[t.trust?.state]);
  const spans = best?.levels ?? report.along?.starts ?? report.along?.bins ?? [];
  const overTime = (id) => shares(axis, "mean", id, spans.length);
  // all lines have one scale
  const highest = axis ? Math.max(...all.flatMap((t) => overTime(t.id)), 1e-9) : 1;
  const light = (topic) => map?.light({ topic });
  const row = (t) => {
    const mark = known ? MARKS_BACK[t.trust?.state] ?? ["·", "not known"] : ["●", null];
    return h("a", { ...hued(t, "subject"), href: topicAddress(t.id), pointerenter: () => { light(t.id); tellSubject(t, say); }, pointerleave: () => light(null), focus: () => { light(t.id); tellSubject(t, say); }, blur: () => light(null) },
      h("span.back", known ? { title: mark[1] } : UNREAD, mark[0], mark[1] && h("span.unseen", ` ${mark[1]}: `)), h("span.cut", bdi((levels > MANY && innerWidth < 1400) || innerWidth < 480 ? briefName(t) : nameOf(t))),
      t.weight ? bar({ mean: t.weight[0], low: t.weight[1], high: t.weight[2] }, top) : h("span"),
      h("span.figure", t.weight ? percent(t.weight[0], 1) : t.documents && count(t.documents)),
      matrix && h("span.squares", UNREAD, best.levels.map((_, level) => square(t, parts, best, level, say))),
      axis && h("span.over", UNREAD, spark(overTime(t.id), 120, 22, highest)));
  };
  const draw = () => {
    const some = (orders[chosen.order] ?? orders.likeness)().filter((t) => !t.hardly || state.every), few = report.topics.filter((t) => t.hardly).length;
    const shownRows = state.every ? some : some.slice(0, LISTED);
    place.replaceChildren(h("div.subjects", matrix && heads(best, choose), axis && h("div.ends", UNREAD, h("span", short(spans[0] ?? "", 14)), h("span", short(spans.at(-1) ?? "", 14))), shownRows.map(row)),
      some.length > shownRows.length || (few && !state.every) ? more(some.length > shownRows.length ? `${plural(some.length - shownRows.length, report.topic)} more` : `show ${count(few)} of hardly any share`, () => { state.every = true; draw(); }) : "");
  };
  const choose = (level) => { chosen.level = level === "" ? null : Number(level); map?.light({ level: chosen.level }); filter?.replaceWith((filter = chooser())); draw(); };
  const chooser = () => choice(`${NOUNS} on the map`, [["", `all ${NOUNS}`], ...best.levels.map((text, i) => [i, short(text, 40)])], chosen.level ?? "", choose);
  let filter = matrix && map ? chooser() : null;
  const order = choice("order", [["likeness", "by likeness"], ["share", "by share"], ["name", "by name"]], chosen.order, (value) => { chosen.order = value; draw(); });
  draw();
  if (matrix) map?.light({ level: chosen.level });
  const key = [known ? `${Object.values(MARKS_BACK).map((mark) => mark.join(" ")).join("; ")}. ` : "", shareInterval() ? "Bar and bracket: share of all words and its 90 % interval. " : "Bar: share of all words. ",
    matrix ? h("span.wide-only", `A square is coloured if the ${TOPIC} ${shareInterval() ? "surely " : ""}has a greater share of these ${NOUNS} than of the others; a darker square is a greater share.`) : "", axis ? h("span.wide-only", `Curve: the ${TOPIC}'s share `, bdi(best ? `by ${best.name}` : report.along.title), `, on one scale for all ${TOPICS}.`) : ""];
  return h("section.card.subjects-card", { "--levels": levels, "--square": `${levels > 22 ? 9 : levels > MANY ? 12 : 18}px`, "--bar": levels > MANY ? "50px" : null, "--name": levels > MANY ? "90px" : null }, h("div.card-head", h("h2", capital(TOPICS), matrix && h("small", "by ", bdi(best.name))), h("div.pickers", filter, order)), place, h("p.remark", key));
}

function heads(best, choose) {
  return h("div.heads", UNREAD, best.levels.map((text, level) => h("span", { class: level === chosen.level ? "on" : null, title: `${shown(text)}: ${plural(best.documents[level], report.noun)}`, click: () => choose(level === chosen.level ? "" : level) }, bdi(text))));
}

function square(t, parts, best, level, say) {
  const cell = groupCell(parts, best.levels.length, t.id, level);
  const on = shareInterval() ? cell.sure > 0 : cell.mean > cell.usual;
  const tell = (event) => { event.stopPropagation(); say.replaceChildren(topicLink(t), " in ", bold(bdi(best.levels[level])), `: ${percent(cell.mean, 1)}${within(cell.low, cell.high)} of the average ${NOUN}; everywhere ${percent(cell.usual, 1)}.`); };
  return h("i", { "--a": on ? (0.18 + 0.82 * Math.min(1, Math.sqrt(cell.mean / 0.5))).toFixed(2) : "0", pointerover: tell });
}

function tellSubject(t, say) {
  const [, back] = MARKS_BACK[t.trust?.state] ?? [];
  say.replaceChildren(bold(bdi(nameOf(t))), t.weight ? ` ${percent(t.weight[0], 1)} of all words${within(t.weight[1], t.weight[2])}. ` : " ", ...spaced(t.top).flat(), back ? ` ${capital(back)}.` : "");
}
