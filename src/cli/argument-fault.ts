/** What the parser of commands says, in our words. */

import { ArgumentScannerError, formatMessageForArgumentScannerError } from "@stricli/core";
import { messageOf } from "../lib/errors.ts";

/** Why the command line was not understood, in one line. */
export function toArgumentFault(thrown: unknown): string {
  if (!(thrown instanceof ArgumentScannerError)) return messageOf(thrown);
  return formatMessageForArgumentScannerError(thrown, {
    ArgumentParseError: (error) => `read ${toArgumentName(error.externalFlagNameOrPlaceholder)}: ${messageOf(error.exception)}`,
    FlagNotFoundError: ({ input, corrections }) =>
      `read option "--${input}": there is none${corrections.length === 0 ? "" : `, did you mean ${corrections.map((one) => `--${one}`).join(" or ")}?`}`,
    AliasNotFoundError: ({ input }) => `read option "-${input}": there is none`,
    EnumValidationError: ({ externalFlagName, input, values }) =>
      `read option "--${externalFlagName}": got ${JSON.stringify(input)}, want ${values.join(", ")}`,
    UnsatisfiedFlagError: ({ externalFlagName }) => `read option "--${externalFlagName}": it is missing, or its value is`,
    UnexpectedPositionalError: ({ input, expectedCount }) => `read arguments: got ${JSON.stringify(input)} too many, want ${expectedCount}`,
    UnsatisfiedPositionalError: ({ placeholder }) => `read arguments: ${placeholder} is missing`,
    UnexpectedFlagError: ({ externalFlagName }) => `read option "--${externalFlagName}": got it twice, want it once`,
    InvalidNegatedFlagSyntaxError: ({ externalFlagName }) => `read option "--${externalFlagName}": want no value`,
  });
}

function toArgumentName(name: string): string {
  return /^[a-z]/.test(name) ? `option "--${name}"` : name;
}
