// What eslint asks of our scripts. Run from the root of the repository; its packages lie in _build/javascript (book/fetch.py).
const from = require("node:module").createRequire(`${process.cwd()}/_build/javascript/`);
const globals = from("globals");

// The scripts of a figure stand in one function, one behind the other; each hands on one of these names.
const HANDED_ON = ["kit", "start", "loader", "search", "tokens", "transformer", "typedWith", "views"];
const readable = (names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

module.exports = [
  from("@eslint/js").configs.recommended,
  {
    files: ["**/*.js"],
    languageOptions: { sourceType: "script", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: { eqeqeq: "error", "no-var": "error", "no-implicit-globals": "error", "prefer-const": "error" },
  },
  {
    files: ["xformer_course/explorables/assets/*.js"],
    languageOptions: { globals: readable(HANDED_ON) },
    rules: {
      "no-implicit-globals": "off",
      "no-redeclare": ["error", { builtinGlobals: false }],
      "no-unused-vars": ["error", { varsIgnorePattern: `^(${HANDED_ON.join("|")})$` }],
    },
  },
  {
    files: ["book/static/*.js"],
    languageOptions: { globals: readable(["bookStore", "loader"]) },
  },
  {
    files: ["book/static/search.js"], // beside Sphinx's searchtools.js and language_data.js
    languageOptions: { globals: readable(["Search", "Stemmer", "splitQuery", "stopwords", "_finishSearch", "_highlightText"]) },
  },
  {
    files: ["book/live/editor.js", "book/live/schedule.js"], // bundled by esbuild
    languageOptions: { sourceType: "module" },
  },
  {
    files: ["book/live/worker.js"],
    languageOptions: { globals: { ...globals.worker, loadPyodide: "readonly" } },
    rules: { "no-implicit-globals": "off" },
  },
  {
    files: ["book/live/node.js", "book/xformer_book/katex_lines.js", "tools/js/*.js"],
    languageOptions: { sourceType: "commonjs", globals: globals.node },
  },
];
