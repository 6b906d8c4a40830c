// The encoder–decoder, one station after the other: name, formula, shape in letters and numbers, words on the axes, what is masked.
const start = ({ stage, data, say }) => {
  const { h, s } = kit;
  const { pairs, boxes, steps, longest } = data;
  let state = { ...data.start };
  let answer;

  // ------------------------------------------------ arithmetic of shapes, words and masks
  const least = (batch) => [0, 1].map((side) => Math.max(...pairs.slice(0, batch).map((pair) => pair[side].length)));
  const padded = (words, length) => [...words, ...Array(length - words.length).fill("<pad>")];
  const solve = () => {
    const sizes = { ...data.sizes, b: state.batch, s: state.source, t: state.target };
    const count = (part) => part.split("·").reduce((product, letter) => product * sizes[letter], 1);
    const [source, target] = pairs[state.sentence];
    const words = { source: padded(source, state.source), target: padded(target, state.target) };
    const step = steps[state.step],
      [rows, columns] = step.mask ? step.mask.split(" ") : [];
    const future = step.mask === "target target";
    const mask = rows && words[rows].map((_, i) => words[columns].map((word, j) => word !== "<pad>" && (!future || j <= i)));
    return {
      sizes,
      words,
      name: step.name,
      shapes: steps.map(({ shape }) => shape.split(" ").map(count)),
      mask: mask || null,
      rows: rows ? words[rows] : null,
      columns: columns ? words[columns] : null,
    };
  };

  // ------------------------------------------------ the map: two columns of boxes, read from the bottom
  const [wide, high, rise, gap] = [150, 30, 46, 12];
  const floor = Math.max(...boxes.map((box) => box[3]));
  const at = ([, , column, row]) => [column * (wide + gap), (floor - row) * rise + 2];
  const drawn = boxes.map((box) => {
    const [x, y] = at(box),
      rect = s("rect", { x: x + 1, y, width: wide - 2, height: high, rx: 6, stroke: "var(--xf-line)" });
    const text = s("text", { x: x + wide / 2, y: y + 20, "text-anchor": "middle" }, box[1]);
    const first = steps.findIndex((step) => step.box === box[0]);
    return {
      id: box[0],
      rect,
      group: s(
        "g",
        {
          style: "cursor:pointer",
          onclick: () => {
            state.step = first;
            update();
          },
        },
        rect,
        text,
      ),
    };
  });
  const line = (points) =>
    s("polyline", { points: points.map((point) => point.join()).join(" "), fill: "none", stroke: "var(--xf-line)", "stroke-width": 2 });
  const place = Object.fromEntries(boxes.map((box) => [box[0], at(box)]));
  const [memory, cross] = [place.memory, place.cross];
  const plan = s(
    "svg",
    {
      viewBox: `0 0 ${2 * wide + gap} ${(floor + 1) * rise}`,
      width: 2 * wide + gap,
      height: (floor + 1) * rise,
      role: "img",
      "aria-label": "The stations as boxes, from the ids below to the probabilities above",
    },
    boxes
      .filter((box) => box[3])
      .map((box) => {
        const [x, y] = at(box);
        return line([
          [x + wide / 2, y + high],
          [x + wide / 2, y + rise],
        ]);
      }),
    line([
      [memory[0] + wide - 1, memory[1] + high / 2],
      [wide + gap / 2, memory[1] + high / 2],
      [wide + gap / 2, cross[1] + high / 2],
      [cross[0] + 1, cross[1] + high / 2],
    ]),
    drawn.map(({ group }) => group),
  );

  // ------------------------------------------------ controls
  const slide = (label, name, min, max, show = String) =>
    kit.slider({
      label,
      min,
      max,
      step: 1,
      value: state[name],
      show,
      oninput: (x) => {
        state[name] = x;
        update();
      },
    });
  const controls = {
    step: slide("station", "step", 0, steps.length - 1, (x) => `${x + 1} of ${steps.length}`),
    batch: slide("sentences b", "batch", 1, pairs.length),
    source: slide("source tokens s", "source", 3, longest),
    target: slide("target tokens t", "target", 3, longest),
  };
  const move = (change) => () => {
    state.step += change;
    update();
  };
  const back = kit.button("← back", move(-1)),
    next = kit.button("next →", move(1));
  const which = h("div", {}),
    chart = h("div", {}),
    panel = h("div", { style: "flex:1 1 16rem;min-width:0" });
  stage.append(
    h("div", { class: "xf-row" }, back, next, controls.step),
    h("div", { class: "xf-row" }, plan, panel),
    chart,
    h("div", { class: "xf-row" }, controls.batch, controls.source, controls.target),
    which,
  );

  const grid = () => {
    const { rows, columns, mask } = answer,
      title = `Who may read whom, in “${pairs[state.sentence][0].slice(0, -1).join(" ")}”`;
    return kit.scroll(
      title,
      h(
        "table",
        { class: "xf-map" },
        h("caption", {}, title),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            kit.corner("query", "key"),
            columns.map((word) => h("th", { scope: "col" }, word)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((word, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, word),
              columns.map((_, j) =>
                mask[i][j] ? h("td", { style: "text-align:center" }, "reads") : h("td", { class: "xf-forbidden" }, "–"),
              ),
            ),
          ),
        ),
      ),
    );
  };
  const axis = (part) => {
    const letters = part.split("·"),
      names = letters.map((letter) => data.letters[letter]).join(" times ");
    const words = { s: answer.words.source, t: answer.words.target }[part];
    const size = letters.map((letter) => answer.sizes[letter]).reduce((a, b) => a * b);
    return h("li", {}, h("b", {}, part), ` = ${size}: ${names}${words ? ` (${words.join(" ")})` : ""}`);
  };
  const update = () => {
    const [s0, t0] = least(state.batch);
    state.source = Math.max(state.source, s0);
    state.target = Math.max(state.target, t0);
    state.sentence = Math.min(state.sentence, state.batch - 1);
    for (const [name, control] of Object.entries(controls)) control.set(state[name]);
    answer = solve();
    const step = steps[state.step],
      letters = step.shape.split(" "),
      numbers = `(${answer.shapes[state.step].join(", ")})`;
    const focused = document.activeElement;
    back.disabled = state.step === 0;
    next.disabled = state.step === steps.length - 1;
    if (focused === back && back.disabled) next.focus();
    if (focused === next && next.disabled) back.focus();
    for (const { id, rect } of drawn) {
      const here = id === step.box;
      for (const [name, value] of [
        ["fill", here ? "var(--xf-soft)" : "var(--xf-paper)"],
        ["stroke", here ? "var(--xf-accent)" : "var(--xf-line)"],
        ["stroke-width", here ? 3 : 1],
      ])
        rect.setAttribute(name, value);
    }
    panel.replaceChildren(
      h("p", {}, h("b", {}, `${state.step + 1} · ${step.name}`)),
      h("p", {}, step.what),
      h("p", {}, kit.paint(step.formula)),
      h("p", {}, `(${letters.join(", ")}) = `, h("b", {}, numbers)),
      h("ul", { style: "margin:0.4rem 0;padding-left:1.2rem" }, [...new Set(letters)].map(axis)),
      h(
        "p",
        { style: "overflow-wrap:anywhere" },
        "In the library: ",
        h("code", { style: "color:inherit;background:none;padding:0;border:0" }, step.where.replace("@", ", ")),
      ),
    );
    chart.replaceChildren(step.mask ? grid() : "");
    const options = pairs.slice(0, state.batch).map(([words], n) => [n, words.slice(0, -1).join(" ")]);
    const keep = which.contains(focused) ? state.sentence : null;
    which.replaceChildren(
      state.batch > 1
        ? kit.choice({
            label: "words of",
            options,
            value: state.sentence,
            onchange: (sentence) => {
              state.sentence = sentence;
              update();
            },
          })
        : "",
    );
    if (keep !== null) which.querySelectorAll("button")[keep].focus();
    say(`Station ${state.step + 1}, ${step.name}: ${numbers}.`);
  };
  const set = (next_) => {
    state = { ...state, ...next_ };
    update();
  };
  update();
  return { set, read: () => ({ ...state, ...answer }) };
};
