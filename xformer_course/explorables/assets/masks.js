// Paint a mask, pair by pair; the weights of the pairs that are left follow.
const start = ({ stage, data, say }) => {
  const { h, number } = kit;
  const { words, q, k } = data;
  const n = words.length,
    real = n - 2,
    empty = Math.min(2, n - 1);
  const grid = (allows) => words.map((_, i) => words.map((_, j) => allows(i, j)));
  const patterns = {
    none: () => true,
    causal: (i, j) => j <= i,
    padding: (i, j) => j < real,
    both: (i, j) => j <= i && j < real,
    local: (i, j) => Math.abs(i - j) <= state.window,
    empty: (i) => i !== empty,
  };
  let state = { preset: data.preset, window: data.window, size: data.size };
  let mask = grid(patterns[state.preset]),
    at = [0, 0],
    brush = null,
    answer;
  // Words that occur twice need their number, or a sentence about one of them says nothing.
  const names = words.map((word, i) =>
    words.indexOf(word) === words.lastIndexOf(word) ? word : `${word} ${words.slice(0, i + 1).filter((one) => one === word).length}`,
  );

  // ------------------------------------------------ the grid to paint
  const cells = words.map((_, i) =>
    words.map((_, j) =>
      h("td", {
        role: "gridcell",
        "data-place": `${i} ${j}`,
        onpointerdown: (event) => {
          event.preventDefault();
          event.target.releasePointerCapture?.(event.pointerId);
          brush = !mask[i][j];
          focus(i, j);
          paint(i, j, brush);
        },
        onfocus: () => {
          at = [i, j];
          rove();
        },
      }),
    ),
  );
  const rove = () =>
    cells.forEach((row, i) => row.forEach((cell, j) => cell.setAttribute("tabindex", i === at[0] && j === at[1] ? "0" : "-1")));
  const focus = (i, j) => {
    at = [i, j];
    rove();
    cells[i][j].focus();
  };
  const limit = (place) => Math.min(n - 1, Math.max(0, place));
  const table = h(
    "table",
    {
      class: "xf-map xf-grid",
      role: "grid",
      "aria-label": "Mask: which query may read which key",
      "aria-multiselectable": "true",
      onkeydown: (event) => {
        const [i, j] = at;
        const to = {
          ArrowUp: [i - 1, j],
          ArrowDown: [i + 1, j],
          ArrowLeft: [i, j - 1],
          ArrowRight: [i, j + 1],
          Home: [i, 0],
          End: [i, n - 1],
        }[event.key];
        if (to) focus(limit(to[0]), limit(to[1]));
        else if (event.key === " " || event.key === "Enter") paint(i, j, !mask[i][j]);
        else return;
        event.preventDefault();
      },
      onpointermove: (event) => {
        if (brush === null) return;
        if (!event.buttons) {
          brush = null;
          return;
        }
        const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-place]");
        if (!cell || !table.contains(cell)) return;
        const [i, j] = cell.dataset.place.split(" ").map(Number);
        if (mask[i][j] !== brush) {
          focus(i, j);
          paint(i, j, brush);
        }
      },
    },
    h(
      "thead",
      {},
      h(
        "tr",
        { role: "row" },
        kit.corner("query", "key", { role: "columnheader" }),
        words.map((word) => h("th", { scope: "col", role: "columnheader" }, word)),
      ),
    ),
    h(
      "tbody",
      {},
      words.map((word, i) => h("tr", { role: "row" }, h("th", { scope: "row", role: "rowheader" }, word), cells[i])),
    ),
  );
  for (const kind of ["pointerup", "pointercancel"])
    window.addEventListener(kind, () => {
      brush = null;
    });

  // ------------------------------------------------ controls
  const presets = kit.choice({
    label: "mask",
    value: state.preset,
    onchange: (preset) => set({ preset }),
    options: [
      ["none", "none"],
      ["causal", "causal"],
      ["padding", "padding"],
      ["both", "causal and padding"],
      ["local", "local window"],
      ["empty", `nothing for ${names[empty]}`],
    ],
  });
  const reach = kit.slider({
    label: "window",
    min: 0,
    max: n - 1,
    step: 1,
    value: state.window,
    show: (x) => number(x, 0),
    oninput: (window) => set({ preset: "local", window }),
  });
  const size = kit.slider({
    label: "factor on the scores",
    min: 0,
    max: 10,
    step: 0.5,
    value: state.size,
    show: (x) => number(x, 1),
    oninput: (x) => {
      state.size = x;
      update(`The scores are multiplied by ${number(x, 1)}.`);
    },
  });
  const weights = h("div", {});
  stage.append(
    presets,
    h("div", { class: "xf-row" }, h("div", {}, h("p", {}, "Mask: \u2713 may be read"), kit.scroll("Mask", table)), weights),
    h("div", { class: "xf-row" }, reach, size),
  );

  // ------------------------------------------------ what follows
  const paint = (i, j, value) => {
    mask[i][j] = value;
    state.preset = "painted";
    const left = mask[i].filter(Boolean).length;
    const rest = !left
      ? `It may read nothing: all its weights are 0, and so is its output.`
      : `Its weights are shared by ${left} ${left === 1 ? "key" : "keys"}.`;
    update(`${names[i]} ${value ? "may now read" : "no longer reads"} ${names[j]}. ${rest}`);
  };
  const facts = () => {
    const allowed = mask.flat().filter(Boolean).length;
    const ahead = mask.flatMap((row, i) => row.filter((may, j) => may && j > i)).length;
    const padding = mask.flatMap((row) => row.slice(real)).filter(Boolean).length;
    const silent = names.filter((_, i) => !mask[i].some(Boolean));
    const pairs = (count) => (count === 1 ? "1 pair" : `${count} pairs`);
    const verb = (count, one, many) => `${pairs(count)} ${count === 1 ? one : many}`;
    const leaks =
      !ahead && !padding
        ? ["Nothing leaks: no query looks ahead, none reads padding"]
        : [
            `${ahead ? verb(ahead, "looks ahead", "look ahead") : "No query looks ahead"}, ${padding ? verb(padding, "reads padding", "read padding") : "none reads padding"}`,
          ];
    return (
      [
        `${allowed} of ${n * n} pairs may be read`,
        ...leaks,
        ...(silent.length ? [`${silent.join(", ")}: nothing to read, so zeros`] : []),
      ].join(". ") + "."
    );
  };
  const update = (news = "") => {
    const scores = kit.attention(q, k, k).scores.map((row) => row.map((score) => score * state.size));
    const shares = scores.map((row, i) => kit.softmax(row, mask[i]));
    answer = {
      weights: shares,
      sums: shares.map((row) => row.reduce((sum, value) => sum + value, 0)),
      allowed: mask.flat().filter(Boolean).length,
    };
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        cell.textContent = mask[i][j] ? "\u2713" : "\u2013";
        cell.setAttribute("aria-selected", String(mask[i][j]));
        cell.setAttribute("aria-label", `query ${names[i]}, key ${names[j]}: ${mask[i][j] ? "may be read" : "hidden"}`);
      }),
    );
    weights.replaceChildren(
      h("p", {}, "Weights"),
      kit.scroll(
        "Weights",
        h(
          "table",
          { class: "xf-map", "aria-label": "Weights" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              kit.corner("query", "key"),
              words.map((word) => h("th", { scope: "col" }, word)),
              h("th", { scope: "col", class: "xf-flat" }, "sum"),
            ),
          ),
          h(
            "tbody",
            {},
            words.map((word, i) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, word),
                answer.weights[i].map((weight, j) =>
                  mask[i][j] ? h("td", { style: kit.shade(weight) }, number(weight)) : h("td", { class: "xf-forbidden" }, "0"),
                ),
                h("td", { class: mask[i].some(Boolean) ? "xf-sum" : "xf-sum xf-none" }, number(answer.sums[i])),
              ),
            ),
          ),
        ),
      ),
    );
    presets.set(state.preset);
    reach.hidden = state.preset !== "local";
    say(`${news} ${facts()}`.trim());
  };
  // A state may bring a mask of its own, or the name of a preset.
  const set = (next) => {
    const { mask: own, ...rest } = next;
    state = { ...state, ...rest };
    reach.set(state.window);
    size.set(state.size);
    if (own) {
      mask = own.map((row) => [...row]);
      state.preset = "painted";
    } else if (patterns[state.preset]) mask = grid(patterns[state.preset]);
    update();
  };
  rove();
  update();
  return { set, read: () => ({ ...state, ...answer, mask: mask.map((row) => [...row]), said: facts() }) };
};
