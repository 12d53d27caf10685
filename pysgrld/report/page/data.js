"use strict";
// The data of a report's pages: blocks of numbers, words, topics and their names, documents, addresses, and the list of views.

// ---- blocks, which are decompressed when they are first needed

const KINDS = { u8: Uint8Array, i8: Int8Array, u16: Uint16Array, u32: Uint32Array };
const inflated = new Map();
/** Blocks of the first view, which precede this script; the browser may still be reading the other blocks. */
const early = new Set([...document.querySelectorAll("script[id^=b-]")].map((element) => element.id));

/** Returns the parts of a block by name, or null if the page has no block of this name. */
function block(name) {
  if (!Object.hasOwn(report.blocks, name)) return Promise.resolve(null);
  if (!inflated.has(name)) inflated.set(name, inflate(name));
  return inflated.get(name);
}

async function inflate(name) {
  if (!early.has(`b-${name}`) && document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done, { once: true }));
  return apart(await unpacked(new Blob([bytesOf(document.getElementById(`b-${name}`).textContent)])), report.blocks[name]);
}

/** Decodes base64; browsers before 2025 have no function for it. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const packed = atob(text), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

function unpacked(blob) {
  return new Response(blob.stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}

function apart(buffer, list) {
  const parts = new Map();
  let at = 0;
  for (const [part, kind, length] of list) {
    const Kind = KINDS[kind] ?? Uint8Array;
    const values = new Kind(buffer, at, length);
    parts.set(part, kind === "utf8" ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(values) : values);
    at += 4 * Math.ceil(values.byteLength / 4);
  }
  return parts;
}

const known = new Map();

/** Returns the result of `make`, which is called only once for each name. */
function once(name, make) {
  if (!known.has(name)) known.set(name, make());
  return known.get(name);
}

/** Returns the cumulative sums of counts, from 0: the positions at which entries begin. */
function starts(lengths) {
  const start = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) start[i + 1] = start[i] + lengths[i];
  return start;
}

const LN = 20.8 / 65535;
const ofShare16 = (u) => u / 65535;
const ofShare8 = (u) => u / 255;
const directions = report.scale === "linear";
const ofWord = directions ? (u) => (u - 32768) / 32767 : (u) => (u === 65535 ? 0 : Math.exp(-u * LN));

/** The vocabulary: words and their counts, the topics of each word, and the place of each word in the list. */
function vocabulary() {
  return once("vocabulary", async () => {
    const parts = await block("words");
    if (!parts) return null;
    const text = parts.get("text");
    const list = text === "" ? [] : text.split("\n");
    return {
      list, count: parts.get("count"), start: starts(parts.get("n")), topic: parts.get("topic"), share: parts.get("share"),
      place: new Map(list.map((word, i) => [word, i])),
    };
  });
}

/** The words in the form in which they are compared with the text of a search. */
async function searchable() {
  const words = await vocabulary();
  return once("searchable", () => words?.list.map((word) => visible(word).toLowerCase()) ?? []);
}

function termParts() {
  return once("terms", async () => {
    const parts = await block("terms");
    return { parts, start: starts(parts.get("n")) };
  });
}

/** The words of a topic that the page has, the most probable first. */
async function termsOf(id) {
  const [{ parts, start }, words] = await Promise.all([termParts(), vocabulary()]);
  const of = (name) => parts.get(name);
  const terms = [];
  for (let i = start[id]; i < start[id + 1]; i++) {
    const place = of("word")[i];
    terms.push({
      place, word: words.list[place], uses: words.count[place], code: of("mean")[i],
      mean: ofWord(of("mean")[i]), low: ofWord(of("low")[i]), high: ofWord(of("high")[i]),
      open: of("open")[i] === 1, ten: ofShare8(of("ten")[i]), share: ofShare8(of("share")[i]),
    });
  }
  terms.sort((a, b) => b.mean - a.mean || a.place - b.place);
  terms.forEach((term, rank) => (term.rank = rank + 1));
  return terms;
}

/** Sorts words by Sievert and Shirley's relevance: with lambda 1 by probability, with 0 by its ratio to the frequency in the corpus. */
function byRelevance(terms, lambda) {
  const value = (term) => -term.code * LN - (1 - lambda) * Math.log(Math.max(1, term.uses) / (report.words_tokens || 1));
  const valued = terms.map((term) => [value(term), term]);
  return valued.sort((a, b) => b[0] - a[0] || a[1].place - b[1].place).map(([, term]) => term);
}

/** Contents of the documents that are completely in this page, in the order of `report.docs`. */
function contents() {
  return once("contents", async () => {
    const parts = await block("docs");
    return parts ? JSON.parse(parts.get("json")) : [];
  });
}

/** Returns the topics [[topic, share]...] of the word at a place of the list, the greatest share first. */
function topicsOfWord(words, place) {
  const found = [];
  for (let i = words.start[place]; i < words.start[place + 1]; i++) {
    if (byId.has(words.topic[i])) found.push([words.topic[i], ofShare8(words.share[i])]);
  }
  return found.sort((a, b) => b[1] - a[1]);
}

// ---- topics and their names

const byId = new Map(report.topics.map((topic, place) => [topic.id, Object.assign(topic, { place })]));
const [TOPIC, TOPICS] = report.topic;
const [NOUN, NOUNS] = report.noun;
const A_NOUN = `${/^[aeiou]/i.test(NOUN) ? "an" : "a"} ${NOUN}`;
const mixture = TOPIC === "component";
const NAMES = `sgmc-labels-${report.key}`;

/** Names that a person gave in this browser, by topic; "" if the person removed a name. */
const given = readNames(kept(NAMES));

function readNames(text) {
  try {
    const entries = Object.entries(JSON.parse(text ?? "{}"));
    return new Map(entries.filter(([id, name]) => byId.has(Number(id)) && typeof name === "string").map(([id, name]) => [Number(id), name]));
  } catch {
    return new Map();
  }
}

/** Returns the name of a topic: the name given in this browser, or else the name in the report. */
function nameOf(topic) {
  const name = given.get(topic.id);
  return name === undefined ? topic.label : name || topic.auto;
}

function rename(topic, name) {
  const plain = name.trim().slice(0, 200);
  if (plain === nameOf(topic)) return;
  given.set(topic.id, plain === topic.auto ? "" : plain);
  kept(NAMES, JSON.stringify(Object.fromEntries(given)));
}

/** The content of labels.json for `sgmc report --labels`: names that people gave, without automatic names. */
function labelsFile() {
  const named = report.topics.map((topic) => [topic.id, given.get(topic.id) ?? (topic.named ? topic.label : "")]);
  return JSON.stringify(Object.fromEntries(named.filter(([, name]) => name !== "")), null, 1) + "\n";
}

function csvCell(value) {
  if (!isThere(value)) return "";
  const text = typeof value === "number" ? String(value) : /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function topicsFile() {
  const head = [TOPIC, "label", "share", "low", "high", "documents", "npmi", "steady", "words"];
  const rows = report.topics.map((t) => [
    t.id, nameOf(t), ...(t.weight ?? [null, null, null]), t.documents ?? t.docs, t.npmi, t.steady, t.top.map(visible).join(" "),
  ]);
  return [head, ...rows].map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

const docTitle = (i) => report.docs.title[i];

// ---- addresses

/** Parses "#word/king?of=words" as { page: "word", rest: "king", view: "of=words" }; text that cannot be decoded stays as it is. */
function address() {
  const [, page, rest, view] = /^#?([^/?]*)\/?([^?]*)\??(.*)$/s.exec(location.hash);
  try {
    return { page: page || "overview", rest: decodeURIComponent(rest), view };
  } catch {
    return { page, rest, view };
  }
}

function wordAddress(word) {
  return `#word/${encodeURIComponent(word.isWellFormed?.() === false ? word.toWellFormed() : word)}`;
}

const topicAddress = (id) => `#topic/${id}`;
const docAddress = (i) => `#doc/${i}`;
const rowAddress = (row) => `#row/${row + 1}`;

/** Further searches after the search of the page: functions that take a text in lower case, and return hits. */
const SEARCHES = [];

// ---- views; each file under views/ adds one, in the order of the table of sections

const VIEWS = [];

/** Adds a view if its data are there: its name in the header, and pages by the first word of their addresses. Views with one name are joined. */
function view(head, pages, there) {
  const same = VIEWS.find((other) => other.head === head);
  if (there && same) Object.assign(same.pages, pages);
  else if (there) VIEWS.push({ head, pages, name: Object.keys(pages)[0] });
}
