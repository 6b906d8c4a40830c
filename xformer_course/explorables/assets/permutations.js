// Move words of the input: which rows of the output move with them, which stay, which change?
const start = ({ stage, data, say }) => {
  const { h, number } = kit;
  const { words, asking, x, askingX, wQ, wK, wV } = data;
  const n = words.length,
    same = 1e-9;
  const colours = ["first", "second", "third", "fourth", "ink"].map((name) => `var(--xf-${name})`);
  let state = { mode: data.mode, order: [...data.order] };
  let answer;

  // ------------------------------------------------ the five layers; `rows` are the words' vectors in their order of the moment
  const places = kit.sinusoidal(n, x[0].length);
  const causal = words.map((_, i) => words.map((_, j) => j <= i));
  const attend = (one, other, mask = null) => kit.attention(kit.matmul(one, wQ), kit.matmul(other, wK), kit.matmul(other, wV), mask);
  const added = (rows) => rows.map((row, i) => row.map((value, c) => value + places[i][c]));
  const modes = {
    self: { name: "Self-attention", map: "rows and columns move with the words", run: (rows) => attend(rows, rows) },
    causal: {
      name: "Causal self-attention",
      map: "the words move, the mask stays",
      mask: causal,
      run: (rows) => attend(rows, rows, causal),
    },
    positions: { name: "Self-attention with positions", map: "they depend on the places", run: (rows) => attend(added(rows), added(rows)) },
    cross: {
      name: "Cross-attention",
      map: "the columns move with the words (the vectors are random: no weight is a translation)",
      still: asking,
      run: (rows) => attend(askingX, rows),
    },
    mean: {
      name: "The mean of self-attention",
      map: "rows and columns move with the words",
      still: ["mean"],
      run: (rows) => {
        const { weights, output } = attend(rows, rows);
        return { weights, output: [kit.transpose(output).map((column) => column.reduce((sum, value) => sum + value, 0) / n)] };
      },
    },
  };
  const take = (rows, order) => order.map((row) => rows[row]);
  const gaps = (one, other) => one.map((row, i) => Math.max(...row.map((value, c) => Math.abs(value - other[i][c]))));
  const largest = (one, other) => Math.max(...gaps(one, other));
  const permute = (rest) =>
    rest.length < 2 ? [rest] : rest.flatMap((one, i) => permute(rest.filter((_, at) => at !== i)).map((tail) => [one, ...tail]));
  const orders = permute(words.map((_, i) => i));
  const counted = {};
  // Of all orders: how many reorder the output like the input, how many leave it as it was.
  const count = (mode) =>
    (counted[mode] ??= (() => {
      const { run, still } = modes[mode],
        before = run(x).output;
      const outputs = orders.map((order) => run(take(x, order)).output);
      return {
        moved: still ? null : outputs.filter((output, at) => largest(output, take(before, orders[at])) < same).length,
        stayed: outputs.filter((output) => largest(output, before) < same).length,
      };
    })());
  const solve = () => {
    const { run, still } = modes[state.mode];
    const before = run(x).output,
      rows = take(x, state.order);
    const { output, weights } = run(rows);
    return {
      input: state.mode === "positions" ? added(rows) : rows,
      output,
      weights,
      rows: gaps(output, still ? before : take(before, state.order)),
      moved: still ? null : largest(output, take(before, state.order)),
      stayed: largest(output, before),
      counts: count(state.mode),
    };
  };

  // ------------------------------------------------ rows that keep their element while they move; the one in hand is never taken out
  const strip = (row, digits) =>
    h(
      "span",
      { class: digits > 1 ? "xf-strip xf-fine" : "xf-strip" },
      row.map((value) => h("span", { style: kit.shade((value + 2.2) / 4.4) }, number(value, digits))),
    );
  const arrange = (list, items, kept) => {
    const tops = new Map([...list.children].map((item) => [item, item.offsetTop]));
    const at = items.indexOf(kept);
    if (at < 0 || kept.parentElement !== list) list.replaceChildren(...items);
    else
      items.forEach((item, i) => {
        if (i < at) list.insertBefore(item, kept);
        else if (i > at) list.append(item);
      });
    for (const item of items) {
      const gone = tops.has(item) ? tops.get(item) - item.offsetTop : 0;
      if (!gone) continue;
      item.classList.remove("xf-glide");
      item.style.transform = `translateY(${gone}px)`;
      item.getBoundingClientRect();
      item.classList.add("xf-glide");
      item.style.transform = "";
    }
  };
  const inputs = h("ol", { class: "xf-rows", "aria-label": "Input, from top to bottom" });
  const outputs = h("ol", { class: "xf-rows", "aria-label": "Output, from top to bottom" });
  const lines = words.map((word, row) => {
    const shift = (by) => move(row, state.order.indexOf(row) + by);
    const grip = h(
      "button",
      {
        type: "button",
        class: "xf-grip",
        style: `border-left-color:${colours[row]}`,
        onkeydown: (event) => {
          const to = { ArrowUp: state.order.indexOf(row) - 1, ArrowDown: state.order.indexOf(row) + 1, Home: 0, End: n - 1 }[event.key];
          if (to === undefined) return;
          event.preventDefault();
          move(row, to);
        },
        onpointerdown: (event) => {
          event.preventDefault();
          grip.focus();
          grip.setPointerCapture(event.pointerId);
          line.classList.add("xf-moving");
          const follow = ({ clientY }) => {
            const box = inputs.getBoundingClientRect();
            move(row, Math.floor((clientY - box.top) / (box.height / n)));
          };
          const stop = () => {
            line.classList.remove("xf-moving");
            for (const [kind, work] of ends) grip.removeEventListener(kind, work);
          };
          const ends = [
            ["pointermove", follow],
            ["pointerup", stop],
            ["pointercancel", stop],
          ];
          for (const [kind, work] of ends) grip.addEventListener(kind, work);
        },
      },
      word,
    );
    const earlier = kit.button("\u2191", () => shift(-1), { class: "xf-step", "aria-label": `move ${word} earlier` });
    const later = kit.button("\u2193", () => shift(1), { class: "xf-step", "aria-label": `move ${word} later` });
    const numbers = h("span", {});
    const line = h("li", {}, grip, earlier, later, numbers);
    return { line, grip, earlier, later, numbers, result: h("li", {}), held: () => line.contains(document.activeElement) };
  });
  const move = (row, to) => {
    const from = state.order.indexOf(row);
    const place = Math.min(n - 1, Math.max(0, to));
    if (place === from) return;
    state.order.splice(from, 1);
    state.order.splice(place, 0, row);
    update();
  };

  // ------------------------------------------------ controls
  const modeChoice = kit.choice({
    label: "layer",
    value: state.mode,
    onchange: (mode) => set({ mode }),
    options: [
      ["self", "self-attention"],
      ["causal", "causal"],
      ["positions", "with positions"],
      ["cross", "cross-attention"],
      ["mean", "mean of the rows"],
    ],
  });
  const preset = (text, change) => kit.button(text, () => set({ order: change([...state.order]) }));
  const swap = (order) => order.map((row) => ({ 0: n - 1, [n - 1]: 0 })[row] ?? row);
  const presets = h(
    "div",
    { class: "xf-row", role: "group", "aria-label": "orders" },
    preset(`Swap ${words[0]} and ${words[n - 1]}`, swap),
    preset("Reverse", (order) => order.reverse()),
    preset("Rotate", (order) => [...order.slice(1), order[0]]),
    preset("Start again", (order) => order.sort((a, b) => a - b)),
  );
  const inputHead = h("p", { class: "xf-head" }),
    outputHead = h("p", { class: "xf-head" });
  const verdict = h("div", {}),
    grid = h("div", {});
  stage.append(
    modeChoice,
    presets,
    h("div", { class: "xf-row" }, h("div", {}, inputHead, inputs), h("div", {}, outputHead, outputs)),
    h("div", { class: "xf-row xf-below" }, verdict, grid),
  );

  // ------------------------------------------------ what is said
  const zero = (value) => (value < same ? "0.0" : number(Math.max(value, 0.01)));
  const fate = (i) =>
    answer.rows[i] >= same
      ? `changed by ${zero(answer.rows[i])}`
      : modes[state.mode].still
        ? "as before"
        : state.order[i] !== i
          ? "moved along"
          : "as before";
  const sentence = () => {
    const { still } = modes[state.mode];
    const now = take(words, state.order).join(" ");
    if (state.order.every((row, i) => row === i)) return `${now}: nothing has moved yet.`;
    const changed = answer.rows.map((gap, i) => [gap, i]).filter(([gap]) => gap >= same);
    if (!changed.length)
      return still
        ? `${now}: ${state.mode === "mean" ? "the mean" : "every row of the output"} stayed as it was; largest difference 0.0.`
        : `${now}: every row of the output moved with its word; largest difference 0.0.`;
    const [gap, worst] = changed.reduce((one, other) => (other[0] > one[0] ? other : one));
    const first = state.mode === "causal" ? ` The first row, ${words[state.order[0]]}, reads itself alone.` : "";
    return `${now}: ${changed.length} of ${n} rows changed, most of all ${words[state.order[worst]]}, by ${zero(gap)}.${first}`;
  };
  const result = (question, gap, count) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, question),
      count === null
        ? h("td", { colspan: 2 }, "no output row belongs to a word")
        : [
            h("td", {}, gap < same ? "yes: 0.0" : `no: ${zero(gap)}`),
            h("td", {}, `${count} of ${orders.length}${count === 1 ? ": the first" : ""}`),
          ],
    );

  const update = () => {
    answer = solve();
    const { still, mask, name } = modes[state.mode];
    const held = lines.find((each) => each.held()),
      inHand = held && held.line;
    state.order.forEach((row, place) => {
      const { grip, earlier, later, numbers, result } = lines[row],
        word = words[row];
      grip.setAttribute("aria-label", `${word}, place ${place + 1} of ${n}; arrow keys move it`);
      earlier.setAttribute("aria-disabled", String(place === 0));
      later.setAttribute("aria-disabled", String(place === n - 1));
      numbers.replaceChildren(strip(answer.input[place], 1));
      if (!still) result.replaceChildren(...shown(word, place, colours[row]));
    });
    arrange(
      inputs,
      state.order.map((row) => lines[row].line),
      inHand,
    );
    arrange(
      outputs,
      still ? still.map((word, i) => h("li", {}, ...shown(word, i, "transparent"))) : state.order.map((row) => lines[row].result),
      null,
    );
    inputHead.textContent = { positions: "Input: word + place", cross: "Input: keys and values" }[state.mode] ?? "Input";
    outputHead.textContent = still
      ? `Output: ${still.length === 1 ? "the mean of all rows" : "a row for each French query"}`
      : "Output: a row for each word";
    verdict.replaceChildren(
      kit.scroll(
        "Verdict",
        h(
          "table",
          { class: "xf-verdict" },
          h("caption", {}, `${name}, against the first order`),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["the output", "this order, difference", "orders that pass"].map((word) => h("th", { scope: "col" }, word)),
            ),
          ),
          h(
            "tbody",
            {},
            result("moves with the words (equivariant)", answer.moved, answer.counts.moved),
            result("stays as it was (invariant)", answer.stayed, answer.counts.stayed),
          ),
        ),
      ),
    );
    const reading = take(words, state.order);
    grid.replaceChildren(
      kit.map({
        matrix: answer.weights,
        rows: state.mode === "cross" ? asking : reading,
        columns: reading,
        mask,
        title: `Weights: ${modes[state.mode].map}`,
      }),
    );
    say(sentence());
  };
  const shown = (word, i, colour) => [
    h("b", { style: `border-left:0.35rem solid ${colour};padding-left:0.3rem` }, word),
    strip(answer.output[i], 2),
    h("span", { class: answer.rows[i] < same ? "xf-fate" : "xf-fate xf-other" }, fate(i)),
  ];
  const set = (next) => {
    state = { ...state, ...next };
    modeChoice.set(state.mode);
    update();
  };
  update();
  return { set, read: () => ({ ...state, ...answer, order: [...state.order], said: sentence() }) };
};
