/** What a check finds. */

/** One thing to repair, as `path:line: what is wrong and what is wanted`. */
export type Problem = string;

export interface CheckStep {
  readonly name: string;
  readonly run: () => readonly Problem[];
}
