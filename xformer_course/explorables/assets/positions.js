// Four looks at places: the sinusoidal table, its similarities, a shift as a rotation, and rotary queries and keys.
const start = ({ stage, data, say }) => {
  const { h, s, number } = kit;
  const { dim, length, base } = data;
  let state = { view: "table", ...data.start };
  let answer;

  // ------------------------------------------------ arithmetic
  const frequencies = (width) => Array.from({ length: width / 2 }, (_, k) => base ** ((-2 * k) / width));
  const row = (place, width) => frequencies(width).flatMap((omega) => [Math.sin(omega * place), Math.cos(omega * place)]);
  // One block [[cos, sin], [-sin, cos]] for each pair, as in shift_matrix.
  const shiftMatrix = (width, offset) => {
    const matrix = Array.from({ length: width }, () => Array(width).fill(0));
    frequencies(width).forEach((omega, k) => {
      const [c, z] = [Math.cos(offset * omega), Math.sin(offset * omega)];
      matrix[2 * k][2 * k] = matrix[2 * k + 1][2 * k + 1] = c;
      matrix[2 * k][2 * k + 1] = z;
      matrix[2 * k + 1][2 * k] = -z;
    });
    return matrix;
  };
  const rotary = (x, place) =>
    frequencies(x.length).flatMap((omega, k) => {
      const [a, b, c, z] = [x[2 * k], x[2 * k + 1], Math.cos(omega * place), Math.sin(omega * place)];
      return [a * c - b * z, a * z + b * c];
    });
  const solve = () => {
    const { place, offset, width, query, key, shift } = state;
    const here = row(place, width);
    const [q, k] = [rotary(data.q, query + shift), rotary(data.k, key + shift)];
    return {
      frequencies: frequencies(dim),
      row: row(place, dim),
      similarity: Array.from({ length }, (_, j) => kit.dot(here, row(j, width)) / (width / 2)),
      turned: kit.matmul(shiftMatrix(dim, offset), kit.transpose([row(place, dim)])).flat(),
      moved: row(place + offset, dim),
      angles: frequencies(dim).map((omega) => offset * omega),
      q,
      k,
      score: kit.dot(q, k),
      parts: data.q.flatMap((_, i) => (i % 2 ? [] : [q[i] * k[i] + q[i + 1] * k[i + 1]])),
    };
  };

  // ------------------------------------------------ drawing
  const degrees = (radians) => `${number((radians * 180) / Math.PI, 1)}°`;
  // A circle with hands; `hands` are [x, y, colour, dashes], y upwards, 1 the radius.
  const dial = (title, hands, chosen = false, label = title) => {
    const [side, middle, radius] = [86, 43, 34];
    return s(
      "svg",
      { viewBox: `0 0 ${side} ${side + 16}`, width: side, height: side + 16, role: "img", "aria-label": label },
      s("circle", {
        cx: middle,
        cy: middle,
        r: radius,
        fill: chosen ? "var(--xf-soft)" : "none",
        stroke: chosen ? "var(--xf-accent)" : "var(--xf-line)",
        "stroke-width": chosen ? 3 : 1,
      }),
      hands.map(([x, y, colour, dashes]) =>
        s("line", {
          x1: middle,
          y1: middle,
          x2: middle + radius * x,
          y2: middle - radius * y,
          stroke: colour,
          "stroke-width": 3,
          "stroke-dasharray": dashes,
        }),
      ),
      s("text", { x: middle, y: side + 10, "text-anchor": "middle" }, title),
    );
  };
  const [ROW, MARK, FAINT] = ["var(--xf-quiet)", "var(--xf-accent)", "var(--xf-line)"];
  const [QUERY, KEY] = ["var(--query)", "var(--key)"];
  const table = (caption, heads, rows, style = null) =>
    kit.scroll(
      caption,
      h(
        "table",
        { style },
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
          rows.map(([name, ...cells]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              cells.map((cell) => h("td", {}, cell)),
            ),
          ),
        ),
      ),
    );

  // Places from left to right, columns of the table from top to bottom; built once, the frame moves.
  const [left, cell, high] = [44, 4, 11];
  const cells = Array.from({ length }, (_, place) =>
    row(place, dim).map((value, column) =>
      s("rect", {
        x: left + cell * place,
        y: high * column,
        width: cell + 0.4,
        height: high + 0.4,
        style: kit
          .shade((value + 1) / 2)
          .replace("background", "fill")
          .split(";")[0],
      }),
    ),
  );
  const frame = s("rect", { width: cell + 2, height: 2 * high, fill: "none", stroke: MARK, "stroke-width": 3 });
  const heat = s(
    "svg",
    {
      viewBox: `0 0 ${left + cell * length + 4} ${high * dim + 20}`,
      width: left + cell * length + 4,
      height: high * dim + 20,
      role: "img",
      "aria-label": "The table: one column for each place, two rows for each pair",
    },
    cells,
    frequencies(dim).map((_, k) => s("text", { x: 0, y: high * (2 * k + 1) + 5 }, `k = ${k}`)),
    [0, 16, 32, 48].map((place) => s("text", { x: left + cell * place, y: high * dim + 15 }, String(place))),
    s("text", { x: left + cell * length, y: high * dim + 15, "text-anchor": "end" }, "place"),
    frame,
  );
  heat.addEventListener("pointerdown", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(heat.getScreenCTM().inverse());
    const clamp = (value, most) => Math.min(most, Math.max(0, Math.floor(value)));
    set({ place: clamp((point.x - left) / cell, length - 1), pair: clamp(point.y / (2 * high), dim / 2 - 1) });
  });

  const curve = () => {
    const [wide, tall, room] = [308, 170, 34];
    const at = (place, value) => [room + ((wide - room - 6) * place) / (length - 1), 8 + ((tall - 28) * (1 - value)) / 1.4];
    const shape = (values, attributes) =>
      s("polyline", { points: values.map((value, j) => at(j, value).join()).join(" "), fill: "none", ...attributes });
    const centre = Math.floor(length / 2),
      middle = row(centre, state.width);
    const reference = Array.from({ length }, (_, j) => kit.dot(middle, row(j, state.width)) / (state.width / 2));
    const [x] = at(state.place, 0);
    return s(
      "svg",
      {
        viewBox: `0 0 ${wide} ${tall}`,
        width: wide,
        height: tall,
        role: "img",
        "aria-label": `Similarity of place ${state.place} to all places`,
      },
      [0, 0.5, 1].map((value) => [
        s("line", { x1: room, x2: wide - 6, y1: at(0, value)[1], y2: at(0, value)[1], stroke: FAINT, "stroke-width": 0.5 }),
        s("text", { x: room - 5, y: at(0, value)[1] + 4, "text-anchor": "end" }, String(value)),
      ]),
      s("line", { x1: x, x2: x, y1: 8, y2: tall - 20, stroke: MARK, "stroke-width": 1.5 }),
      shape(reference, { stroke: FAINT, "stroke-width": 1.5, "stroke-dasharray": "3 3" }),
      shape(answer.similarity, { stroke: ROW, "stroke-width": 2.5 }),
      [0, 16, 32, 48].map((place) => s("text", { x: at(place, 0)[0], y: tall - 4, "text-anchor": "middle" }, String(place))),
      s("text", { x: wide - 4, y: tall - 4, "text-anchor": "end" }, "place"),
    );
  };

  // ------------------------------------------------ controls; each view shows its own
  const whole = (x) => String(x).replace("-", "\u2212");
  const slide = (label, name, min, max) =>
    kit.slider({
      label,
      min,
      max,
      step: 1,
      value: state[name],
      show: whole,
      oninput: (x) => {
        state[name] = x;
        update();
      },
    });
  const controls = {
    place: slide("place i", "place", 0, length - 1),
    pair: slide("pair k", "pair", 0, dim / 2 - 1),
    offset: slide("offset δ", "offset", -16, 16),
    query: slide("query's place m", "query", 0, 20),
    key: slide("key's place n", "key", 0, 20),
    shift: slide("move both by", "shift", 0, 40),
  };
  const widths = kit.choice({
    label: "columns",
    options: data.widths.map((width) => [width, String(width)]),
    value: state.width,
    onchange: (width) => {
      state.width = width;
      update();
    },
  });
  const views = kit.choice({
    label: "look at",
    value: state.view,
    onchange: (view) => {
      state.view = view;
      update();
    },
    options: [
      ["table", "the table"],
      ["similarity", "similarity"],
      ["shift", "a shift"],
      ["rotary", "rotary"],
    ],
  });
  const needed = { table: ["place", "pair"], similarity: ["place"], shift: ["place", "offset", "pair"], rotary: ["query", "key", "shift"] };
  const bench = h("div", { class: "xf-row" }),
    board = h("div", {});
  stage.append(h("div", { class: "xf-row" }, views), bench, board);

  const boards = {
    table: () => {
      frame.setAttribute("x", left + cell * state.place - 1);
      frame.setAttribute("y", 2 * high * state.pair);
      const omega = answer.frequencies[state.pair],
        [sine, cosine] = answer.row.slice(2 * state.pair, 2 * state.pair + 2);
      say(
        `Pair ${state.pair} turns by ${number(omega, 4)} radians a place and comes round every ${number((2 * Math.PI) / omega, 1)} places; at place ${state.place} it holds ${number(sine)} and ${number(cosine)}.`,
      );
      return [
        h("p", {}, "The whole table, deep violet for 1 and paper for −1; for each pair the sine above the cosine"),
        h(
          "div",
          { class: "xf-row" },
          heat,
          table(
            "The chosen pair",
            ["number", `k = ${state.pair}`],
            [
              ["frequency", number(omega, 4)],
              ["wavelength", number((2 * Math.PI) / omega, 1)],
              [`sine at ${state.place}`, number(sine, 3)],
              [`cosine at ${state.place}`, number(cosine, 3)],
            ],
          ),
        ),
        h("p", {}, `The row of place ${state.place} as eight hands: to the right the cosine, upwards the sine`),
        h(
          "div",
          { class: "xf-row" },
          answer.frequencies.map((_, k) => dial(`k = ${k}`, [[answer.row[2 * k + 1], answer.row[2 * k], ROW]], k === state.pair)),
        ),
      ];
    },
    similarity: () => {
      const near = [0, 1, 3, 10, 19].map((offset) => [-offset, offset].map((step) => answer.similarity[state.place + step]));
      const rest = (value) => (value === undefined ? "–" : number(value, 3));
      const other = state.place + 3 < length ? state.place + 3 : state.place - 3;
      say(
        `Places ${Math.min(state.place, other)} and ${Math.max(state.place, other)}: similarity ${number(answer.similarity[other])}; so it is for any two places 3 apart.`,
      );
      return [
        h(
          "p",
          {},
          `Dot product of row ${state.place} with every row, 1 for the same row; dashed: the same for place ${Math.floor(length / 2)}`,
        ),
        curve(),
        table(
          "Similarity by distance",
          ["distance", "before", "after"],
          [0, 1, 3, 10, 19].map((offset, n) => [offset, ...near[n].map(rest)]),
        ),
      ];
    },
    shift: () => {
      const { place, offset, pair } = state,
        most = Math.max(...answer.turned.map((value, j) => Math.abs(value - answer.moved[j])));
      const [sine, cosine] = answer.turned.slice(2 * pair, 2 * pair + 2);
      say(`Pair ${pair} turns by ${degrees(answer.angles[pair])}, wherever it stands: row ${place} becomes row ${place + offset}.`);
      return [
        h(
          "p",
          {},
          `Grey, dashed: row ${place}. Purple: the same, turned by M for δ = ${whole(offset)}; counterclockwise is forwards. Below each: its pair and angle`,
        ),
        h(
          "div",
          { class: "xf-row" },
          answer.frequencies.map((_, k) =>
            dial(
              `${k}: ${degrees(answer.angles[k])}`,
              [
                [answer.row[2 * k + 1], answer.row[2 * k], ROW, "4 3"],
                [answer.turned[2 * k + 1], answer.turned[2 * k], MARK],
              ],
              k === pair,
              `pair ${k} turns by ${degrees(answer.angles[k])}`,
            ),
          ),
        ),
        table(
          `Pair ${pair}: the block of M, and where it leads`,
          ["entry", "M, sine", "M, cosine", `row ${place}`, "M · row", `row ${whole(place + offset)}`],
          [
            [
              "sine",
              number(Math.cos(answer.angles[pair])),
              number(Math.sin(answer.angles[pair])),
              number(answer.row[2 * pair]),
              number(sine),
              number(answer.moved[2 * pair]),
            ],
            [
              "cosine",
              number(-Math.sin(answer.angles[pair])),
              number(Math.cos(answer.angles[pair])),
              number(answer.row[2 * pair + 1]),
              number(cosine),
              number(answer.moved[2 * pair + 1]),
            ],
          ],
        ),
        h(
          "p",
          {},
          `Largest difference between M · row ${place} and row ${whole(place + offset)}, over all ${dim} columns: ${most < 1e-12 ? "0, up to rounding" : number(most, 12)}`,
        ),
      ];
    },
    rotary: () => {
      const [m, n] = [state.query + state.shift, state.key + state.shift];
      say(`Query at ${m}, key at ${n}, offset ${whole(n - m)}: the score is ${number(answer.score, 3)}.`);
      return [
        h(
          "p",
          {},
          "Blue: the ",
          h("b", { class: "xf-query" }, "query"),
          ` at place ${m}. Orange: the `,
          h("b", { class: "xf-key" }, "key"),
          ` at place ${n}. Dashed: both before the turn; counterclockwise is forwards`,
        ),
        h(
          "div",
          { class: "xf-row" },
          answer.parts.map((_, k) => {
            const [a, b] = [2 * k, 2 * k + 1],
              far = Math.max(...[data.q, data.k].map((x) => Math.hypot(x[a], x[b])));
            const hand = (x, ...look) => [x[a] / far, x[b] / far, ...look];
            return dial(`pair ${k}`, [hand(data.q, QUERY, "2 5"), hand(data.k, KEY, "2 5"), hand(answer.q, QUERY), hand(answer.k, KEY)]);
          }),
        ),
        table(
          "The score: a sum over the pairs",
          ["places", "score", ...answer.parts.map((_, k) => `pair ${k}`)],
          [[`m = ${m}, n = ${n}`, number(answer.score, 3), ...answer.parts.map((part) => number(part, 3))]],
          "white-space:nowrap",
        ),
        h(
          "p",
          {},
          `The offset n − m is ${whole(n - m)}; with query and key at place 0 the score is ${number(kit.dot(data.q, data.k), 3)}.`,
        ),
      ];
    },
  };
  const update = () => {
    if (state.place + state.offset < 0) controls.offset.set((state.offset = -state.place)); // the table begins at place 0
    answer = solve();
    const tools = [...needed[state.view].map((name) => controls[name]), ...(state.view === "similarity" ? [widths] : [])];
    if (tools.some((tool, n) => bench.children[n] !== tool) || bench.children.length !== tools.length) bench.replaceChildren(...tools);
    board.replaceChildren(...boards[state.view]());
  };
  const set = (next) => {
    state = { ...state, ...next };
    for (const [name, control] of Object.entries(controls)) control.set(state[name]);
    views.set(state.view);
    widths.set(state.width);
    update();
  };
  update();
  return { set, read: () => ({ ...state, ...answer }) };
};
