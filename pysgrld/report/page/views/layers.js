// The layers of a deep model, in which topics consist of topics.

view("Layers", { layers: layersPage }, report.layers);

function layersPage() {
  const place = h("div.layers", report.layers.map((node) => layerNode(node, true)));
  const toggle = more("open or close all", () => {
    const all = [...place.querySelectorAll("details")];
    const open = all.some((one) => !one.open);
    all.forEach((one) => (one.open = open));
  });
  const remark = `Below each ${TOPIC} are the ${TOPICS} that it uses most, with their share of it. 2.5 is ${TOPIC} 5 of layer 2; layer 1 is the nearest to words.`;
  return { title: "Layers", node: h("section.card", h("div.card-head", h("h1", `${capital(TOPICS)} of ${TOPICS}`), toggle), h("p.remark", remark), h("div.layer-icicle", { role: "img", "aria-label": `${capital(TOPICS)} of ${TOPICS}, as wide as their shares; the list below has the same.` }, icicle(report.layers)), place) };
}

/** Topics side by side, as wide as their share, each above the topics that it uses most. */
function icicle(nodes) {
  return h("div.icicle", UNREAD, nodes.map((node) => h("div", { "--of": node.share.toFixed(4) },
    h("span.cut", { title: `${node.layer}.${node.id}, ${percent(node.share)}: ${node.words.map(shown).join(" ")}` }, node.words.slice(0, 3).map(shown).join(" · ")), node.children.length > 0 && icicle(node.children))));
}

function layerNode(node, top = false) {
  const here = node.layer === report.layer.at && byId.get(node.id);
  const face = [bar({ mean: node.share }, 1, "thin grey"), h("span.figure", percent(node.share)), h("b.key", `${node.layer}.${node.id}`),
    here && topicLink(here), h("span.top-words", spaced(node.words))];
  if (!node.children.length) return h("div.layer.leaf", face);
  return h("details.layer", { open: top }, h("summary", face), h("div.below", node.children.map((child) => layerNode(child))));
}
