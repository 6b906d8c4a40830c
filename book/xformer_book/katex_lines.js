// One formula a line in, one answer a line out. Started by mathematics.py with the path of katex.min.js.
const katex = require(require("path").resolve(process.argv[2]));
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const { latex, display, seen } = JSON.parse(line);
  const options = { displayMode: display, throwOnError: true, strict: "ignore" };
  let answer;
  try {
    let html = katex.renderToString(latex, options);
    if (seen !== latex) {
      // MathML of the formula, then the boxes of what is seen; both end alike.
      const boxes = katex.renderToString(seen, { ...options, output: "html" });
      const mark = '<span class="katex-html"';
      html = html.slice(0, html.indexOf(mark)) + boxes.slice(boxes.indexOf(mark));
    }
    answer = { html };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
