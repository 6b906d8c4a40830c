// A beam search over recorded probabilities of the shipped model, step by step, as a tree: kept, finished, fallen out.
const start = ({ stage, data, say }) => {
  const { h, s, number } = kit;
  const { end, sentences, fallen } = data;
  let state = { ...data.start };
  let answer;

  // ------------------------------------------------ the search, by the library's rules
  const search = ({ source, beam, penalty }) => {
    const { next, limit } = sentences[source];
    const scored = (one) => ({ ...one, score: one.logProb / one.pieces.length ** penalty });
    let live = [{ pieces: [], logProb: 0 }],
      best = [];
    const steps = [];
    for (let length = 1; ; length++) {
      const longer = live.flatMap((parent) =>
        next[parent.pieces.join(" ")].map(([piece, p]) => ({ pieces: [...parent.pieces, piece], logProb: parent.logProb + p })),
      );
      longer.sort((a, b) => b.logProb - a.logProb);
      const weighed = longer
        .slice(0, beam + fallen)
        .map((one, rank) => ({ ...one, fate: rank >= beam ? "falls out" : one.pieces.at(-1) === end ? "finished" : "kept" }));
      live = weighed.filter((one) => one.fate === "kept");
      const add = (rows) => {
        best = [...best, ...rows.map(scored)].sort((a, b) => b.score - a.score).slice(0, beam);
      };
      add(weighed.filter((one) => one.fate === "finished").map(({ pieces, logProb }) => ({ pieces, logProb })));
      const cut = !live.length || length === limit;
      if (cut && !best.length) add(live.map(({ pieces, logProb }) => ({ pieces, logProb })));
      const bound = live.length ? Math.max(...live.map((one) => one.logProb)) / limit ** penalty : null;
      const over = cut || (best.length === beam && best.at(-1).score >= bound);
      steps.push({ weighed, best: [...best], bound, over });
      if (over) return steps;
    }
  };
  const text = (pieces) =>
    pieces
      .filter((piece) => piece !== end)
      .join("")
      .replaceAll("\u2581", " ")
      .trim() || "(nothing)";

  // ------------------------------------------------ the tree: a column a step, the likeliest on top, a line below what is kept
  const [pitch, rise, width, high, first] = [80, 46, 68, 38, 50];
  const looks = { kept: ["var(--xf-first)", "none"], finished: ["var(--xf-third)", "none"], "falls out": ["var(--xf-line)", "4 3"] };
  const tree = () => {
    const { beam, step } = state,
      rows = beam + fallen;
    const wide = first + pitch * step + 8,
      tall = rise * rows + 26;
    const at = (column, rank) => [column ? first + pitch * (column - 1) + 2 : 1, 22 + rise * rank];
    const winner = answer.over ? answer.best[0].pieces : null;
    const picture = s("svg", {
      viewBox: `0 0 ${wide} ${tall}`,
      width: wide,
      height: tall,
      style: "max-width:none;font-size:12px",
      role: "img",
      "aria-label": `Tree of ${step} steps with ${beam === 1 ? "one beginning" : `${beam} beginnings`} kept; the same in the table below`,
    });
    const [rootX, rootY] = at(0, 0);
    picture.append(
      s("line", {
        x1: first,
        x2: wide - 4,
        y1: 20 + rise * beam,
        y2: 20 + rise * beam,
        stroke: "var(--xf-second)",
        "stroke-dasharray": "2 4",
        "stroke-width": 1.5,
      }),
      s("text", { x: rootX, y: rootY + 22 }, "<bos>"),
    );
    answer.steps.forEach(({ weighed }, n) => {
      picture.append(s("text", { x: at(n + 1, 0)[0] + width / 2, y: 13, "text-anchor": "middle" }, `step ${n + 1}`));
      weighed.forEach(({ pieces, logProb, fate }, rank) => {
        const [x, y] = at(n + 1, rank),
          stem = pieces.slice(0, -1).join(" ");
        const parent = n ? answer.steps[n - 1].weighed.findIndex((one) => one.pieces.join(" ") === stem) : 0;
        const [px, py] = at(n, parent),
          won = winner && pieces.every((piece, i) => winner[i] === piece);
        const [colour, dashes] = won ? ["var(--xf-second)", "none"] : looks[fate];
        picture.prepend(
          s("line", {
            x1: n ? px + width : 48,
            y1: py + high / 2,
            x2: x,
            y2: y + high / 2,
            stroke: colour,
            "stroke-dasharray": dashes,
            "stroke-width": won ? 4 : 2,
          }),
        );
        picture.append(
          s("rect", {
            x,
            y,
            width,
            height: high,
            rx: 6,
            fill: fate === "falls out" ? "var(--xf-paper)" : "var(--xf-soft)",
            stroke: colour,
            "stroke-dasharray": dashes,
            "stroke-width": won ? 3 : 2,
          }),
          s(
            "text",
            { x: x + width / 2, y: y + 16, "text-anchor": "middle", "font-weight": fate === "finished" ? "bold" : null },
            pieces.at(-1),
          ),
          s("text", { x: x + width / 2, y: y + 32, "text-anchor": "middle" }, number(logProb)),
        );
      });
    });
    return picture;
  };

  // ------------------------------------------------ controls
  const pick = kit.choice({
    label: "sentence",
    options: sentences.map(({ source }, n) => [n, source]),
    value: state.source,
    onchange: (source) => {
      state = { ...state, source, step: 1 };
      update();
    },
  });
  const size = kit.slider({
    label: "beam size",
    min: 1,
    max: 4,
    step: 1,
    value: state.beam,
    show: String,
    oninput: (beam) => {
      state.beam = beam;
      update();
    },
  });
  const alpha = kit.slider({
    label: "length penalty α",
    min: 0,
    max: 1.5,
    step: 0.25,
    value: state.penalty,
    oninput: (penalty) => {
      state.penalty = penalty;
      update();
    },
  });
  const go = (change) => () => {
    state.step = change(state.step);
    update();
  };
  const back = kit.button(
      "← step back",
      go((step) => step - 1),
    ),
    ahead = kit.button(
      "step forward →",
      go((step) => step + 1),
    );
  const begin = kit.button(
      "first step",
      go(() => 1),
    ),
    last = kit.button(
      "to the end",
      go(() => Infinity),
    );
  const box = kit.scroll("The tree of the search"),
    legend = h(
      "p",
      {},
      "Blue: kept. Green: finished. Dashed grey: falls out. Orange, at the end: the winner. The numbers are sums of log p; the mark \u2581 begins a word.",
    );
  const tables = h("div", { class: "xf-row" }),
    rule = h("p", {});
  stage.append(
    h("div", { class: "xf-row" }, pick),
    h("div", { class: "xf-row" }, size, alpha),
    h("div", { class: "xf-row" }, begin, back, ahead, last),
    box,
    legend,
    tables,
    rule,
  );

  const table = (caption, heads, rows, none) =>
    h(
      "div",
      { style: "max-width:100%" },
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
              heads.map((word) => h("th", { scope: "col" }, word)),
            ),
          ),
          h(
            "tbody",
            {},
            rows.length
              ? rows.map(([name, ...cells]) =>
                  h(
                    "tr",
                    {},
                    h("th", { scope: "row", style: "text-align:left" }, name),
                    cells.map((cell) => h("td", {}, cell)),
                  ),
                )
              : h("tr", {}, h("td", { colspan: heads.length }, none)),
          ),
        ),
      ),
    );
  const why = ({ bound, best, over }) => {
    const { limit } = sentences[state.source];
    if (over && bound === null) return "The search is over: nothing is left alive.";
    if (over && state.step === limit) return `The search is over: ${limit} pieces are the most allowed here.`;
    if (over)
      return `The search is over: what is alive can reach ${number(bound, 3)} at most, and the worst of ${best.length} finished has ${number(best.at(-1).score, 3)}.`;
    if (best.length < state.beam) return `The search goes on: ${best.length} of ${state.beam} finished.`;
    return `The search goes on: what is alive could still reach ${number(bound, 3)}, and the worst of ${best.length} finished has ${number(best.at(-1).score, 3)}.`;
  };
  const update = () => {
    const all = search(state);
    state.step = Math.max(1, Math.min(state.step, all.length));
    const now = all[state.step - 1];
    answer = {
      total: all.length,
      steps: all.slice(0, state.step),
      best: now.best,
      bound: now.bound,
      over: now.over,
      final: all.at(-1).best,
    };
    const focused = document.activeElement;
    [
      [begin, state.step === 1],
      [back, state.step === 1],
      [ahead, now.over],
      [last, now.over],
    ].forEach(([one, off]) => {
      one.disabled = off;
    });
    if (focused.disabled) (focused === begin || focused === back ? ahead : back).focus();
    box.replaceChildren(tree());
    box.scrollLeft = box.scrollWidth;
    tables.replaceChildren(
      table(
        `Step ${state.step}: the likeliest extensions`,
        ["said so far", "sum of log p", "fate"],
        now.weighed.map(({ pieces, logProb, fate }) => [text(pieces) + (pieces.at(-1) === end ? ` ${end}` : ""), number(logProb, 3), fate]),
      ),
      table(
        "Finished, best score first",
        ["sentence", "n", "sum", "score"],
        now.best.map(({ pieces, logProb, score }) => [text(pieces), String(pieces.length), number(logProb, 3), number(score, 3)]),
        "none yet",
      ),
    );
    rule.replaceChildren(why(now));
    const kept = now.weighed.filter(({ fate }) => fate === "kept").map(({ pieces }) => text(pieces));
    say(
      now.over
        ? `Found after ${state.step} steps: ${text(now.best[0].pieces)} Sum ${number(now.best[0].logProb, 3)}, score ${number(now.best[0].score, 3)}.`
        : `Step ${state.step} keeps ${kept.join("; ") || "nothing"}.`,
    );
  };
  const set = (next) => {
    state = { ...state, ...next };
    pick.set(state.source);
    size.set(state.beam);
    alpha.set(state.penalty);
    update();
  };
  update();
  return { set, read: () => ({ ...state, ...answer }) };
};
