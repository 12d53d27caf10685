"use strict";
// The basis of every page: data, elements, numbers as people write them, and colours.

const report = JSON.parse(document.getElementById("report").textContent);

// ---- elements; no other code makes any

const SPACES = { html: "http://www.w3.org/1999/xhtml", svg: "http://www.w3.org/2000/svg" };

/** Makes an element: "p.remark" has a class, "svg:g" is SVG. Attributes may follow, then children; a string is always only text. */
function h(name, ...children) {
  const [space, tag] = name.includes(":") ? name.split(":") : ["html", name];
  const [element, ...classes] = tag.split(".");
  const node = document.createElementNS(SPACES[space], element);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  if (children.length && isPlain(children[0])) give(node, children.shift());
  node.append(...children.flat(Infinity).filter((child) => isThere(child) && child !== false));
  return node;
}

const isThere = (value) => value !== null && value !== undefined;
const isPlain = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;

/** Sets attributes of an element: functions are listeners, "--x" is a style, and numbers get two digits. */
function give(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (!isThere(value) || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : typeof value === "number" ? Math.round(value * 100) / 100 : value);
  }
}

// Attributes of an element that the Tab key reaches as a whole, and of an element that is not read aloud.
const reachable = (name) => ({ tabindex: "0", role: "group", "aria-label": name });
const UNREAD = { "aria-hidden": "true" };

// ---- words and texts from other people

// Characters that are invisible or change the direction of the text around them; they are shown by their numbers.
const UNSEEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]", "gu");

function byNumber(sign) {
  const code = sign.codePointAt(0);
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Returns a whole word with every character visible. */
function visible(word) {
  const seen = word.replace(UNSEEN, byNumber);
  return seen.trim() === "" ? [...seen].map(byNumber).join("") || "(empty)" : seen;
}

/** Returns a word with every character visible, shortened if it is longer than a line. */
function shown(word) {
  const seen = visible(word);
  if (seen.length <= 80) return seen;
  const end = /[\ud800-\udbff]/.test(seen[78]) ? 78 : 79;
  return seen.slice(0, end) + "…";
}

function short(text, most) {
  const seen = shown(text);
  return seen.length > most ? `${seen.slice(0, most - 1)}…` : seen;
}

/** Returns a running text with every character visible; line breaks and tabs stay. */
function running(text) {
  return text.replace(UNSEEN, (sign) => (sign === "\n" || sign === "\t" ? sign : sign === "\r" ? "" : byNumber(sign)));
}

const bold = (...content) => h("b", ...content);

/** Attributes of an element with the colour of a topic. */
function hued(topic, kind = "") {
  return { class: `${kind} hue`, "--h": topic.hue };
}

function visit(address) {
  location.hash = address;
}

function bdi(text) {
  return h("bdi", shown(text));
}

/** Returns a token in the form in which words are compared with the tokens of a text. */
function folded(token) {
  const visible = token.replace(/\p{DI}/gu, "").normalize("NFC");
  return visible.toLowerCase().replaceAll("i\u0307", "i").replaceAll("ß", "ss").replaceAll("ς", "σ");
}

// ---- numbers

const NARROW = "\u00a0";

function fixed(x, digits) {
  return x.toFixed(digits).replace("-", "−").replace(/^−(0(\.0*)?)$/, "$1");
}

function count(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Formats a share in per cent, as "7.8 %"; a share that rounds to 0 is shown as less than the last digit. */
function percent(x, digits = 0) {
  const least = 10 ** -digits;
  if (x > 0 && x * 100 < least / 2) return `< ${least.toFixed(digits)}${NARROW}%`;
  return fixed(x * 100, digits) + NARROW + "%";
}

/** Returns the number of digits that distinguishes the values of a column. */
function digitsFor(top) {
  return top >= 0.2 ? 0 : top >= 0.02 ? 1 : 2;
}

function between(low, high, digits) {
  return `${fixed(low * 100, digits)} – ${percent(high, digits)}`;
}

function capital(noun) {
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

function plural(n, [one, many]) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// ---- values that the browser stores, and files that a person saves

/** A value that this browser stores; if it stores none (in private windows), the value lasts for this visit only. */
function kept(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    localStorage.setItem(key, value);
  } catch {
    // in this case, nothing is stored
  }
  return null;
}

/** Saves a text as a file of the person's computer. */
function save(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// ---- the theme

const { dataset } = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const { theme } = dataset;
  return theme === "dark" || (theme === "auto" && systemDark.matches);
}

const THEMES = { auto: "◐", light: "○", dark: "●" };
const themeButton = h("button", { class: "theme", click: () => theme({ auto: "light", light: "dark", dark: "auto" }[dataset.theme], true) });

/** Sets the colours of the page; the event "themed" informs the code that draws with them. */
function theme(name, chosen) {
  dataset.theme = name;
  themeButton.replaceChildren(THEMES[name]);
  themeButton.setAttribute("aria-label", `colours: ${name}; change`);
  themeButton.setAttribute("title", `colours: ${name === "auto" ? "as the system has them" : name}`);
  if (!chosen) return;
  kept("sgmc-theme", name);
  dispatchEvent(new Event("themed"));
}

systemDark.addEventListener("change", () => dispatchEvent(new Event("themed")));
theme(Object.hasOwn(THEMES, kept("sgmc-theme") ?? "") ? kept("sgmc-theme") : "auto", false);
