// The editor of a cell: CodeMirror with what a learner of Python needs, handed to live.js as window.makeEditor.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The classes of the book's own colours for code, which know light and dark.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], class: "k" },
  { tag: [tags.string, tags.special(tags.string)], class: "s1" },
  { tag: tags.comment, class: "c1" },
  { tag: tags.number, class: "mi" },
  { tag: [tags.bool, tags.null], class: "kc" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "nf" },
  { tag: tags.operator, class: "o" },
]);

window.makeEditor = (parent, text, { label, run, changed }) => {
  const act = () => {
    run();
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.domEventHandlers({
          // A letter typed here is no shortcut of the page's: "/" would open its search.
          keydown: (event) => {
            if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
          },
        }),
        keymap.of([
          { key: "Shift-Enter", run: act },
          { key: "Mod-Enter", run: act },
        ]),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("    "),
        python(),
        syntaxHighlighting(colours),
        keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed();
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set: (fresh) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: fresh } }),
    focus: () => view.focus(),
  };
};
