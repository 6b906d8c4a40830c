// A recorded training run: at each moment its validation loss, five translations, and one head's map of the chosen sentence.
const start = ({ stage, data, say }) => {
  const { h, s, number } = kit;
  const { moments, sentences } = data;
  let state = { ...data.start };
  const steps = (n) => moments[n].step.toLocaleString("en");
  const short = (word) => (word.length > 14 ? `${word.slice(0, 13)}\u2026` : word);

  // ------------------------------------------------ the curve: a place for each moment, since each has twice the steps of the one before
  const [wide, high, left, right, top, bottom] = [308, 190, 30, 24, 24, 40];
  const most = Math.ceil(Math.max(...moments.map((one) => one.validation_loss)));
  const x = (n) => left + (n * (wide - left - right)) / (moments.length - 1);
  const y = (loss) => high - bottom - (loss * (high - top - bottom)) / most;
  const line = (x1, y1, x2, y2, stroke, more = {}) => s("line", { x1, y1, x2, y2, stroke, ...more });
  const mark = s("circle", { r: 6, fill: "var(--xf-accent)" });
  const stem = line(0, top, 0, high - bottom, "var(--xf-accent)", { "stroke-dasharray": "3 3" });
  const curve = s(
    "svg",
    {
      viewBox: `0 0 ${wide} ${high}`,
      width: wide,
      height: high,
      class: "xf-learning-curve",
      role: "img",
      "aria-label": `The validation loss falls from ${number(moments[0].validation_loss)} to ${number(moments.at(-1).validation_loss)} in ${steps(moments.length - 1)} steps`,
    },
    s("text", { x: 0, y: 13 }, "validation loss"),
    Array.from({ length: Math.floor(most / 2) + 1 }, (_, n) => [
      line(left, y(2 * n), wide - right, y(2 * n), n ? "var(--xf-hidden)" : "var(--xf-line)"),
      s("text", { x: left - 6, y: y(2 * n) + 4, "text-anchor": "end" }, String(2 * n)),
    ]),
    moments.map((_, n) => n % 2 === 0 && s("text", { x: x(n), y: high - bottom + 17, "text-anchor": "middle" }, steps(n))),
    s("text", { x: wide - right, y: high - 5, "text-anchor": "end" }, "steps"),
    s("path", {
      d: moments.map((one, n) => `${n ? "L" : "M"}${x(n)} ${y(one.validation_loss)}`).join(""),
      fill: "none",
      stroke: "var(--xf-ink)",
      "stroke-width": 2,
    }),
    moments.map((one, n) => s("circle", { cx: x(n), cy: y(one.validation_loss), r: 3, fill: "var(--xf-ink)" })),
    stem,
    mark,
  );

  // ------------------------------------------------ controls
  const slider = kit.slider({
    label: "steps",
    min: 0,
    max: moments.length - 1,
    step: 1,
    value: state.moment,
    show: steps,
    oninput: (moment) => set({ moment }),
  });
  const numbers = h("p", {});
  const rows = sentences.map(({ source, about }, n) => ({
    button: kit.button(source.slice(0, -1).join(" "), () => set({ sentence: n }), { title: about }),
    said: h("span", { lang: "fr" }),
  }));
  const map = h("div", {});
  stage.append(
    slider,
    numbers,
    h(
      "div",
      { class: "xf-row" },
      curve,
      h(
        "div",
        { class: "xf-learning-said", role: "group", "aria-label": "Five sentences and their translations: press one for its map" },
        rows.map(({ button, said }) => h("div", {}, button, said)),
      ),
    ),
    map,
  );

  const update = () => {
    const now = moments[state.moment],
      { text, words, shares } = now.said[state.sentence];
    for (const [name, value] of [
      ["cx", x(state.moment)],
      ["cy", y(now.validation_loss)],
    ])
      mark.setAttribute(name, value);
    for (const name of ["x1", "x2"]) stem.setAttribute(name, x(state.moment));
    numbers.textContent = `${now.sentences.toLocaleString("en")} sentences read, ${number(now.minutes, 1)} minutes; validation loss ${number(now.validation_loss)}, BLEU ${number(now.bleu, 1)}`;
    rows.forEach(({ button, said }, n) => {
      button.setAttribute("aria-pressed", String(n === state.sentence));
      said.textContent = now.said[n].text;
    });
    map.replaceChildren(
      ...(words.length
        ? [
            h("p", {}, kit.paint(`Before it writes a French word (query), which English words (keys) does head ${data.head} of layer ${data.layer} read?`)),
            kit.map({
              matrix: shares.slice(0, data.rows),
              rows: words.slice(0, data.rows).map(short),
              columns: sentences[state.sentence].source,
              high: 100,
              digits: 0,
              title: `Cross-attention, in hundredths${words.length > data.rows ? `; ${words.length - data.rows} more words` : ""}`,
            }),
          ]
        : [h("p", {}, "It writes nothing, so there is no map.")]),
    );
    say(`After ${steps(state.moment)} steps, at a loss of ${number(now.validation_loss)}, it writes: \u201c${text}\u201d`);
  };
  const set = (next) => {
    state = { ...state, ...next };
    slider.set(state.moment);
    update();
  };
  update();
  return {
    set,
    read: () => ({
      ...state,
      step: moments[state.moment].step,
      numbers: numbers.textContent,
      said: rows.map(({ said }) => said.textContent),
      pressed: rows.findIndex(({ button }) => button.getAttribute("aria-pressed") === "true"),
      words: [...map.querySelectorAll("tbody th")].map((e) => e.textContent),
      shares: [...map.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((e) => Number(e.textContent))),
      mark: [Number(mark.getAttribute("cx")), Number(mark.getAttribute("cy"))],
    }),
  };
};
