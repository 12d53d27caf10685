// Of a page that is a folder: all documents, in files beside it, which are loaded as they are looked at.

VIEWS.find(({ name }) => name === "documents").pages.row = rowPage;
SEARCHES.push(foundTitles);

/** What a file beside the page has; loaded once. */
function fileOf(kind, number) {
  return once(`${kind} ${number}`, async () => {
    const answer = await fetch(`${report.folder.at}/${kind}/${String(number).padStart(6, "0")}.bin`);
    if (!answer.ok) throw new Error(`${kind} ${number}: ${answer.status}`);
    return JSON.parse(new TextDecoder().decode(await unpacked(await answer.blob())));
  });
}

/** Any document of the corpus, by its number from 1, where the page is a folder. */
async function rowPage(rest) {
  const { folder } = report, row = Number(rest) - 1;
  if (!Number.isInteger(row) || row < 0 || row >= folder.documents) return nothing(`There is no ${NOUN} ${shown(rest)}; there are ${count(folder.documents)}.`);
  let content;
  try {
    content = (await fileOf("documents", Math.floor(row / folder.each)))[row % folder.each];
  } catch {
    return nothing(`${capital(NOUNS)} are in files beside this page, which a browser loads from a web server only: sgmc report --serve is one.`);
  }
  const step = (to, text, key) => to >= 0 && to < folder.documents && h("a.step", { href: rowAddress(to), title: `key ${key}`, "data-step": to > row ? "next" : "previous" }, text);
  const steps = h("nav.steps", { "aria-label": "next and previous" }, step(row - 1, "← previous", "k"), step(row + 1, "next →", "j"));
  return { title: content.title, node: docArticle({ ...content, row }, content, steps) };
}

/** Of all titles of the corpus those that are not in the page's list. */
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
