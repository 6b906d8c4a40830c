// The bets of a class: percentages that are typed in, as "40, 55 % 90".
const guesses = (() => {
  const is = (one) => Array.isArray(one) && one.every((value) => Number.isFinite(value) && value >= 0 && value <= 100);
  const read = (text) => {
    const words = text.split(/[\s,;%]+/).filter(Boolean),
      fits = (word) => /^\d+([.]\d+)?$/.test(word) && Number(word) <= 100;
    return { values: words.filter(fits).map(Number), bad: words.filter((word) => !fits(word)) };
  };
  const median = (values) => {
    const sorted = [...values].sort((one, other) => one - other),
      half = (sorted.length - 1) / 2;
    return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
  };
  const told = (values) => `${values.length} bet${values.length === 1 ? "" : "s"}, median ${kit.number(median(values), 0)} %`;
  // Marks at the end of the chart, equal ones side by side, and a line at the median.
  const draw = (svg, { x, y, last }, values) => {
    if (!values.length) return;
    const { s } = kit,
      near = new Map(),
      rows = values.map((value) => Math.round(value / 4));
    for (const row of rows) near.set(row, (near.get(row) ?? 0) + 1);
    const gap = Math.min(9, (x(last) - x(0)) / 2 / Math.max(...near.values())),
      taken = new Map(),
      middle = median(values),
      start = (x(0) + x(last)) / 2;
    const marks = s(
      "g",
      { "pointer-events": "none" },
      values.map((value, n) => {
        const before = taken.get(rows[n]) ?? 0;
        taken.set(rows[n], before + 1);
        return s("circle", { cx: x(last) - 6 - gap * before, cy: y(value), r: 3.5, fill: "var(--xf-quiet)", stroke: "var(--xf-paper)", class: "xf-lab-guess" });
      }),
      s("line", { x1: start, x2: x(last), y1: y(middle), y2: y(middle), stroke: "var(--xf-ink)", "stroke-width": 2 }),
      s("text", { x: start, y: y(middle) + (middle > 85 ? 18 : -6), class: "xf-lab-over" }, `median ${kit.number(middle, 0)}`),
    );
    svg.append(marks);
    svg.setAttribute("aria-label", `${svg.getAttribute("aria-label")}; the class: ${told(values)}`);
  };
  return { is, read, told, draw };
})();

// A lecture: one experiment after the other on the whole window, in large type. Nothing runs by itself. `lab` is what it shows and sets.
const lecturing = ({ stage, data, state, why, say, lab }) => {
  const { h } = kit;
  const texts = {}; // what was typed, by task and experiment
  let at = 0,
    own = null, // settings that no experiment has, as the reader left them
    filled = false; // the screen, too
  const id = kit.fresh("guesses"),
    place = h("p", {}),
    title = h("h2", { id: kit.fresh("lecture"), tabindex: -1 }),
    question = h("p", { class: "xf-lecture-question" }),
    back = kit.button("Back", () => step(-1)),
    next = kit.button("Next", () => step(1)),
    field = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", placeholder: "40, 55, 90 \u2026" }),
    bad = h("p", { class: "xf-lecture-bad", role: "status" }),
    told = h("p", { class: "xf-quiet" });
  const dialog = h(
    "dialog",
    { class: "xf-lecture", "aria-labelledby": title.id },
    h("div", { class: "xf-row" }, place, back, next, kit.button("Copy link", () => lab.copyLink()), kit.button("Leave", () => dialog.close())),
    title,
    question,
    h("div", { class: "xf-control" }, h("label", { for: id }, "The class\u2019s bets: % right at the end"), field, told),
    bad,
  );
  stage.after(dialog);
  const on = () => dialog.open,
    values = () => (on() ? guesses.read(field.value).values : []),
    key = () => `${state.task} ${at}`;
  field.addEventListener("input", () => {
    texts[key()] = field.value;
    lab.draw();
  });
  const reason = kit.button(
    "Why?",
    () => {
      dialog.toggleAttribute("data-why", true);
      reason.hidden = true;
      why.focus();
    },
    { class: "xf-lab-reason", hidden: true },
  );
  why.tabIndex = -1;
  const update = () => {
    const { values: class_, bad: wrong } = guesses.read(field.value),
      shares = lab.shares();
    back.disabled = lab.running() || !at;
    next.disabled = lab.running() || at === data.experiments.length - 1;
    reason.hidden = !on() || why.hidden || lab.running() || dialog.hasAttribute("data-why");
    bad.textContent = wrong.length ? `Not drawn, because it is no percentage from 0 to 100: ${wrong.map((word) => `\u201c${word}\u201d`).join(", ")}.` : "";
    told.textContent = class_.length ? `${guesses.told(class_)}${shares && !lab.running() ? `; the run: ${shares} %` : ""}` : "";
  };
  const show = (n, bet = null) => {
    const task = data.tasks.find((one) => one.name === state.task),
      { title: name, parts, ask } = data.experiments[n];
    at = n;
    why.hidden = true;
    dialog.toggleAttribute("data-why", false);
    place.textContent = `${task.title} \u00b7 ${n + 1} of ${data.experiments.length}`;
    title.textContent = name;
    question.textContent = ask.replace("{rows}", task.rows);
    lab.set({ parts: { ...task.parts, ...parts }, bet });
    field.value = texts[key()] ?? lab.kept().join(", ");
    lab.draw();
    dialog.scrollTop = 0;
    if (!dialog.contains(document.activeElement)) title.focus();
    say(`${place.textContent}: ${name}. ${question.textContent}`);
  };
  const step = (by) => {
    if (lab.running()) say("It is training: stop it first.");
    else if (data.experiments[at + by]) show(at + by);
  };
  const open = () => {
    if (on()) return;
    const found = lab.experiment();
    own = found < 0 ? { parts: state.parts, bet: state.bet } : null;
    dialog.showModal();
    dialog.append(stage);
    title.focus();
    show(Math.max(0, found), found < 0 ? null : state.bet);
    // Where there is no full screen, or none without a press, the lecture has the window.
    document.documentElement.requestFullscreen?.().then(
      () => {
        filled = true;
      },
      () => {},
    );
  };
  const button = kit.button("Lecture", open);
  dialog.addEventListener("close", () => {
    dialog.before(stage);
    if (filled && document.fullscreenElement) document.exitFullscreen();
    filled = false;
    if (own && !lab.running()) lab.set(own);
    lab.draw();
    button.focus();
  });
  document.addEventListener("fullscreenchange", () => {
    if (filled && !document.fullscreenElement) dialog.close(); // Escape
  });
  document.addEventListener("keydown", (event) => {
    if (on() && event.key === "Escape") dialog.close(); // which a browser with a full screen may not do
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !on() || event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, textarea, [role=slider]")) return;
    event.preventDefault();
    step(by);
  });
  // The letters of the chart grow with those around it.
  const zoom = () => (on() ? parseFloat(getComputedStyle(dialog).fontSize) / 13 : 1);
  return { dialog, button, reason, on, open, update, values, zoom };
};
