// Every picture of the page, once: steps (buttons and arrow keys), states (a press on a part), and what a touch lights.
const hold = (line) => Math.min(6000, 1200 + 40 * line.innerText.length); // ms on a step while a picture plays: time to move, and to read its line
for (const figure of document.querySelectorAll("figure.xp:not([data-live])")) {
  figure.setAttribute("data-live", "");
  const all = (selector) => [...figure.querySelectorAll(selector)];
  const chosen = Object.fromEntries(
    figure.dataset.chosen
      .split(";")
      .filter(Boolean)
      .map((pair) => pair.split(":")),
  );
  const lines = all(".xp-steps > li");
  const parts = all("[data-step], [data-until], [data-state]");
  const presses = all("[data-press]");
  let step = Number(figure.dataset.opens);
  let moved = step === 1;
  let playing = 0;
  const is = (state) => chosen[state.split(":")[0]] === state.split(":")[1];
  const show = () => {
    for (const part of parts) {
      const { step: from, until, state } = part.dataset;
      const seen = (!from || step >= from) && (!until || step < until) && (!state || is(state));
      part.classList.toggle("xp-new", seen && moved && Number(from) === step && part.classList.contains("xp-off"));
      part.classList.toggle("xp-off", !seen);
    }
    for (const part of presses) part.setAttribute("aria-pressed", String(part.dataset.press === `step:${step}` || is(part.dataset.press.split(" ")[0])));
    lines.forEach((line, place) => line.classList.toggle("xp-off", place + 1 !== step));
    if (!lines.length) return;
    const whole = step === lines.length;
    back.hidden = count.hidden = whole && !moved; // it opens whole: the steps are offered, not passed
    back.disabled = step === 1;
    next.textContent = !whole ? "Next" : moved ? "Again" : "Step by step";
    count.textContent = `${step} of ${lines.length}`;
  };
  const go = (to) => {
    moved = true;
    step = Math.min(lines.length, Math.max(1, to));
    show();
  };
  const rest = () => {
    clearTimeout(playing);
    playing = 0;
    play.textContent = "▶ Play"; // the parts stay as they are: what arrives is still on its way
  };
  const advance = () => {
    go(step + 1);
    if (step === lines.length) return rest();
    playing = setTimeout(advance, hold(lines[step - 1]));
    play.textContent = "Pause";
  };
  const run = () => {
    const again = step === lines.length || !moved; // it opened further on: told from the beginning
    if (again) {
      step = 0; // what the first step brings arrives again
      show();
      figure.getBoundingClientRect();
    }
    advance();
  };
  const make = (tag, text, attributes = {}) => {
    const element = Object.assign(document.createElement(tag), { textContent: text });
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const back = make("button", "Back", { type: "button" });
  const next = make("button", "Next", { type: "button", class: "xp-next" });
  const play = make("button", "▶ Play", { type: "button" });
  const count = make("span", "");
  if (lines.length) {
    const list = figure.querySelector(".xp-steps");
    list.setAttribute("aria-live", "polite");
    const bar = make("div", "", { class: "xp-bar" });
    bar.append(back, next, play, count);
    list.before(bar);
    play.addEventListener("click", () => (playing ? rest() : run()));
    for (const press of ["click", "keydown"])
      figure.addEventListener(press, (event) => playing && event.target !== play && event.key !== "Tab" && rest(), true);
    back.addEventListener("click", () => go(step - 1));
    next.addEventListener("click", () => go(step === lines.length ? 1 : step + 1));
    figure.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      go(step + move);
    });
  }
  for (const part of all("[data-rest]")) for (const name of ["display", "hidden"]) part.removeAttribute(name);
  for (const part of presses) {
    part.setAttribute("tabindex", "0");
    part.setAttribute("role", "button");
    part.setAttribute("aria-label", part.dataset.label);
    const press = () => {
      for (const wish of part.dataset.press.split(" ")) {
        const [group, value] = wish.split(":");
        if (group === "step") go(Number(value));
        else chosen[group] = value;
      }
      show();
    };
    part.addEventListener("click", press);
    part.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press();
    });
  }
  const light = (names) => {
    figure.classList.toggle("xp-dim", Boolean(names));
    const wanted = (names || "").split(" ");
    for (const part of all("[data-lit]")) part.classList.toggle("xp-lit", part.dataset.lit.split(" ").some((name) => wanted.includes(name)));
  };
  let held = "";
  for (const part of all("[data-light]")) {
    part.setAttribute("tabindex", "0");
    part.setAttribute("role", "button");
    part.setAttribute("aria-label", part.dataset.label);
    const hold = () => light((held = held === part.dataset.light ? "" : part.dataset.light));
    part.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && light(part.dataset.light));
    part.addEventListener("pointerleave", () => light(held));
    part.addEventListener("click", hold);
    part.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      hold();
    });
  }
  figure.picture = { go, chosen, show, read: () => ({ step, ...chosen }) };
  show();
}
