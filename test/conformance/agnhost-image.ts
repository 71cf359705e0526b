/** The image that Kubernetes' tests make pods of, made by hand: its server and client with a certificate, a shell, and the programs that tests call in it. */

import { clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";
import { findSystemTool } from "../../tools/prerequisites/system-tools.ts";
import type { SystemToolName } from "../../tools/prerequisites/system-tools.ts";
import { makeImage } from "../support/programs/image.ts";
import { mustRunProgramSync } from "../support/programs/programs.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";

/** Dash, because busybox's own shell would call busybox's own `nc`, which lacks options. */
const PROGRAMS: Readonly<Record<string, SystemToolName>> = { "/bin/sh": "dash", "/bin/curl": "curl", "/bin/nc": "nc.openbsd" };

/** It has the names that the tests ask for, so that nobody looks for them in a registry. @returns the path of the archive, in `folder` */
export function makeAgnhostImage(folder: string): string {
  using certificates = createCertificateFolder();
  const { certFile, keyFile } = certificates.createAuthority("agnhost").issueServer("localhost");
  const files: Record<string, string> = { "/agnhost": clusterProgram("agnhost"), "/localhost.crt": certFile, "/localhost.key": keyFile };
  for (const [path, tool] of Object.entries(PROGRAMS)) {
    const program = findSystemTool(tool);
    if (program === undefined) throw new Error(`make an image: ${tool} is missing`);
    files[path] = program;
    for (const library of librariesOf(program)) files[library] = library;
  }
  return makeImage(folder, { tags: wantedTags(), entrypoint: ["/agnhost"], command: ["pause"], applets: ["grep", "seq"], files });
}

function wantedTags(): readonly string[] {
  const all = mustRunProgramSync([clusterProgram("conformance"), "--list-images"]);
  const tags = all.match(/^registry\.k8s\.io\/e2e-test-images\/(?:agnhost|busybox):\S+$/gm) ?? [];
  if (tags.length === 0) throw new Error(`find the images of Kubernetes' tests: want agnhost and busybox, got ${all}`);
  return tags;
}

/** The loader among them. */
function librariesOf(program: string): readonly string[] {
  return [...mustRunProgramSync(["ldd", program]).matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
}
