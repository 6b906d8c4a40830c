// What this browser remembers of the book: pages read, predictions said, exercises solved, questions answered, code typed. Shown, handed out,
// taken back, forgotten.
(() => {
  const place = document.getElementById("your-progress");
  if (!place) return;
  // What each key holds; anything else, from a file or from this browser, counts as nothing.
  const of = (fits) => (value) => value !== null && typeof value === "object" && !Array.isArray(value) && Object.values(value).every(fits);
  const text = (value) => typeof value === "string";
  const SHAPES = {
    "xformer-read": (value) => Array.isArray(value) && value.every(text),
    "xformer-predicted": of(of((said) => Array.isArray(said) && text(said[0]))),
    "xformer-solved": of((value) => value === true),
    "xformer-reviewed": of((card) => !Number.isNaN(Date.parse(card?.due))),
    "xformer-code": of(of(text)),
  };
  const KEYS = Object.keys(SHAPES);
  const make = (name, cls, text = "") => Object.assign(document.createElement(name), { className: cls, textContent: text });
  const load = (key, empty) => {
    try {
      const value = JSON.parse(localStorage.getItem(key));
      return SHAPES[key](value) ? value : empty;
    } catch {
      return empty;
    }
  };
  const link = (text, href) => Object.assign(make("a", "", text), { href });
  const CHAPTER = /chapters\/((?:\d\d[a-z]?|w\d)_\w+)/;

  function table() {
    const read = new Set(load("xformer-read", [])),
      predicted = load("xformer-predicted", {}),
      solved = load("xformer-solved", {}),
      reviewed = load("xformer-reviewed", {});
    const rows = new Map();
    const row = (number) =>
      rows.get(number) || rows.set(number, { read: 0, said: 0, right: 0, solved: 0, reviewed: 0, due: 0 }).get(number);
    for (const name of read) row(name.slice(0, 2)).read += 1;
    for (const id of Object.keys(solved)) row(id.split(".")[0].padStart(2, "0")).solved += 1;
    const today = new Date().setHours(23, 59, 59, 999);
    for (const [name, [askable, , asked]] of Object.entries(window.bookTotals || {})) {
      for (const [, right] of askable.map((key) => predicted[name]?.[key]).filter(Boolean)) {
        row(name.slice(0, 2)).said += 1;
        row(name.slice(0, 2)).right += right ? 1 : 0;
      }
      for (const id of asked)
        if (reviewed[id]) {
          const one = row(name.slice(0, 2));
          one.reviewed += 1;
          one.due += new Date(reviewed[id].due) <= today ? 1 : 0;
        }
    }
    if (!rows.size)
      return make(
        "p",
        "",
        "Nothing yet: read a page to its end, say a prediction, solve an exercise in its page, or answer its questions.",
      );
    const titles = new Map(
      [...document.querySelectorAll("nav.bd-links a[href]")]
        .map((link) => [
          CHAPTER.exec(link.href)?.[1],
          [...link.childNodes]
            .filter((part) => !part.classList?.contains("read-tick"))
            .map((part) => part.textContent)
            .join("")
            .trim(),
        ])
        .filter(([name]) => name && /^(\d\d|w\d)_/.test(name))
        .map(([name, title]) => [name.slice(0, 2), [title, `${name}.html`]]),
    );
    const made = make("table", "table"),
      head = made.createTHead().insertRow(),
      body = made.createTBody();
    for (const text of ["chapter", "pages read", "predicted right", "solved here", "answered", "due"])
      head.append(Object.assign(make("th", "", text), { scope: "col" }));
    for (const [number, one] of [...rows].sort()) {
      const line = body.insertRow();
      const [title, address] = titles.get(number) || [number, ""],
        due = one.due ? link(one.due, "back/review.html") : 0;
      for (const text of [
        address ? link(title, address) : title,
        one.read,
        one.said ? `${one.right} of ${one.said}` : 0,
        one.solved,
        one.reviewed,
        due,
      ])
        line.insertCell().append(text);
    }
    return made;
  }

  function save() {
    const kept = Object.fromEntries(KEYS.map((key) => [key, load(key, null)]).filter(([, value]) => value !== null));
    const file = link("", URL.createObjectURL(new Blob([JSON.stringify(kept, null, 1)], { type: "application/json" })));
    file.download = "attention-and-the-transformer.json";
    file.click();
    setTimeout(() => URL.revokeObjectURL(file.href), 60000);
  }

  async function bring(file, say) {
    let given;
    try {
      given = JSON.parse(await file.text());
    } catch {
      given = null;
    }
    const held = KEYS.filter((key) => Object.hasOwn(given ?? {}, key));
    if (!held.length || !held.every((key) => SHAPES[key](given[key]))) {
      say("This file is not one that the button beside it wrote.");
      return;
    }
    let said = "Taken.";
    try {
      for (const key of held) localStorage.setItem(key, JSON.stringify(given[key]));
    } catch {
      said = "Not all of it could be taken: this browser keeps no more.";
    }
    dispatchEvent(new Event("xformer-progress"));
    show();
    place.querySelector(".live-status").textContent = said;
  }

  function show() {
    const bar = make("div", "live-bar"),
      said = make("span", "live-status"),
      pick = make("input", "");
    said.setAttribute("role", "status");
    Object.assign(pick, { type: "file", accept: "application/json", hidden: true });
    pick.addEventListener(
      "change",
      () =>
        pick.files[0] &&
        bring(pick.files[0], (text) => {
          said.textContent = text;
        }),
    );
    const acts = {
      "Save to a file": save,
      "Take from a file": () => pick.click(),
      "Forget everything": () => {
        if (!confirm("Forget what you read, predicted, solved, answered and typed in this book?")) return;
        for (const key of KEYS) localStorage.removeItem(key);
        location.reload();
      },
    };
    for (const [text, act] of Object.entries(acts)) {
      const button = make("button", "live-button", text);
      button.type = "button";
      button.addEventListener("click", act);
      bar.append(button);
    }
    bar.append(pick, said);
    place.replaceChildren(table(), bar);
  }
  addEventListener("storage", show);
  addEventListener("pageshow", (event) => event.persisted && show());
  show();
})();
