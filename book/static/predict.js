// A prediction is said before it is shown: buttons or a field in front of the folded answer. What was said stays in this browser.
(() => {
  const KEY = "xformer-predicted",
    NAME = /([^/]+?)(?:\.html)?$/.exec(location.pathname)?.[1];
  const { make, button, load } = window.book;
  const keep = (key, said, right) => {
    const all = load(KEY);
    // the last word is shown again, the first one counts: a second has seen the answer
    all[NAME] = { ...all[NAME], [key]: [said, all[NAME]?.[key]?.[1] ?? right] };
    window.book.keep(KEY, all);
  };
  // The numbers in what was said: "row 3, column 1", "(3,1)" and "3 and 1" are one answer, and so are 3/7, 0.43 and 43 %. A dash between two
  // numbers is no sign.
  const numbers = (text) =>
    [
      ...text
        .replace(/[−–]/g, "-")
        .replace(/([\d%])(-| - )(?=\.?\d)/g, "$1 and ")
        .replace(/(\d)[ ,](?=\d{3}\b)/g, "$1")
        .matchAll(/(-?\d*\.?\d+)(?:\s*\/\s*(\d+))?\s*(%?)/g),
    ].map(([, value, below, percent]) => Number(value) / Number(below || 1) / (percent ? 100 : 1));
  const alike = (some, others, near) =>
    some.length === others.length &&
    some.every((value, n) => Math.abs(value - others[n]) <= (near && !Number.isInteger(others[n]) ? 0.01 * Math.abs(others[n]) : 0));

  // Where one number is asked for, a comma may stand before its decimals.
  const fits = (said, one, near) =>
    alike(numbers(said), numbers(one), near) ||
    (numbers(one).length === 1 && alike(numbers(said.replace(/^([^,]*\d),(\d[^,]*)$/, "$1.$2")), numbers(one), near));

  // What a cell right below a prediction printed gives the answer away, and stays covered until one has said something, or wants to see.
  const cover = (output, known, fold) => {
    if (!output || known()) return;
    const uncover = () => {
      output.classList.remove("covered");
      shows.remove();
    };
    const shows = button("Say your answer first, or show this", uncover, "live-button uncover");
    output.classList.add("covered");
    output.prepend(shows);
    fold.addEventListener("toggle", uncover, { once: true });
  };

  for (const fold of document.querySelectorAll("details[data-ask]")) {
    const { key, choices, right, near } = JSON.parse(fold.dataset.ask);
    const form = make(choices ? "div" : "form", "predict-form"),
      verdict = make("span", "predict-verdict");
    verdict.setAttribute("role", "status");
    // What this browser knows that was said, here or in another tab.
    const show = () => {
      const said = load(KEY)[NAME]?.[key]?.[0];
      verdict.textContent = said === undefined ? "" : `You said ${said}. ${isRight(String(said)) ? "So it is." : "Not so; read why."}`;
      for (const one of form.querySelectorAll("button[aria-pressed]")) one.setAttribute("aria-pressed", one.textContent === said);
    };
    const isRight = (said) => (choices ? right.includes(said) : right.some((one) => fits(said, one, near)));
    const judge = (said) => {
      if (!choices && !numbers(said).length) {
        verdict.textContent = "Say it in figures.";
        return;
      }
      keep(key, said, isRight(said));
      show();
      fold.open = true;
    };
    if (choices) {
      form.setAttribute("role", "group"); // a form with a name would be a landmark, and a page has several
      form.setAttribute("aria-label", "Your prediction");
      for (const choice of choices) {
        const made = button(choice, () => judge(choice), "predict-choice");
        made.setAttribute("aria-pressed", "false");
        form.append(made);
      }
    } else {
      const label = make("label", "predict-label", "Your prediction "),
        field = make("input", "predict-field");
      field.type = "text";
      field.size = 12;
      label.append(field);
      form.append(label, make("button", "predict-choice", "Say it"));
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (field.value.trim()) judge(field.value.trim());
      });
    }
    form.append(verdict);
    const box = make("div", "predict"),
      question = fold.previousElementSibling;
    fold.before(box);
    box.append(...(question?.matches("p") ? [question] : []), form, fold);
    cover(box.nextElementSibling?.querySelector?.(":scope > .cell_output"), () => load(KEY)[NAME]?.[key] || fold.open, fold);
    show();
    window.book.news(show);
  }
})();
