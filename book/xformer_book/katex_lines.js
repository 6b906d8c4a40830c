// One formula a line in, one answer a line out. Started by mathematics.py with the path of katex.min.js.
const katex = require(require("path").resolve(process.argv[2]));
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const { latex, display } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(latex, { displayMode: display, throwOnError: true, strict: "ignore" }) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
