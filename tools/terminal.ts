/** How the repository's commands talk to the person in front of them: lines on stderr, colour only on a terminal. */

const colourful = process.stderr.isTTY && process.env["NO_COLOR"] === undefined;

function paint(code: number, text: string): string {
  return colourful ? `\u001b[${code}m${text}\u001b[0m` : text;
}

export const green = (text: string): string => paint(32, text);
export const red = (text: string): string => paint(31, text);
export const dim = (text: string): string => paint(2, text);
export const bold = (text: string): string => paint(1, text);

/** One line of progress. */
export function say(line: string): void {
  // not console.error: on a terminal Bun paints it red
  process.stderr.write(`${line}\n`);
}

/** What a command ends with when it cannot do its work: the message is all that is shown, without a stack trace. */
export class TaskFailure extends Error {}

/** `0.4 s`, `12 s`: how long something took since `startMs` of `performance.now()`. */
export function since(startMs: number): string {
  const seconds = (performance.now() - startMs) / 1000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds).toString()} s`;
}
