/** `validate`: what would be refused, without a datastore. */

import { refOf } from "../../datastore/resource-ref.ts";
import { EXIT } from "../failures/failure.ts";
import { type Cli, note, say } from "../io.ts";
import { type DocumentFlags, readDocuments } from "../documents/documents.ts";
import { toPathName } from "../resources/object-name.ts";
import { statusOfInvalid, toInvalidText } from "../documents/checked-documents.ts";
import { checkPoolsApart } from "../documents/pools-apart.ts";
import { checkDocumentsToWrite } from "../documents/validation.ts";

/** Checks every document and tells about each. */
export async function validate(cli: Cli, flags: DocumentFlags): Promise<number> {
  const checked = checkDocumentsToWrite(await readDocuments(cli.io, flags.filename), { given: flags.namespace });
  const { valid, invalid: overlapping } = checkPoolsApart(checked.valid);
  const invalid = [...checked.invalid, ...overlapping];
  for (const { resource } of valid) say(cli, `${toPathName(refOf(resource))} valid`);
  if (invalid.length === 0) return EXIT.done;
  note(cli, toInvalidText(invalid));
  return statusOfInvalid(invalid);
}
