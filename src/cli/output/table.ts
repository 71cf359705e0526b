/** Tables for people. */

import { toVisibleText } from "../../lib/visible-text.ts";

/** What changes the look of a table, and nothing in its cells. */
interface TableOptions {
  /** Whether the header may stand out in colour. */
  readonly colour: boolean;
  /** Columns (from 0) whose cells are aligned to the right, as numbers are. */
  readonly right?: ReadonlySet<number>;
  /** @default false */
  readonly withoutHeader?: boolean;
}

const GAP = "   ";

/** Lays out rows below a header so that columns line up. Control characters become visible; nothing is cut. */
export function toTable(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): string {
  return new GrowingTable(header, options).add(rows);
}

/** A table whose rows become known one after the other: a column keeps the width of the widest cell so far. */
export class GrowingTable {
  readonly #header: readonly string[];
  readonly #options: TableOptions;
  readonly #widths: number[];
  #isBegun = false;

  constructor(header: readonly string[], options: TableOptions) {
    this.#header = header;
    this.#options = options;
    this.#widths = header.map(() => 0);
  }

  /** @returns the text of these rows; with the first ones comes the header */
  add(rows: readonly (readonly string[])[]): string {
    const { colour, right = new Set(), withoutHeader = false } = this.#options;
    const withHeader = !this.#isBegun && !withoutHeader;
    this.#isBegun = true;
    const cells = [...(withHeader ? [this.#header] : []), ...rows].map((row) =>
      this.#header.map((_, column) => toVisibleText(row[column] ?? "")),
    );
    for (const row of cells)
      for (const [column, cell] of row.entries()) this.#widths[column] = Math.max(this.#widths[column] ?? 0, Bun.stringWidth(cell));
    const lines = cells.map((row) =>
      row
        .map((cell, column) => pad(cell, this.#widths[column] ?? 0, right.has(column)))
        .join(GAP)
        .trimEnd(),
    );
    const [first, ...rest] = lines;
    if (first === undefined) return "";
    return `${[colour && withHeader ? bold(first) : first, ...rest].join("\n")}\n`;
  }
}

function bold(text: string): string {
  return `\x1b[1m${text}\x1b[22m`;
}

/** For the first line of a failure, and for what goes, on a terminal. */
export function red(text: string): string {
  return `\x1b[31m${text}\x1b[39m`;
}

/** For what comes, on a terminal. */
export function green(text: string): string {
  return `\x1b[32m${text}\x1b[39m`;
}

function pad(cell: string, width: number, isRight: boolean): string {
  const space = " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
  return isRight ? space + cell : cell + space;
}
