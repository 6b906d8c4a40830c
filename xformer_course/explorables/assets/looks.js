// First a riddle: which English word is read for the chosen French one? An English word is pressed, and the lines appear. From then on
// each French word has its own.
const start = ({ stage, data, say }) => {
  const { h, s } = kit;
  let state = { sentence: 0, word: data.word, asked: true };
  const height = 84;
  const english = h("div", { class: "xf-looks-words", role: "group", "aria-label": "The sentence", lang: "en" });
  const french = h("div", { class: "xf-looks-words", role: "group", "aria-label": "The translation: press a word", lang: "fr" });
  const lines = s("svg", { class: "xf-looks-lines", height, "aria-hidden": "true" });
  const sentences = kit.choice({
    label: "Sentence",
    options: data.sentences.map((_, n) => [n, String(n + 1)]),
    value: state.sentence,
    onchange: (n) => {
      set({ sentence: n, word: data.word, asked: false });
    },
  });
  stage.append(english, lines, french, sentences);

  const here = () => data.sentences[state.sentence];
  const centre = (element) => element.offsetLeft + element.offsetWidth / 2;
  const choose = (word) => {
    if (word !== state.word && !state.asked) {
      state.word = word;
      update();
    }
  };
  const write = () => {
    const { source, written } = here();
    english.replaceChildren(...source.map((word, n) => (state.asked ? kit.button(word, () => answer(n)) : h("span", {}, word))));
    french.replaceChildren(
      ...written.map((word, n) =>
        kit.button(word, () => (state.asked ? set({ word: n, asked: false }) : choose(n)), {
          onpointerenter: () => choose(n),
          onfocus: () => choose(n),
        }),
      ),
    );
  };
  const answer = (n) => {
    const row = here().shares[state.word],
      word = here().source[n];
    set({ asked: false });
    french.children[state.word].focus();
    say(`${row[n] === Math.max(...row) ? "Yes" : `Not \u201c${word}\u201d (${row[n]}\u00a0%)`}. ${reading()} Now press another French word.`);
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
    const shares = state.asked ? [] : here().shares;
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
    const row = here().shares[state.word];
    [...french.children].forEach((each, n) => each.setAttribute("aria-pressed", String(n === state.word)));
    [...english.children].forEach((each, j) => {
      each.className = state.asked ? "" : row[j] >= 50 ? "xf-looks-read xf-looks-most" : row[j] >= 10 ? "xf-looks-read" : "";
      each.style.setProperty("--share", `${row[j]}%`);
    });
    say(state.asked ? `To write \u201c${here().written[state.word]}\u201d, which English word must be read? Press it.` : reading());
    draw();
  };
  const reading = () => {
    const { source, written, shares } = here(),
      row = shares[state.word];
    const order = row
      .map((_, j) => j)
      .sort((a, b) => row[b] - row[a])
      .filter((j, n) => n === 0 || row[j] >= 10)
      .slice(0, 3);
    return `Before it writes \u201c${written[state.word]}\u201d, this head reads ${order.map((j) => `\u201c${source[j]}\u201d (${row[j]}\u00a0%)`).join(", ")}.`;
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
