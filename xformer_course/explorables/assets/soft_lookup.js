// Drag the query among the keys: scores, weights, and the mean of the values.
const start = ({ stage, data, say }) => {
  const { h, s, number } = kit;
  const { names, cities, keys, values } = data;
  let state = { query: [...data.query], temperature: data.temperature };
  let answer;

  const solve = () => {
    const scores = keys.map((key) => kit.dot(key, state.query));
    const weights = kit.softmax(scores.map((score) => score / state.temperature));
    return { scores, weights, output: kit.matmul([weights], values)[0] };
  };

  // ------------------------------------------------ the plane of keys: two units across, query draggable
  const side = 240,
    unit = side / (2 * data.reach);
  const place = (x, y) => [side / 2 + unit * x, side / 2 - unit * y];
  const line = (from, to, attributes) => s("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...attributes });
  const plane = s(
    "svg",
    { viewBox: `0 0 ${side} ${side}`, width: side, height: side, role: "group", "aria-label": "Keys and query" },
    line(place(-data.reach, 0), place(data.reach, 0), { stroke: "var(--xf-line)" }),
    line(place(0, -data.reach), place(0, data.reach), { stroke: "var(--xf-line)" }),
    keys.map((key, j) => [
      line(place(0, 0), place(...key), { stroke: "var(--key)", "stroke-width": 2 }),
      s("text", { class: "xf-key", x: place(...key)[0], y: place(...key)[1] + (key[1] > 0 ? -6 : 16), "text-anchor": "middle" }, names[j]),
    ]),
  );
  const arm = line(place(0, 0), place(...state.query), { stroke: "var(--query)", "stroke-width": 3 });
  const grip = s("g", {}, s("circle", { r: 13, fill: "transparent" }), s("circle", { r: 8, fill: "var(--query)" }));
  plane.append(arm, grip);
  const pull = kit.handle({
    svg: plane,
    shape: grip,
    label: "query",
    step: 0.1,
    at: { x: state.query[0], y: state.query[1] },
    range: { x: [-data.reach, data.reach], y: [-data.reach, data.reach] },
    place: ({ x, y }) => place(x, y),
    show: ({ x, y }) => `${number(x, 1)} and ${number(y, 1)}`,
    onmove: ({ x, y }) => {
      state.query = [x, y];
      update();
    },
  });

  // ------------------------------------------------ the map of values: the answer stays in their triangle
  const [east, north] = data.frame;
  const spot = ([x, y]) => [((x - east[0]) / (east[1] - east[0])) * side, ((north[1] - y) / (north[1] - north[0])) * side];
  const top = values.reduce((best, value, j) => (value[1] > values[best][1] ? j : best), 0);
  const chart = s(
    "svg",
    {
      viewBox: `0 0 ${side} ${side}`,
      width: side,
      height: side,
      role: "img",
      "aria-label": `Values and output, north at the top; a dashed line at ${cities[top]}'s latitude`,
    },
    s("text", { x: 4, y: 16 }, "north \u2191"),
    line([0, spot(values[top])[1]], [side, spot(values[top])[1]], { stroke: "var(--xf-quiet)", "stroke-dasharray": "5 4" }),
    s("text", { x: 4, y: spot(values[top])[1] - 6 }, `${cities[top]}'s latitude`),
    s("polygon", { points: values.map((value) => spot(value).join()).join(" "), fill: "var(--xf-soft)", stroke: "var(--xf-line)" }),
    values.map((value, j) => [
      s("rect", { x: spot(value)[0] - 4, y: spot(value)[1] - 4, width: 8, height: 8, fill: "var(--value)" }),
      s("text", { class: "xf-value", x: spot(value)[0], y: spot(value)[1] + (j === 0 ? 20 : -9), "text-anchor": "middle" }, cities[j]),
    ]),
  );
  const found = s("circle", { r: 7, fill: "var(--xf-accent)" });
  chart.append(found);

  const heat = kit.slider({
    label: "temperature (0.01 \u2026 10)",
    min: -2,
    max: 1,
    step: 0.05,
    value: Math.log10(state.temperature),
    show: (x) => number(10 ** x),
    oninput: (x) => {
      state.temperature = 10 ** x;
      update();
    },
  });
  const reset = kit.button("Start again", () => set({ query: [...data.query], temperature: data.temperature }));
  const numbers = h("div", {});
  stage.append(
    h(
      "div",
      { class: "xf-row" },
      h(
        "div",
        {},
        h("p", {}, h("b", { class: "xf-key" }, "Keys"), ", and the ", h("b", { class: "xf-query" }, "query"), " to drag"),
        plane,
      ),
      h("div", {}, h("p", {}, h("b", { class: "xf-value" }, "Values"), " (squares), and the output (a dot)"), chart),
      numbers,
    ),
    h("div", { class: "xf-row" }, heat, reset),
  );

  const update = () => {
    answer = solve();
    const tip = place(...state.query);
    arm.setAttribute("x2", tip[0]);
    arm.setAttribute("y2", tip[1]);
    const [x, y] = spot(answer.output);
    found.setAttribute("cx", x);
    found.setAttribute("cy", y);
    numbers.replaceChildren(
      h(
        "table",
        {},
        h("caption", {}, "One query against three keys"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["key", "score", "weight"].map((word) => h("th", { scope: "col" }, kit.paint(word))),
          ),
        ),
        h(
          "tbody",
          {},
          names.map((name, j) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              h("td", {}, number(answer.scores[j])),
              h("td", { style: kit.shade(answer.weights[j]) }, number(answer.weights[j])),
            ),
          ),
        ),
      ),
    );
    const best = answer.weights.indexOf(Math.max(...answer.weights));
    say(
      `${names[best]} weighs most, ${number(answer.weights[best])}; output ${number(answer.output[0], 1)}° east, ${number(answer.output[1], 1)}° north.`,
    );
  };
  const set = (next) => {
    state = { ...state, ...next };
    pull.set({ x: state.query[0], y: state.query[1] });
    heat.set(Math.log10(state.temperature));
    update();
  };
  update();
  return { set, read: () => ({ ...state, ...answer }) };
};
