/** Links between the documents: each leads to a file that is there, and to a heading that it has. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Problem } from "./problem.ts";

/** What one document offers to links, and where its own lead. */
interface LinkedDocument {
  readonly headings: ReadonlySet<string>;
  readonly links: readonly string[];
}

/** Only links within the repository are looked at: nothing is asked of the network. @param trackedFiles from the repository's root */
export function checkLinks(root: string, trackedFiles: readonly string[]): Problem[] {
  const paths = trackedFiles.filter((path) => path.endsWith(".md") && existsSync(join(root, path)));
  const documents = new Map(paths.map((path) => [path, readDocument(join(root, path))]));
  return [...documents].flatMap(([path, { links }]) =>
    links
      .filter((link) => !/^\w+:/.test(link))
      .flatMap((link) => {
        const [file = "", heading] = link.split("#", 2);
        const target = file === "" ? path : join(dirname(path), file);
        if (!existsSync(join(root, target))) return [`${path}: links to ${target}, which is not there`];
        if (heading === undefined || documents.get(target)?.headings.has(heading) === true) return [];
        return [`${path}: links to a heading "${heading}" that ${target} does not have`];
      }),
  );
}

function readDocument(path: string): LinkedDocument {
  const html = Bun.markdown.html(readFileSync(path, "utf8"), { headings: { ids: true } });
  return {
    headings: new Set([...html.matchAll(/<h\d id="([^"]*)"/g)].map(([, id = ""]) => id)),
    links: [...html.matchAll(/<a href="([^"]*)"/g)].map(([, link = ""]) => link),
  };
}
