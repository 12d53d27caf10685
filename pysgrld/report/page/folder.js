// For a page that is a folder: all documents, in files next to the page, which are loaded when they are viewed.

VIEWS.find(({ name }) => name === "documents").pages.row = rowPage;
SEARCHES.push(foundTitles);

/** Loads the bytes of a file next to the page, only once. */
function bytesBeside(kind, number) {
  return once(`${kind} ${number}`, async () => {
    const answer = await fetch(`${report.folder.at}/${kind}/${String(number).padStart(6, "0")}.bin`);
    if (!answer.ok) throw new Error(`${kind} ${number}: ${answer.status}`);
    return unpacked(await answer.blob());
  });
}

/** Reads the content of a JSON file next to the page, only once. */
function fileOf(kind, number) {
  return once(`content of ${kind} ${number}`, async () => JSON.parse(new TextDecoder().decode(await bytesBeside(kind, number))));
}

/** The page of any document of the corpus, by the document's number from 1. */
async function rowPage(rest) {
  const { folder } = report, row = Number(rest) - 1;
  if (!Number.isInteger(row) || row < 0 || row >= folder.documents) return nothing(`There is no ${NOUN} ${shown(rest)}; there are ${count(folder.documents)}.`);
  let content;
  try {
    content = (await fileOf("documents", Math.floor(row / folder.each)))[row % folder.each];
  } catch {
    return nothing(`${capital(NOUNS)} are in files next to this page, which a browser loads from a web server only: run sgmc report --serve.`);
  }
  const step = (to, text, key) => to >= 0 && to < folder.documents && h("a.step", { href: rowAddress(to), title: `key ${key}`, "data-step": to > row ? "next" : "previous" }, text);
  const steps = h("nav.steps", { "aria-label": "next and previous" }, step(row - 1, "← previous", "k"), step(row + 1, "next →", "j"));
  return { title: content.title, node: docArticle({ ...content, row }, content, steps) };
}

/** Finds titles of documents that are not in the page's list. */
async function foundTitles(text) {
  const { documents, titles } = report.folder, listed = new Set(report.docs.row), found = [];
  for (let file = 0; file * titles < documents && found.length < 6; file++) {
    const list = await fileOf("titles", file).catch(() => []);
    if (asked.value.trim().toLowerCase() !== text) return [];
    for (let i = 0; i < list.length && found.length < 6; i++) {
      const row = file * titles + i;
      if (!listed.has(row) && visible(list[i]).toLowerCase().includes(text)) found.push({ href: rowAddress(row), kind: NOUN, name: bdi(list[i]) });
    }
  }
  return found;
}

/** Returns the title of a document of the corpus. */
async function titleOf(row) {
  const { titles } = report.folder;
  return (await fileOf("titles", Math.floor(row / titles)).catch(() => []))[row % titles] ?? `${NOUN} ${count(row + 1)}`;
}

/** Adds the documents in files next to the page to the dots of the map, as the files arrive, and informs the open map. */
function dotsBeside(dots) {
  return once("dots beside", async () => {
    const { beside } = report.dots, n = beside.reduce((sum, length) => sum + length, dots.n);
    for (const [name, Kind] of Object.entries(DOT_PARTS)) {
      if (!dots[name]) continue;
      const long = new Kind(n);
      long.set(dots[name]);
      dots[name] = long;
    }
    for (let file = 0; file < beside.length; file++) {
      const list = report.dots.parts.map(([name, kind]) => [name, kind, beside[file]]);
      const parts = apart(await bytesBeside("dots", file), list);
      for (const [name, values] of parts) dots[name].set(name === "row" ? summed(values) : values, dots.n);
      if (dots.level) dots.level.set(new Uint8Array(await bytesBeside("levels", file)), dots.n);
      dots.n += beside[file];
      hearer?.();
    }
    // a page that is opened as a file can load nothing, so its map has only the documents that are in the page
  }).catch(() => null);
}
