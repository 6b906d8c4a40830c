// Every number of Q, K and V is open to change; every number made of them says what it was made of.
const start = ({ stage, data, say }) => {
  const { h, number } = kit;
  const { rows, columns } = data;
  const copy = (matrix) => matrix.map((row) => [...row]);
  const width = columns.q.length,
    root = `\u221a${width}`;
  const masks = { none: () => true, causal: (i, j) => j <= i, padding: (i, j) => j < rows.k.length - 1 };
  const first = () => ({
    q: copy(data.q),
    k: copy(data.k),
    v: copy(data.v),
    scaled: data.scaled,
    mask: data.mask,
    chosen: [...data.chosen],
  });
  let state = first(),
    answer;

  const solve = () => {
    const { q, k, v } = state;
    const mask = rows.q.map((_, i) => rows.k.map((_, j) => masks[state.mask](i, j)));
    const { scores: scaled, weights, output } = kit.attention(q, k, v, mask, state.scaled ? 1 / Math.sqrt(width) : 1);
    return { scores: kit.matmul(q, kit.transpose(k)), scaled, weights, output, mask };
  };

  // ------------------------------------------------ what a number was made of: the sum in words, and the cells of the step before
  const plain = (value) => number(value, Math.abs(value * 10 - Math.round(value * 10)) < 1e-9 ? 1 : 2);
  const factor = (value, digits) => {
    const text = digits ? number(value, digits) : plain(value);
    return value < 0 ? `(${text})` : text;
  };
  const products = (one, other, digits = 0) => one.map((value, at) => `${factor(value, digits)}\u00b7${factor(other[at])}`).join(" + ");
  const row = (name, i) => (name in rows ? state : answer)[name][i].map((_, j) => [name, i, j]);
  const column = (name, j) => state[name].map((_, i) => [name, i, j]);
  const parents = ([name, i, j]) =>
    (
      ({
        scores: () => [...row("q", i), ...row("k", j)],
        scaled: () => [["scores", i, j]],
        weights: () => row("scaled", i),
        output: () => [...row("weights", i), ...column("v", j)],
      })[name] ?? (() => [])
    )();
  const written = ([name, i, j]) => {
    const { q, k, v } = state,
      { scores, scaled, weights, output, mask } = answer;
    const query = rows.q[i],
      key = rows.k[j],
      result = number((name === "output" ? output : answer[name])[i][j]);
    if (name === "scores") return `Score of ${query} and ${key}: row of Q times row of K, ${products(q[i], k[j])} = ${result}.`;
    if (name === "output")
      return `Output of ${query}, ${columns.v[j]}: weights times column of V, ${products(
        weights[i],
        v.map((one) => one[j]),
        2,
      )} = ${result}.`;
    if (!mask[i][j])
      return name === "scaled"
        ? `The mask hides ${key} from ${query}: the score becomes \u2212\u221e.`
        : `Weight of ${key} for ${query}: e to the power of \u2212\u221e is 0.`;
    if (name === "scaled")
      return state.scaled
        ? `Score divided by ${root}: ${number(scores[i][j])} / ${number(Math.sqrt(width))} = ${result}.`
        : `Not divided: the score stays ${result}.`;
    const kept = scaled[i].filter((_, at) => mask[i][at]),
      top = Math.max(...kept),
      shift = Math.abs(top) > 9 ? top : 0;
    const power = (score) => Math.exp(score - shift),
      total = kept.reduce((sum, score) => sum + power(score), 0);
    const lead = shift ? `with the largest score, ${number(top)}, taken from each: ` : "";
    return `Weight of ${key} for ${query}: ${lead}exp(${number(scaled[i][j] - shift)}) / (${kept.map((score) => `exp(${number(score - shift)})`).join(" + ")}) = ${number(power(scaled[i][j]))} / ${number(total)} = ${result}.`;
  };

  // ------------------------------------------------ tables: three to change, four that follow
  const cells = {};
  const frame = (name, title, words, heads, axes, kind, cell) => {
    cells[name] = words.map((_, i) => heads.map((_, j) => cell(i, j)));
    const head = (tag, role, attributes, text) => h(tag, { ...attributes, role: kind.role && role }, text);
    const table = h(
      "table",
      { class: `xf-map ${kind.class}`, role: kind.role, "aria-label": title, onkeydown: kind.onkeydown },
      h("caption", {}, kit.paint(title)),
      h(
        "thead",
        {},
        h(
          "tr",
          { role: kind.role && "row" },
          head("td", "columnheader", { class: "xf-axis" }, kit.paint(axes)),
          heads.map((word) => head("th", "columnheader", { scope: "col" }, word)),
        ),
      ),
      h(
        "tbody",
        {},
        words.map((word, i) => h("tr", { role: kind.role && "row" }, head("th", "rowheader", { scope: "row" }, word), cells[name][i])),
      ),
    );
    return kit.scroll(title, table);
  };
  const inputs = {};
  const entry = (name, title, axes) => {
    inputs[name] = data[name].map((_, i) =>
      data[name][i].map((_, j) =>
        h("input", {
          type: "number",
          step: "0.1",
          min: "-1000",
          max: "1000",
          "aria-label": `${name.toUpperCase()}, ${rows[name][i]}, ${columns[name][j]}`,
          oninput: ({ target }) => {
            const good = target.value !== "" && Number.isFinite(Number(target.value)) && Math.abs(Number(target.value)) <= 1000;
            target.setAttribute("aria-invalid", String(!good));
            if (good) edit(name, i, j, Number(target.value));
            else
              say(
                `${target.getAttribute("aria-label")}: expected a number from \u22121000 to 1000; ${plain(state[name][i][j])} is still in use.`,
              );
          },
          onblur: ({ target }) => {
            target.setAttribute("aria-invalid", "false");
            target.value = shown(state[name][i][j]);
          },
        }),
      ),
    );
    return frame(name, title, rows[name], columns[name], axes, { class: `xf-entry xf-of-${name}` }, (i, j) =>
      h("td", {}, inputs[name][i][j]),
    );
  };
  const shown = (value) => plain(value).replace("\u2212", "-");
  const made = (name, title, heads, axes) =>
    frame(
      name,
      title,
      rows.q,
      heads,
      axes,
      {
        class: "xf-made",
        role: "grid",
        onkeydown: (event) => {
          const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
          const at = event.target.dataset.place?.split(" ").map(Number);
          if (!by || !at) return;
          event.preventDefault();
          cells[name][at[0] + by[0]]?.[at[1] + by[1]]?.focus();
        },
      },
      (i, j) =>
        h("td", {
          role: "gridcell",
          "data-place": `${i} ${j}`,
          onclick: ({ currentTarget }) => currentTarget.focus(),
          onfocus: () => choose([name, i, j]),
        }),
    );

  const scale = kit.choice({
    label: `divide by ${root}`,
    value: "yes",
    options: [
      ["yes", "yes"],
      ["no", "no"],
    ],
    onchange: (value) =>
      change({ scaled: value === "yes" }, value === "yes" ? `The scores are divided by ${root}.` : "The scores are not divided."),
  });
  const hide = kit.choice({
    label: "mask",
    value: state.mask,
    options: [
      ["none", "none"],
      ["causal", "causal"],
      ["padding", `${rows.k.at(-1)} is padding`],
    ],
    onchange: (mask) =>
      change(
        { mask },
        {
          none: "Every query may read every key.",
          causal: `As if the queries stood in this order, at ${rows.k.slice(0, rows.q.length).join(", ")}: query i may read the first i keys.`,
          padding: `No query may read ${rows.k.at(-1)}.`,
        }[mask],
      ),
  });
  const again = kit.button("Start again", () => set(first()));
  const trace = h("p", { class: "xf-trace", role: "status" });
  stage.append(
    h(
      "div",
      { class: "xf-row" },
      entry("q", "Q: queries", "query \u2193"),
      entry("k", "K: keys", "key \u2193"),
      entry("v", "V: values", "value \u2193"),
    ),
    h("div", { class: "xf-row" }, scale, hide, again),
    h(
      "div",
      { class: "xf-row" },
      made("scores", "1. Scores Q K\u1d40", rows.k, "query \u2193 key \u2192"),
      made("scaled", "2. Divided and masked", rows.k, "query \u2193 key \u2192"),
      made("weights", "3. Weights: softmax of each row", rows.k, "query \u2193 key \u2192"),
      made("output", "4. Output: weights V", columns.v, "query \u2193 column \u2192"),
    ),
    trace,
  );

  // ------------------------------------------------ what follows from a change
  const steps = [
    ["scores", "scores"],
    ["weights", "weights"],
    ["output", "numbers of the output"],
  ];
  const differs = (before, name, i, j) => {
    if (!before) return false;
    const hidden = before.mask[i][j] !== answer.mask[i][j];
    return (name === "scaled" && hidden) || Math.abs(before[name][i][j] - answer[name][i][j]) > 1e-12 * Math.abs(before[name][i][j]);
  };
  const printed = (from, name, i, j) =>
    from.mask[i][j] || name === "scores" || name === "output" ? number(from[name][i][j]) : name === "scaled" ? "\u2212\u221e" : "0";
  const seen = (before, name, i, j) => differs(before, name, i, j) && printed(before, name, i, j) !== printed(answer, name, i, j);
  const update = (before = null) => {
    answer = solve();
    for (const name of ["scores", "scaled", "weights", "output"])
      cells[name].forEach((line, i) =>
        line.forEach((cell, j) => {
          const hidden = name !== "scores" && name !== "output" && !answer.mask[i][j];
          cell.textContent = printed(answer, name, i, j);
          cell.className = [hidden && "xf-forbidden", seen(before, name, i, j) && "xf-changed"].filter(Boolean).join(" ");
          cell.style = name === "weights" && !hidden ? kit.shade(answer.weights[i][j]) : "";
        }),
      );
    point();
  };
  const count = (before) =>
    `Changed: ${steps
      .map(([name, word]) => {
        const places = cells[name].flatMap((line, i) => line.map((_, j) => [name, i, j]));
        const changed = places.filter((place) => differs(before, ...place)),
          small = changed.filter((place) => !seen(before, ...place)).length;
        return `${changed.length} of ${places.length} ${word}${small ? ` (${small} beyond the second decimal)` : ""}`;
      })
      .join(", ")}.`;
  const change = (next, news) => {
    const before = answer;
    state = { ...state, ...next };
    update(before);
    say(`${news} ${count(before)}`);
  };
  const edit = (name, i, j, value) => {
    const old = state[name][i][j],
      matrix = copy(state[name]);
    matrix[i][j] = value;
    change({ [name]: matrix }, `${name.toUpperCase()}, ${rows[name][i]}, ${columns[name][j]}: ${plain(old)} is now ${plain(value)}.`);
  };
  const choose = (chosen) => {
    state.chosen = chosen;
    point();
  };
  const point = () => {
    const near = parents(state.chosen),
      deep = [];
    for (let layer = near; layer.length; layer = layer.flatMap(parents)) deep.push(...layer);
    for (const [name, matrix] of Object.entries(cells))
      matrix.forEach((line, i) =>
        line.forEach((cell, j) => {
          const here = ([other, a, b]) => other === name && a === i && b === j,
            chosen = here(state.chosen);
          cell.classList.toggle("xf-marked", chosen);
          cell.classList.toggle("xf-from", near.some(here));
          cell.classList.toggle("xf-deep", !near.some(here) && deep.some(here));
          if (cell.getAttribute("role") !== "gridcell") return;
          cell.setAttribute("aria-selected", String(chosen));
          const stop = state.chosen[0] === name ? chosen : i === 0 && j === 0;
          cell.setAttribute("tabindex", stop ? "0" : "-1");
          cell.setAttribute("aria-label", `${rows.q[i]}, ${(name === "output" ? columns.v : rows.k)[j]}: ${cell.textContent}`);
        }),
      );
    const text = written(state.chosen);
    if (trace.textContent !== text) trace.textContent = text;
  };
  const set = (next) => {
    state = { ...state, ...next };
    for (const [name, matrix] of Object.entries(inputs))
      matrix.forEach((line, i) =>
        line.forEach((input, j) => {
          input.value = shown(state[name][i][j]);
        }),
      );
    scale.set(state.scaled ? "yes" : "no");
    hide.set(state.mask);
    update();
    say("Change a number, or choose a cell of a step.");
  };
  set({});
  return {
    set,
    read: () => ({
      ...state,
      allowed: answer.mask,
      ...Object.fromEntries(["scores", "scaled", "weights", "output"].map((name) => [name === "scaled" ? "divided" : name, answer[name]])),
      trace: trace.textContent,
      near: parents(state.chosen),
    }),
  };
};
