// Several heads over one sentence: a map for each, what it brings to one word, and the sum through W_O.
const start = ({ stage, data, say }) => {
  const { h, number } = kit;
  const { words, columns, titles, answers, x } = data;
  const count = titles.length,
    wide = answers[0].length;
  let state = { query: data.query, on: titles.map(() => true), merged: false };
  let answer;

  const blocks = titles.map((_, n) => data.wO.slice(n * wide, (n + 1) * wide));
  const own = titles.map((_, n) => kit.attention(kit.matmul(x, data.wQ[n]), kit.matmul(x, data.wK[n]), kit.matmul(x, data.wV[n])).weights);
  const values = data.wV.map((w) => kit.matmul(x, w));
  const sum = (matrices) =>
    matrices.reduce(
      (a, b) => a.map((row, i) => row.map((value, j) => value + b[i][j])),
      words.map(() => Array(matrices[0] ? matrices[0][0].length : columns.length).fill(0)),
    );
  // The heads that are on, each with its weights; merged, all of them with the mean of theirs.
  const solve = ({ on, merged }) => {
    const active = titles.map((_, n) => n).filter((n) => on[n]);
    const mean = active.length ? sum(active.map((n) => own[n])).map((row) => row.map((value) => value / active.length)) : null;
    const weights = own.map((map, n) => (merged && on[n] ? mean : map));
    const heads = weights.map((map, n) => (on[n] ? kit.matmul(map, values[n]) : words.map(() => Array(wide).fill(0))));
    const added = heads.map((rows, n) => kit.matmul(rows, blocks[n]));
    return { weights, heads, joined: words.map((_, i) => heads.flatMap((rows) => rows[i])), added, output: sum(added) };
  };
  const full = solve(state);

  // ------------------------------------------------ controls
  const asks = kit.choice({
    label: "query",
    options: words.map((word, i) => [i, word]),
    value: state.query,
    onchange: (query) => {
      state.query = query;
      update();
    },
  });
  const toggles = titles.map((_, n) =>
    kit.button(
      `head ${n + 1}`,
      () => {
        state.on = state.on.map((value, other) => (other === n ? !value : value));
        update();
      },
      { "aria-pressed": "true" },
    ),
  );
  const mode = kit.choice({
    label: "weights",
    options: [
      [false, "one map a head"],
      [true, "one map for all"],
    ],
    value: false,
    onchange: (merged) => {
      state.merged = merged;
      update();
    },
  });
  const reset = kit.button("Start again", () => set({ query: data.query, on: titles.map(() => true), merged: false }));
  const maps = h("div", { class: "xf-row" }),
    brought = h("div", { class: "xf-row" }),
    sums = h("div", {}),
    end = h("div", { class: "xf-row" });
  stage.append(
    h("div", { class: "xf-row" }, asks, h("fieldset", {}, h("legend", {}, "on"), toggles)),
    h("div", { class: "xf-row" }, mode, reset),
    sums,
    h("p", {}, "Where it comes from. First, who reads whom: the weights"),
    maps,
    h("p", {}, "Then what each head brings: weight times value, key by key"),
    brought,
    h("p", {}, "Last, the joined answers, which W", h("sub", { style: "font-size:1em" }, "O"), " sends to the columns above"),
    end,
  );

  const table = (caption, heads, rows, shaded = null) =>
    kit.scroll(
      caption,
      h(
        "table",
        {},
        h("caption", {}, caption),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((word) => h("th", { scope: "col" }, kit.paint(word))),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([name, ...cells]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              cells.map((cell, j) =>
                typeof cell === "number" ? h("td", { style: j === shaded ? kit.shade(cell) : null }, number(cell)) : h("td", {}, cell),
              ),
            ),
          ),
        ),
      ),
    );
  const sentence = () => {
    const word = words[state.query],
      now = answer.output[state.query],
      before = full.output[state.query];
    const gap = now.map((value, j) => Math.abs(value - before[j])),
      far = Math.max(...gap),
      column = gap.indexOf(far);
    if (far < 1e-9) return `All heads on: ${word} gets ${now.map((value, j) => `${columns[j]} ${number(value)}`).join(", ")}.`;
    return `${word}: ${columns[column]} changes most, from ${number(before[column])} with every head and its own map to ${number(now[column])}.`;
  };
  const update = () => {
    answer = solve(state);
    const { query, on, merged } = state;
    toggles.forEach((toggle, n) => toggle.setAttribute("aria-pressed", String(on[n])));
    maps.replaceChildren(
      ...titles.map((title, n) =>
        kit.map({
          matrix: answer.weights[n],
          rows: words,
          columns: words,
          marked: (i) => i === query,
          title: !on[n] ? `${title} (off)` : merged ? `head ${n + 1}: the mean of the maps` : title,
        }),
      ),
    );
    brought.replaceChildren(
      ...titles.map((_, n) =>
        table(
          on[n] ? `head ${n + 1} to ${words[query]}` : `head ${n + 1} is off`,
          ["key", "weight", ...answers[n]],
          [
            ...words.map((word, j) => [
              word,
              answer.weights[n][query][j],
              ...values[n][j].map((value) => (on[n] ? value * answer.weights[n][query][j] : 0)),
            ]),
            ["sum", "", ...answer.heads[n][query]],
          ],
        ),
      ),
    );
    end.replaceChildren(
      table(
        `Joined: ${count * wide} numbers of ${words[query]}`,
        ["answer", "head", "value", "goes to"],
        answers.flatMap((names, n) =>
          names.map((name, e) => [name, String(n + 1), answer.heads[n][query][e], columns[blocks[n][e].indexOf(1)]]),
        ),
      ),
    );
    sums.replaceChildren(
      table(
        `The output of ${words[query]}: a sum with one term a head`,
        ["column", ...titles.map((_, n) => `head ${n + 1}`), "output"],
        columns.map((column, c) => [column, ...answer.added.map((rows) => rows[query][c]), answer.output[query][c]]),
        count,
      ),
    );
    say(sentence());
  };
  const set = (next) => {
    state = { ...state, ...next };
    asks.set(state.query);
    mode.set(state.merged);
    update();
  };
  update();
  return { set, read: () => ({ ...state, ...answer }) };
};
