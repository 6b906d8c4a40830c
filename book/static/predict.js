// A prediction is said before it is shown: buttons or a field in front of the folded answer. What was said stays in this browser.
(() => {
  const KEY = "xformer-predicted", NAME = /([^/]+)\.html/.exec(location.pathname)?.[1];
  const make = (name, cls, text = "") => Object.assign(document.createElement(name), { className: cls, textContent: text });
  const load = () => { try { return JSON.parse(localStorage.getItem(KEY)) || {}; } catch { return {}; } };
  const keep = (key, said, right) => {
    const all = load();
    all[NAME] = { ...all[NAME], [key]: [said, right] };
    try { localStorage.setItem(KEY, JSON.stringify(all)); } catch { /* refused: nothing is kept */ }
  };
  const plain = (text) => text.toLowerCase().replace(/[−–]/g, "-").replace(/[()[\]]/g, "").replace(/\s*,\s*/g, ", ").replace(/\s+/g, " ").trim().replace(/(\d)[ ,](?=\d{3}\b)/g, "$1");

  for (const fold of document.querySelectorAll("details[data-ask]")) {
    const { key, choices, right } = JSON.parse(fold.dataset.ask);
    const form = make(choices ? "div" : "form", "predict-form"), verdict = make("span", "predict-verdict");
    verdict.setAttribute("role", "status");
    const judge = (said) => {
      const good = right.map(plain).includes(plain(said));
      keep(key, said, good);
      verdict.textContent = good ? `You said ${said}. So it is.` : `You said ${said}. Not so; read why.`;
      form.classList.toggle("predict-right", good);
      fold.open = true;
    };
    if (choices) {
      form.setAttribute("role", "group"); // a form with a name would be a landmark, and a page has several
      form.setAttribute("aria-label", "Your prediction");
      for (const choice of choices) {
        const button = make("button", "predict-choice", choice);
        button.type = "button";
        button.addEventListener("click", () => judge(choice));
        form.append(button);
      }
    } else {
      const label = make("label", "predict-label", "Your prediction "), field = make("input", "predict-field");
      field.type = "text";
      field.size = 12;
      label.append(field);
      form.append(label, make("button", "predict-choice", "Say it"));
      form.addEventListener("submit", (event) => { event.preventDefault(); if (field.value.trim()) judge(field.value.trim()); });
    }
    form.append(verdict);
    fold.before(form);
  }
})();
