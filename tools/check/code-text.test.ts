import { expect, test } from "bun:test";
import { codeOnly } from "./code-text.ts";

test.each([
  ['a; // b\n/* c\n d */ e("f");', 'a;     \n    \n      e(" ");'],
  ["`a // ${b({ c: `'d` })} \\` e` + f", "`     ${b({ c: `  ` })}     ` + f"],
  ['a = /[/"`]/g; // b', "a = /     /g;     "],
  ["a / b; `c` / 2", "a / b; ` ` / 2"],
])("codeOnly() keeps line breaks and code, and blanks prose: %j", (text, code) => {
  expect(codeOnly(text)).toBe(code);
});
