// Press a French word; lines lead to the English words that one head reads while the model writes it.
const start = ({ stage, data, say }) => {
  const { h, s } = kit;
  let state = { sentence: 0, word: data.word };
  const height = 84;
  const english = h("p", { class: "xf-looks-words", lang: "en" });
  const french = h("div", { class: "xf-looks-words", role: "group", "aria-label": "The translation: press a word", lang: "fr" });
  const lines = s("svg", { class: "xf-looks-lines", height, "aria-hidden": "true" });
  const sentences = kit.choice({
    label: "Sentence",
    options: data.sentences.map((_, n) => [n, String(n + 1)]),
    value: state.sentence,
    onchange: (n) => {
      set({ sentence: n, word: data.word });
    },
  });
  stage.append(english, lines, french, sentences);

  const here = () => data.sentences[state.sentence];
  const centre = (element) => element.offsetLeft + element.offsetWidth / 2;
  const choose = (word) => {
    if (word !== state.word) {
      state.word = word;
      update();
    }
  };
  const write = () => {
    const { source, written } = here();
    english.replaceChildren(...source.map((word) => h("span", {}, word)));
    french.replaceChildren(
      ...written.map((word, n) => kit.button(word, () => choose(n), { onpointerenter: () => choose(n), onfocus: () => choose(n) })),
    );
  };
  const path = (from, to, attributes) =>
    s("path", {
      d: `M${from} 2 C${from} ${height / 2} ${to} ${height / 2} ${to} ${height - 2}`,
      fill: "none",
      "stroke-linecap": "round",
      ...attributes,
    });
  const draw = () => {
    lines.setAttribute("viewBox", `0 0 ${stage.clientWidth || 1} ${height}`);
    const { shares } = here();
    const order = [...shares.keys()].sort((a, b) => (a === state.word) - (b === state.word)); // the chosen word's on top
    lines.replaceChildren(
      ...order
        .flatMap((i) =>
          shares[i].map(
            (share, j) =>
              share &&
              path(
                centre(english.children[j]),
                centre(french.children[i]),
                i === state.word
                  ? { stroke: "var(--key)", "stroke-width": Math.max(1, share / 14), opacity: 0.25 + 0.0075 * share }
                  : { stroke: "var(--xf-line)", "stroke-width": Math.max(0.5, share / 30), opacity: 0.005 * share },
              ),
          ),
        )
        .filter(Boolean),
    );
  };
  const update = () => {
    const { source, written, shares } = here();
    const row = shares[state.word];
    [...french.children].forEach((each, n) => each.setAttribute("aria-pressed", String(n === state.word)));
    [...english.children].forEach((each, j) => {
      each.className = row[j] >= 50 ? "xf-looks-read xf-looks-most" : row[j] >= 10 ? "xf-looks-read" : "";
      each.style.setProperty("--share", `${row[j]}%`);
    });
    const order = row
      .map((_, j) => j)
      .sort((a, b) => row[b] - row[a])
      .filter((j, n) => n === 0 || row[j] >= 10)
      .slice(0, 3);
    say(
      `Before it writes \u201c${written[state.word]}\u201d, this head reads ${order.map((j) => `\u201c${source[j]}\u201d (${row[j]}\u00a0%)`).join(", ")}.`,
    );
    draw();
  };
  const set = (next) => {
    state = { ...state, ...next };
    sentences.set(state.sentence);
    write();
    update();
  };
  new ResizeObserver(draw).observe(stage);
  set({});
  return { set, read: () => ({ ...state, ...here() }) };
};
