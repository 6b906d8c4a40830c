// A bet: what percentage of the held-out rows a reader expects to be right after each fifth of the steps; it is drawn before the run.
const bets = (() => {
  const FIFTHS = [0.2, 0.4, 0.6, 0.8, 1];
  const is = (bet) => Array.isArray(bet) && bet.length === FIFTHS.length && bet.every((value) => Number.isInteger(value) && value >= 0 && value <= 100);
  const listed = (bet) => `${bet.join(", ")} %`;
  const at = (bet, share) => {
    const values = [0, ...bet],
      before = Math.min(FIFTHS.length - 1, Math.floor(share * FIFTHS.length));
    return values[before] + (values[before + 1] - values[before]) * (share * FIFTHS.length - before);
  };
  // How far off a row's bet is, at every test that all its runs have had, from their mean.
  const off = ({ bet, runs, parts }) => {
    const tests = (runs[0]?.right ?? [])
      .filter((_, n) => bet && runs.every(({ right }) => n < right.length))
      .map(([step], n) => {
        const got = (100 * runs.reduce((sum, { right }) => sum + right[n][1], 0)) / runs.length,
          said = at(bet, step / parts.steps);
        return { step, got, said, apart: Math.abs(got - said) };
      });
    return tests.length
      ? {
          points: tests.reduce((sum, { apart }) => sum + apart, 0) / tests.length,
          far: tests.reduce((one, other) => (other.apart > one.apart ? other : one)),
          until: tests.at(-1).step,
        }
      : null;
  };
  const size = ({ points }) => (points < 1 ? "less than a point" : `${kit.number(points, 0)} point${points < 1.5 ? "" : "s"}`);
  const told = (row) => {
    const found = off(row);
    if (!found) return "";
    const { far, until } = found,
      round = (value) => kit.number(value, 0),
      start = until < row.parts.steps ? `Up to step ${until}, your bet` : "Your bet",
      from = row.runs.length > 1 ? `, from the mean of ${row.runs.length} seeds` : "";
    if (far.apart < 0.5) return `${start} was right at every test${from}.`;
    return `${start} was ${size(found)} off in the mean${from}. It was farthest off at step ${far.step}: you said ${round(far.said)} %, and ${round(far.got)} % were right.`;
  };
  const inRow = (row) => `bet ${listed(row.bet)}, ${off(row) ? `${size(off(row))} off in the mean` : "never tested"}`;
  return { FIFTHS, is, listed, off, told, inRow };
})();

// The bet in the chart, and below it what came of the last one.
const betting = ({ state, unit, open }) => {
  const { h, s } = kit,
    { FIFTHS } = bets;
  let handles = [],
    update = () => {}; // the chart that is there now

  const curve = (bet, steps, { x, y }) => `M${[[0, 0], ...bet.map((value, n) => [FIFTHS[n] * steps, value])].map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join("L")}`;
  const dashed = { fill: "none", stroke: "var(--xf-ink)", "stroke-width": 2, "stroke-dasharray": "5 5" };
  const label = (bet, steps, { x, y }, text) => s("text", { x: x(steps) - 6, y: y(bet.at(-1)) + (bet.at(-1) > 80 ? 30 : -10), "text-anchor": "end", class: "xf-lab-over" }, text);
  const point = (svg, { clientX, clientY }) => new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
  // Draws the bets of the rows and, before a run, the reader's next one, with a handle for each fifth.
  const draw = (svg, scales, rows) => {
    const { x, y, last } = scales,
      had = handles.findIndex((one) => one.shape === document.activeElement);
    for (const { bet, n, parts } of rows)
      if (bet) svg.append(s("path", { d: curve(bet, parts.steps, scales), ...dashed }), label(bet, parts.steps, scales, `bet ${n}`));
    handles = [];
    update = () => {};
    if (!open()) return;
    svg.setAttribute("role", "group"); // a picture would hide its handles
    const line = s("path", dashed),
      layer = s("g", {}, line),
      edge = 10, // a stroke may begin on an axis
      surface = s("rect", { x: x(0) - edge, y: y(100) - edge, width: x(last) - x(0) + 2 * edge, height: y(0) - y(100) + 2 * edge, fill: "transparent", class: "xf-lab-surface" });
    svg.append(surface, layer);
    const steps = state.parts.steps;
    update = () => {
      layer.style.display = state.bet ? "" : "none";
      if (!state.bet) return;
      line.setAttribute("d", curve(state.bet, steps, scales));
      handles.forEach((one, n) => one.set({ y: state.bet[n] }));
    };
    handles = FIFTHS.map((share, n) => {
      const step = Math.round(share * steps),
        shape = s("g", { "aria-orientation": "vertical" }, s("circle", { r: 15, fill: "transparent" }), s("circle", { r: 6, fill: "var(--xf-paper)", stroke: "var(--xf-ink)", "stroke-width": 2.5 }));
      layer.append(shape);
      const { set } = kit.handle({
        ...{ svg, shape, step: 5, range: { y: [0, 100] }, at: { y: 0 }, label: `Your bet at step ${step}` },
        place: (now) => [x(step), y(now.y)],
        show: (now) => `${kit.number(now.y, 0)} % of the ${unit()} right`,
        onmove: (now) => {
          state.bet = state.bet.map((value, other) => (other === n ? Math.round(now.y) : value));
          show();
        },
      });
      return { shape, set, x: x(step) };
    });
    // A stroke over the chart draws the bet from there on.
    surface.addEventListener("pointerdown", (event) => {
      let before = point(svg, event);
      const value = (place) => Math.round(Math.min(100, Math.max(0, (100 * (y(0) - place)) / (y(0) - y(100)))));
      surface.setPointerCapture(event.pointerId);
      const stroke = (moved) => {
        const now = point(svg, moved);
        if (!state.bet && Math.abs(now.x - before.x) < 6) return; // a press is no bet
        const between = (place) => before.y + ((now.y - before.y) * (place - before.x)) / (now.x - before.x),
          onward = now.x >= before.x;
        state.bet = handles.map(({ x: place }, n) => {
          if (onward ? place < before.x : place > before.x || place < now.x) return state.bet?.[n] ?? value(before.y);
          return value(onward && place >= now.x ? now.y : between(place));
        });
        before = now;
        show();
      };
      const stop = () => {
        surface.removeEventListener("pointermove", stroke);
        for (const end of ["pointerup", "pointercancel"]) surface.removeEventListener(end, stop);
      };
      surface.addEventListener("pointermove", stroke);
      for (const end of ["pointerup", "pointercancel"]) surface.addEventListener(end, stop);
    });
    update();
    queueMicrotask(() => handles[had]?.shape.focus({ preventScroll: true })); // this chart takes the place of another one
  };

  // ---------------------------------------------------------------- below it
  const begin = kit.button("Draw your bet", () => {
      state.bet = FIFTHS.map((share) => 100 * share);
      show();
      handles[0].shape.focus();
    }),
    drop = kit.button("No bet", () => {
      state.bet = null;
      show();
      begin.focus();
    }),
    said = h("p", {}),
    box = h("div", { class: "xf-row xf-lab-bet" }, begin, drop, said);
  let newest = null;
  const show = (row = newest) => {
    newest = row;
    update();
    begin.hidden = !open() || Boolean(state.bet);
    drop.hidden = !open() || !state.bet;
    if (state.bet && open()) said.textContent = `Your bet: ${bets.listed(state.bet)}. Drag its points, or move them with the arrow keys; then train.`;
    else said.textContent = row ? bets.told(row) : "";
  };
  return { box, draw, show };
};
