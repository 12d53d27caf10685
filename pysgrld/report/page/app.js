// The header of the page, the way from an address to a page, the search, keys, the theme, and printing.

/** Pages by the first word of their address, each with the function that makes it and the name of its view. */
const PAGES = new Map(VIEWS.flatMap(({ pages, name }) => Object.entries(pages).map(([word, make]) => [word, { make, name }])));

// ---- from an address to a page

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav.pages", { "aria-label": "pages" }, VIEWS.map(({ head, name }) => h("a", { href: `#${name}`, "data-page": name }, head)));
const scrolls = new Map();
let turn = 0, current = null, back = false, at = placeOf(location.hash);

/** Returns an address without the choices that a person made on its page. */
function placeOf(hash) {
  return hash.split("?")[0];
}

async function render() {
  const mine = ++turn;
  const { page, rest, view } = address();
  if (view) readView(view);
  const place = placeOf(location.hash);
  const { make, name } = PAGES.get(page) ?? {};
  const made = make ? await make(rest) : nothing(`This report has no page “${shown(page)}”.`);
  // An address that has changed meanwhile has its own hashchange, which is still queued.
  if (mine !== turn || place !== placeOf(location.hash)) return;
  show(made);
  document.title = made.title === report.title ? shown(report.title) : `${shown(made.title)} · ${shown(report.title)}`;
  for (const link of nav.children) link.toggleAttribute("aria-current", link.dataset.page === name);
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (document.activeElement === document.body && current) main.focus({ preventScroll: true });
  scrollTo(0, back ? scrolls.get(place) ?? 0 : 0);
  if (!back) main.querySelector(".sought")?.scrollIntoView();
  history.replaceState({ seen: true }, "");
  current = made;
  back = false;
  document.body.dataset.ready = place || "#";
  keepView();
}

/** Shows the result of a view; if the list at the left is already there, it stays as it is. */
function show(made) {
  if (made.side && made.side === current?.side) {
    made.side.node.nextSibling.replaceWith(made.node);
  } else {
    main.replaceChildren(made.side ? h("div.split", made.side.node, made.node) : made.node);
  }
  made.side?.inView();
}

addEventListener("popstate", (event) => (back = event.state?.seen === true));
addEventListener("hashchange", () => render());
addEventListener("scroll", () => scrolls.set(at, scrollY), { passive: true });
addEventListener("hashchange", () => (at = placeOf(location.hash)));
addEventListener("named", () => render());

// ---- search

const hits = h("ul.hits", { id: "hits", role: "listbox", "aria-label": "found", hidden: true });
const asked = h("input", {
  type: "text", role: "combobox", placeholder: `Find ${A_NOUN}, ${TOPIC} or word`, "aria-label": `find a word, a ${TOPIC} or ${A_NOUN}`, "aria-controls": "hits",
  "aria-expanded": "false", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", input: find, focus: find, keydown: searchKey,
  blur: () => setTimeout(close, 150),
});

async function find() {
  const text = asked.value.trim().toLowerCase();
  current?.seek?.(text);
  if (text === "") return close();
  const words = await foundWords(text);
  const found = [...words.filter((w) => w.whole), ...foundTopics(text), ...words.filter((w) => !w.whole), ...foundDocs(text)];
  tell(text, found);
  for (const search of SEARCHES) tell(text, [...found, ...(await search(text))]);
}

function tell(text, found) {
  if (asked.value.trim().toLowerCase() !== text) return;
  hits.replaceChildren(...(found.length ? found.map(hit) : [h("li.none", { role: "option", "aria-disabled": "true" }, report.docs && !report.folder && report.docs.row.length < report.docs.of ? `not found; this page has ${count(report.docs.row.length)} of ${plural(report.docs.of, report.noun)}` : "nothing found")]));
  hits.hidden = false;
  asked.setAttribute("aria-expanded", "true");
  point(0);
}

function foundTopics(text) {
  const number = text.replace(`${TOPIC} `, "");
  const some = report.topics.filter((t) => String(t.id) === number || `${nameOf(t)} ${t.top.slice(0, 3).map(visible).join(" ")}`.toLowerCase().includes(text));
  return some.slice(0, 4).map((t) => ({ href: topicAddress(t.id), kind: `${TOPIC} ${t.id}`, name: [dot(t), bdi(nameOf(t))] }));
}

/** Finds words that equal the text, begin with it, or contain it: in this order, and frequent words first. */
async function foundWords(text) {
  const list = await searchable();
  const ranks = [[], [], []];
  for (let i = 0; i < list.length && ranks[1].length < 8; i++) {
    const where = list[i].indexOf(text);
    if (where >= 0) ranks[list[i].length === text.length ? 0 : where === 0 ? 1 : 2].push(i);
  }
  const words = await vocabulary();
  return ranks.flat().slice(0, 7).map((i) => ({ whole: list[i] === text, href: wordAddress(words.list[i]), kind: plural(words.count[i], ["use", "uses"]), name: bdi(words.list[i]) }));
}

function foundDocs(text) {
  const found = [];
  const n = report.docs?.title.length ?? 0;
  for (let i = 0; i < n && found.length < 4; i++) {
    if (visible(docTitle(i)).toLowerCase().includes(text)) found.push({ href: docAddress(i), kind: NOUN, name: bdi(docTitle(i)) });
  }
  return found;
}

function hit({ href, kind, name }, i) {
  return h("li", { role: "option", id: `hit-${i}`, "data-href": href, mousedown: (event) => event.preventDefault(), click: () => go(href) }, h("span.cut", name), h("small", kind));
}

function point(i) {
  const all = [...hits.children];
  all.forEach((node, j) => node.setAttribute("aria-selected", String(i === j)));
  all[i]?.scrollIntoView({ block: "nearest" });
  if (all[i]?.id) asked.setAttribute("aria-activedescendant", all[i].id);
}

function searchKey(event) {
  const all = [...hits.children];
  const here = all.findIndex((node) => node.getAttribute("aria-selected") === "true");
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && all.length) {
    event.preventDefault();
    point((here + by + all.length) % all.length);
  } else if (event.key === "Enter" && !hits.hidden && all[here]?.dataset.href) {
    go(all[here].dataset.href);
  } else if (event.key === "Escape") {
    close();
    asked.blur();
  }
}

function go(href) {
  location.hash = href;
  asked.value = "";
  current?.seek?.("");
  close();
  asked.blur();
}

function close() {
  hits.hidden = true;
  asked.setAttribute("aria-expanded", "false");
  asked.removeAttribute("aria-activedescendant");
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  if (event.key === "/") {
    event.preventDefault();
    asked.focus();
    asked.select();
  }
  const by = { j: "next", k: "previous" }[event.key];
  const link = by && main.querySelector(`.steps a[data-step="${by}"]`);
  if (link) location.hash = link.getAttribute("href");
});

addEventListener("themed", () => render());

// ---- paper

const paper = h("section.paper");

/** Prepares the page for printing: a light theme, fields of cells as vectors, and a table of all topics after the open page. */
function toPaper() {
  Object.assign(dataset, { screen: dataset.theme, theme: "light", paper: "" });
  for (const place of document.querySelectorAll(".drawn")) drawers.get(place)(PAPER);
  const withDocs = report.docs && report.topics.some((t) => t.rep?.length);
  const row = (t) => h("tr", hued(t), numeral(t.id), rowHead(dot(t), " ", report.topics.some((one) => MARKS_BACK[one.trust?.state]) && `${MARKS_BACK[t.trust?.state]?.[0] ?? ""} `, bdi(nameOf(t))),
    numeral(t.weight ? percent(t.weight[0], shareDigits) : count(t.documents ?? 0)), h("td", spaced(t.top)),
    withDocs && h("td", t.rep.slice(0, 2).map((i, at) => [at ? "; " : "", bdi(short(docTitle(i), 60))])));
  const head = ["no.", TOPIC, report.topics[0]?.weight ? weightName.toLowerCase() : NOUNS, "words", ...(withDocs ? [NOUNS] : [])].map((text) => colHead(text));
  paper.replaceChildren(h("h2", `All ${TOPICS}`), table(null, head, report.topics.map(row)));
}

function fromPaper() {
  dataset.theme = dataset.screen;
  delete dataset.paper;
  paper.replaceChildren();
  render();
}

addEventListener("beforeprint", toPaper);
addEventListener("afterprint", fromPaper);

// ---- copying a link to the open page

async function copyLink({ currentTarget: button }) {
  try {
    await navigator.clipboard.writeText(location.href);
    button.replaceChildren("copied");
  } catch {
    button.replaceChildren("not copied: take it from the address bar");
  }
  setTimeout(() => button.replaceChildren("copy link"), 2000);
}

// ---- start of the page

const header = h("header.top",
  h("a.brand", { href: "#overview" }, h("b.cut", h("bdi", shown(report.title))), h("span", plural(report.topics.length, report.topic))),
  nav, h("div.search", { role: "search" }, asked, h("kbd", UNREAD, "/"), hits), h("button.theme", { click: copyLink, title: "copy a link to this view" }, "copy link"), themeButton);
document.body.append(
  h("a", { class: "skip", href: "#main", click: (event) => { event.preventDefault(); main.focus(); } }, "to the page"),
  header, main, paper, h("footer", `made by sgmc ${report.sgmc}; nothing is loaded from elsewhere`),
);
// If the names of the views do not fit next to the title and the search, they get a row of their own.
new ResizeObserver(() => {
  header.classList.remove("high");
  const high = nav.scrollWidth > nav.clientWidth;
  header.classList.toggle("high", high);
  main.classList.toggle("lower", high);
}).observe(header);
render();
