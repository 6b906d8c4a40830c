// The parts of the translator's page: pieces, next words, hypotheses, small maps of all heads, one large map.
const views = (() => {
  const { h, number } = kit;
  const bare = (piece) => piece.replace(/^▁+|▁+$/g, "") || piece; // as inspection.AttentionMaps.labels names them
  const percent = (p) => (p >= 0.9995 ? "> 99.9 %" : p < 0.0005 ? "< 0.1 %" : `${number(100 * p, 1)} %`);

  const pieceList = (label, pieces, ids, lang) =>
    h(
      "ol",
      { class: "xf-pieces", "aria-label": label, lang },
      pieces.map((piece, i) => h("li", {}, h("span", {}, piece), h("small", {}, ids[i]))),
    );

  // Which sentence of a text is looked at.
  const sentences = (all, { shown, lang, onlook }) => {
    const id = kit.fresh("sentence");
    const list = h(
      "select",
      { id, lang, onchange: () => onlook(Number(list.value)) },
      all.map(({ text }, n) => h("option", { value: n, selected: n === shown }, `${n + 1}: ${text}`)),
    );
    return h("p", { class: "xf-control xf-look" }, h("label", { for: id }, `look inside one of ${all.length} sentences`), list);
  };

  // The words written, as buttons that lead to their steps.
  const steps = (pieces, { at, lang, chosen, onstep }) =>
    h(
      "div",
      { class: "xf-pieces", role: "group", "aria-label": "Steps of the translation" },
      pieces.map((piece, t) =>
        kit.button(piece, () => onstep(t), {
          "aria-pressed": String(t === at),
          "aria-label": `step ${t + 1}, ${piece}${chosen(t) ? ", your choice" : ""}`,
          lang,
          class: chosen(t) ? "xf-yours" : null,
        }),
      ),
    );

  // The next words of one step, and a button to take each.
  const candidates = (rows, { caption, lang, taken, ontake }) =>
    kit.scroll(
      caption,
      h(
        "table",
        { class: "xf-next xf-five" },
        h("caption", {}, caption),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["next piece", "id", "probability", "take"].map((word) =>
              h("th", { scope: "col", class: word === "id" ? "xf-id" : null }, word),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(({ id, piece, probability }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", lang }, piece),
              h("td", { class: "xf-id" }, id),
              h("td", { class: "xf-bar", style: `--share:${number(100 * probability, 1)}%` }, percent(probability)),
              h("td", {}, id === taken ? "written" : kit.button("take it", () => ontake(id), { "aria-label": `take ${piece}` })),
            ),
          ),
        ),
      ),
    );

  const hypotheses = (paths, { shown, lang, text, onshow }) =>
    h(
      "table",
      { class: "xf-next" },
      h("caption", {}, "What the beam has finished, best first: score = log p ÷ length"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["translation", "log p", "score", "look"].map((word) => h("th", { scope: "col" }, word)),
        ),
      ),
      h(
        "tbody",
        {},
        paths.map((path, n) =>
          h(
            "tr",
            {},
            h("th", { scope: "row", lang }, text(path)),
            h("td", {}, number(path.logProb)),
            h("td", {}, number(path.score)),
            h("td", {}, n === shown ? "shown" : kit.button("show", () => onshow(n), { "aria-label": `show translation ${n + 1}` })),
          ),
        ),
      ),
    );

  // All heads of one kind: a small picture for each, a row for each layer.
  const picture = (matrix) => {
    const rows = matrix.length,
      columns = Math.max(...matrix.map((row) => row.length));
    const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" }),
      pen = canvas.getContext("2d");
    const image = pen.createImageData(columns, rows),
      hue = getComputedStyle(document.querySelector(".xf")).getPropertyValue("--xf-weight").trim(),
      violet = [1, 3, 5].map((at) => parseInt(hue.slice(at, at + 2), 16));
    matrix.forEach((row, i) => row.forEach((value, j) => image.data.set([...violet, Math.round(255 * value)], 4 * (i * columns + j))));
    pen.putImageData(image, 0, 0);
    return canvas;
  };
  const heads = (matrices, { layer, head, name, onhead }) =>
    h(
      "div",
      { class: "xf-heads", role: "group", "aria-label": `Heads: ${name}` },
      matrices.map((row, l) =>
        row.map((matrix, n) =>
          h(
            "button",
            {
              type: "button",
              onclick: () => onhead(l, n),
              "aria-pressed": String(l === layer && n === head),
              "aria-label": `layer ${l + 1}, head ${n + 1}`,
            },
            picture(matrix),
            h("span", { "aria-hidden": "true" }, `${l + 1}.${n + 1}`),
          ),
        ),
      ),
    );

  // One head: queries down, keys across. One stop for Tab; arrow keys go from cell to cell and `tell` says what is there.
  const map = ({ matrix, rows, columns, rowAxis, columnAxis, title, marked, room, tell }) => {
    const id = kit.fresh("map"),
      numbers = 180 + 40 * columns.length <= room;
    let at = [Math.max(0, marked), 0];
    const cells = matrix.map((row, i) =>
      columns.map((_, j) =>
        j < row.length
          ? h(
              "td",
              {
                role: "gridcell",
                id: `${id}-${i}-${j}`,
                style: kit.shade(row[j]),
                title: `query ${rows[i]}, key ${columns[j]}: ${number(row[j])}`,
              },
              h("span", { class: numbers ? null : "xf-unseen" }, number(row[j])),
            )
          : h("td", { role: "gridcell", id: `${id}-${i}-${j}`, class: "xf-forbidden" }, "–"),
      ),
    );
    const point = (i, j) => {
      cells[at[0]][at[1]].classList.remove("xf-marked");
      at = [i, j];
      cells[i][j].classList.add("xf-marked");
      table.setAttribute("aria-activedescendant", `${id}-${i}-${j}`);
      tell(i, j);
    };
    const table = h(
      "table",
      {
        class: `xf-map xf-heat${numbers ? "" : " xf-dense"}`,
        role: "grid",
        tabindex: 0,
        "aria-label": `${title}; arrow keys go from cell to cell`,
      },
      h("caption", {}, title),
      h(
        "thead",
        {},
        h(
          "tr",
          { role: "row" },
          h(
            "td",
            { class: "xf-axis" },
            kit.paint(`${numbers ? rowAxis : "query"} ↓`),
            h("br", {}),
            kit.paint(`${numbers ? columnAxis : "key"} →`),
          ),
          columns.map((word) => h("th", { scope: "col", role: "columnheader" }, h("span", {}, word))),
        ),
      ),
      h(
        "tbody",
        {},
        matrix.map((_, i) =>
          h("tr", { role: "row", class: i === marked ? "xf-now" : null }, h("th", { scope: "row", role: "rowheader" }, rows[i]), cells[i]),
        ),
      ),
    );
    table.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [0, 0];
      if (!down && !right) return;
      event.preventDefault();
      point(Math.min(rows.length - 1, Math.max(0, at[0] + down)), Math.min(columns.length - 1, Math.max(0, at[1] + right)));
      cells[at[0]][at[1]].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    table.addEventListener("focus", () => point(...at));
    cells.forEach((row, i) => row.forEach((cell, j) => cell.addEventListener("click", () => point(i, j))));
    return kit.scroll(title, table);
  };
  return { bare, percent, pieceList, sentences, steps, candidates, hypotheses, heads, map };
})();
